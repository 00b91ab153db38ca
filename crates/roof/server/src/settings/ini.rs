//! Names that administrators know from notes.ini, accepted under `[ini]`.

use super::Key;

/// What a notes.ini name does here.
#[derive(Clone, Copy, Debug)]
pub enum Meaning {
    /// Sets the row, after multiplying a number by the factor (units differ).
    Sets(Key, u64),
    /// Sets the row to one of several values, by number.
    Chooses(Key, &'static [(u64, &'static str)]),
    /// Has a task run at this hour of the day.
    Hour(u8),
    /// Accepted without effect; the text says why, and is reported once.
    Moot(&'static str),
}

impl Meaning {
    /// The row that the name sets.
    pub fn key(self) -> Option<Key> {
        match self {
            Self::Sets(key, _) | Self::Chooses(key, _) => Some(key),
            Self::Hour(_) => Some(Key::TasksAt),
            Self::Moot(_) => None,
        }
    }
}

/// One accepted name.
#[derive(Debug)]
pub struct IniRow {
    /// The name, compared without regard to case.
    pub name: &'static str,
    /// What it does.
    pub meaning: Meaning,
}

const fn sets(name: &'static str, key: Key, factor: u64) -> IniRow {
    IniRow { name, meaning: Meaning::Sets(key, factor) }
}

const fn hour(name: &'static str, hour: u8) -> IniRow {
    IniRow { name, meaning: Meaning::Hour(hour) }
}

const fn moot(name: &'static str, why: &'static str) -> IniRow {
    IniRow { name, meaning: Meaning::Moot(why) }
}

const FASTER: &str = "every database is logged here, since the logged mode is the faster one";
const ALWAYS: &str = "always on";
const FIXED: &str = "there is no such limit to set here";

const RUN_MODES: &[(u64, &str)] = &[(1, "favor-runtime"), (2, "standard"), (3, "favor-restart")];
const STYLES: &[(u64, &str)] = &[(0, "circular"), (1, "archive"), (2, "linear")];

/// Every accepted name.
pub static INI_ROWS: &[IniRow] = &[
    sets("Server_Pool_Tasks", Key::PoolTasks, 1),
    sets("NSF_DbCache_MaxEntries", Key::CacheEntries, 1),
    sets("DAOSMinObjSize", Key::ObjectBytesMin, 1),
    sets("Server_MaxSessions", Key::ConnectionsMax, 1),
    sets("Server_MaxUsers", Key::ConnectionsMax, 1),
    sets("MailMaxDeliveryThreads", Key::DeliveryThreads, 1),
    sets("Mailboxes", Key::Mailboxes, 1),
    sets("TRANSLOG_MaxSize", Key::LogBytesMax, 1 << 20),
    sets("TRANSLOG_Path", Key::LogPath, 1),
    IniRow {
        name: "TRANSLOG_Performance",
        meaning: Meaning::Chooses(Key::LogPerformance, RUN_MODES),
    },
    IniRow { name: "TRANSLOG_Style", meaning: Meaning::Chooses(Key::LogStyle, STYLES) },
    moot("MailBoxDisableTXNLogging", FASTER),
    moot("Schedule_DisableTXNLogging", FASTER),
    moot("TRANSLOG_Status", ALWAYS),
    moot("TRANSLOG_AutoFixup", ALWAYS),
    moot("TRANSLOG_UseAll", "log.bytes_max bounds the log"),
    moot("DAOSEnable", ALWAYS),
    moot("DAOSBasePath", "objects lie in objects/ of the data directory"),
    sets("NSF_Buffer_Pool_Size_MB", Key::BufferPool, 1 << 20),
    sets("NSF_Buffer_Pool_Size", Key::BufferPool, 1),
    sets("ServerTasks", Key::Tasks, 1),
    sets("MailMaxThreads", Key::TransferThreads, 1),
    sets("MailMaxConcurrentXferThreads", Key::TransferThreadsEach, 1),
    sets("MailDisablePriority", Key::IgnorePriority, 1),
    sets("MailLowPriorityTime", Key::LowPriorityWindow, 1),
    sets("MailTimeout", Key::TransferExpiry, 24),
    moot("Disable_BCC_Group_Expansion", "copies never name the members of a group"),
    moot("Server_Max_Concurrent_Trans", "server.pool_tasks bounds what runs at once"),
    moot("CREATE_R85_DATABASES", "there is one format of databases"),
    sets("NLCACHE_SIZE", Key::NameCacheBytes, 1),
    sets("DAOSDeferredDeleteInterval", Key::PruneDefer, 86_400),
    hour("ServerTasksAt0", 0),
    hour("ServerTasksAt1", 1),
    hour("ServerTasksAt2", 2),
    hour("ServerTasksAt3", 3),
    hour("ServerTasksAt4", 4),
    hour("ServerTasksAt5", 5),
    hour("ServerTasksAt6", 6),
    hour("ServerTasksAt7", 7),
    hour("ServerTasksAt8", 8),
    hour("ServerTasksAt9", 9),
    hour("ServerTasksAt10", 10),
    hour("ServerTasksAt11", 11),
    hour("ServerTasksAt12", 12),
    hour("ServerTasksAt13", 13),
    hour("ServerTasksAt14", 14),
    hour("ServerTasksAt15", 15),
    hour("ServerTasksAt16", 16),
    hour("ServerTasksAt17", 17),
    hour("ServerTasksAt18", 18),
    hour("ServerTasksAt19", 19),
    hour("ServerTasksAt20", 20),
    hour("ServerTasksAt21", 21),
    hour("ServerTasksAt22", 22),
    hour("ServerTasksAt23", 23),
    moot("TimeZone", "times are kept in UTC"),
    moot("KitType", FIXED),
];

/// Finds the row of a name.
pub fn find(name: &str) -> Option<&'static IniRow> {
    INI_ROWS.iter().find(|row| row.name.eq_ignore_ascii_case(name))
}

/// Turns the text given for `[ini]` into the text for the setting, with what stands for it.
/// The error says which values are accepted.
pub fn translate(meaning: Meaning, text: &str) -> Result<Option<(Key, String)>, String> {
    match meaning {
        Meaning::Moot(_) => Ok(None),
        Meaning::Hour(hour) => Ok(Some((Key::TasksAt, format!("{hour}={text}")))),
        Meaning::Sets(key, 1) => Ok(Some((key, text.to_owned()))),
        Meaning::Sets(key, factor) => {
            let scaled = text.parse::<u64>().ok().and_then(|n| n.checked_mul(factor));
            scaled.map(|n| Some((key, n.to_string()))).ok_or_else(|| "must be a number".to_owned())
        }
        Meaning::Chooses(key, choices) => {
            let found = choices.iter().find(|(n, _)| text.parse() == Ok(*n));
            found.map(|(_, value)| Some((key, (*value).to_owned()))).ok_or_else(|| {
                let known: Vec<String> = choices.iter().map(|(n, _)| n.to_string()).collect();
                format!("must be one of {}", known.join(", "))
            })
        }
    }
}
