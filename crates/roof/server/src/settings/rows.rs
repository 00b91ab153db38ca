//! The table of settings: one row each, with type, default, range, effect and help.

use super::Kind;

/// When a changed value takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// At once, when the file is read again (SIGHUP).
    Live,
    /// At the next start of the server.
    Restart,
}

/// One setting.
#[derive(Debug)]
pub struct Row {
    /// Key in `nelumbo.toml`, as `section.name`.
    pub name: &'static str,
    /// Type and range.
    pub kind: Kind,
    /// Default, written as it would be written in the file (lists separated by commas).
    pub default: &'static str,
    /// When a change takes effect.
    pub effect: Effect,
    /// What it means, in one sentence.
    pub help: &'static str,
}

/// What `log.performance` chooses from.
pub(crate) const RUN_MODES: &[&str] = &["favor-runtime", "standard", "favor-restart"];

macro_rules! rows {
    ($($key:ident = $name:literal, $kind:expr, $default:literal, $effect:ident,
       $help:literal;)*) => {
        /// Names a setting in the program; the order is that of [`ROWS`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Key {
            $(#[doc = $help] $key,)*
        }

        /// Every setting there is.
        pub static ROWS: &[Row] = &[
            $(Row {
                name: $name,
                kind: $kind,
                default: $default,
                effect: Effect::$effect,
                help: $help,
            },)*
        ];

        /// Every key, in the order of [`ROWS`].
        pub static KEYS: &[Key] = &[$(Key::$key,)*];
    };
}

const fn number(min: u64, max: u64, unit: &'static str) -> Kind {
    Kind::Number { min, max, unit }
}

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TLS_MODES: &[&str] = &["none", "opportunistic", "starttls", "implicit"];
const LEVELS: &[&str] = &["error", "warn", "info", "debug", "trace"];

rows! {
    ServerName = "server.name", Kind::Text, "server/Local", Restart,
        "Hierarchical name of this server, such as mail1/Example";
    Domain = "server.domain", Kind::Text, "localhost.localdomain", Restart,
        "Internet domain whose mail is kept here";
    HostName = "server.host_name", Kind::Text, "localhost", Restart,
        "Host name in greetings, trace headers and the certificate";
    User = "server.user", Kind::Text, "", Restart,
        "System user to run as once the ports are open, when started as root (empty: no change)";
    PoolTasks = "server.pool_tasks", number(0, 1024, "threads"), "0", Restart,
        "Threads of the worker pool that does the work of all sessions (0: twice the processors)";
    PoolQueue = "server.pool_queue", number(16, 1_000_000, "jobs"), "20000", Restart,
        "Jobs that may wait for a worker; more are refused with a temporary error";
    NetworkThreads = "server.network_threads", number(1, 64, "threads"), "2", Restart,
        "Threads that serve the network and do the light work of sessions";
    StopWait = "server.stop_wait_s", number(1, 600, "s"), "20", Restart,
        "Time an orderly stop gives sessions and the router to end";
    LogLevel = "server.log_level", Kind::Choice(LEVELS), "info", Live,
        "Least severe event that is written to the server's log";
    LogFile = "server.log_file", Kind::Text, "run/nelumbo.log", Restart,
        "File the server's log goes to beside standard error (empty: none)";
    LogFileBytesMax = "server.log_file_bytes_max", number(MIB, 16 * GIB, "bytes"), "67108864",
        Live, "Size at which the log file is renamed to .1 and begun anew";
    LogFileDaily = "server.log_file_daily", Kind::Switch, "true", Live,
        "Also begins the log file anew with the first line of each day (UTC)";
    LogFilesKept = "server.log_files_kept", number(1, 999, "files"), "9", Live,
        "Old log files that are kept: .1 is the latest";
    Tasks = "server.tasks", Kind::Text, "", Restart,
        "Tasks to start, separated by commas, such as Router,SMTP,IMAP,POP3 (empty: all)";
    TasksAt = "server.tasks_at", Kind::Agenda, "", Live,
        "What runs at an hour of the day (local time): HOUR=TASK ARGUMENTS, TASK; HOUR=TASK";

    ListenSmtp = "listen.smtp", Kind::Addresses, "0.0.0.0:25", Restart,
        "Where mail from other servers comes in (SMTP with STARTTLS)";
    ListenSubmission = "listen.submission", Kind::Addresses, "0.0.0.0:587", Restart,
        "Where people's programs hand in mail (STARTTLS, sign-in needed)";
    ListenSmtps = "listen.smtps", Kind::Addresses, "0.0.0.0:465", Restart,
        "The same with TLS from the first byte";
    ListenImap = "listen.imap", Kind::Addresses, "0.0.0.0:143", Restart,
        "Where mail is read (IMAP with STARTTLS)";
    ListenImaps = "listen.imaps", Kind::Addresses, "0.0.0.0:993", Restart,
        "The same with TLS from the first byte";
    ListenPop3 = "listen.pop3", Kind::Addresses, "0.0.0.0:110", Restart,
        "Where mail is fetched (POP3 with STLS)";
    ListenPop3s = "listen.pop3s", Kind::Addresses, "0.0.0.0:995", Restart,
        "The same with TLS from the first byte";
    ListenMetrics = "listen.metrics", Kind::Addresses, "127.0.0.1:2090", Restart,
        "Where /metrics (Prometheus) and /healthz are answered";

    TlsCertificate = "tls.certificate", Kind::Text, "certs/server.pem", Live,
        "Certificate chain in PEM; a self-signed one is made when the file is missing";
    TlsKey = "tls.key", Kind::Text, "certs/server.key", Live,
        "Private key in PEM, readable by the server alone";

    ConnectionsMax = "limits.connections_max", number(1, 1_000_000, "connections"), "10000",
        Live, "Connections open at once over all doors; more are turned away";
    ConnectionsPerAddress = "limits.connections_per_address_max",
        number(1, 1_000_000, "connections"), "200", Live,
        "Connections open at once from one address (loopback is exempt)";
    BytesInFlight = "limits.bytes_in_flight_max", number(MIB, 64 * GIB, "bytes"), "268435456",
        Live, "Memory for message bodies that are on their way in, over all sessions";
    MessageBytesMax = "limits.message_bytes_max", number(64 * 1024, 4 * GIB, "bytes"), "67108864",
        Live, "Largest message that is taken";
    RecipientsMax = "limits.recipients_max", number(100, 100_000, "recipients"), "1000", Live,
        "Recipients of one message";
    ConnectionsPerUser = "limits.connections_per_user_max",
        number(0, 1_000_000, "connections"), "50", Live,
        "Sessions open at once by one person over all doors (0: no limit)";
    SignInsPerMinute = "limits.sign_ins_per_minute", number(0, 1_000_000, "sign-ins"), "60", Live,
        "Sign-ins from one address within a minute (0: no limit; loopback is exempt)";
    MessagesPerMinute = "limits.messages_per_minute", number(0, 1_000_000, "messages"), "300", Live,
        "Messages from one person or address within a minute (0: no limit; loopback is exempt)";
    RecipientsPerMinute = "limits.recipients_per_minute",
        number(0, 10_000_000, "recipients"), "3000", Live,
        "Recipients of mail from one person or address within a minute (0: no limit)";

    Mailboxes = "router.mailboxes", number(1, 10, "databases"), "2", Live,
        "Number of mail.box databases that deposits are spread over";
    DeliveryThreads = "router.delivery_threads", number(0, 25, "threads"), "0", Live,
        "Threads that deliver mail (0: half the processors, at least one)";
    HopLimit = "router.hop_limit", number(5, 100, "servers"), "25", Live,
        "Received headers after which a message is taken to be in a loop";
    RoutedBytesMax = "router.message_bytes_max", number(0, 4 * GIB, "bytes"), "0", Live,
        "Largest message that is routed (0: no limit beyond limits.message_bytes_max)";
    ExpiryHours = "router.expiry_h", number(1, 720, "h"), "24", Live,
        "Time that delivery into a mail file in trouble is tried";
    DelayReport = "router.delay_report_h", number(0, 120, "h"), "4", Live,
        "Time after which a sender is told that a message still waits (0: never)";
    LowPriorityWindow = "router.low_priority_window", Kind::DayWindow, "", Live,
        "Time of day (UTC) in which mail of low priority is transferred, such as 00:00-06:00 \
         (empty: at any time)";
    IgnorePriority = "router.ignore_priority", Kind::Switch, "false", Live,
        "Treats mail of every priority alike";
    OverQuota = "router.over_quota", Kind::Choice(&["bounce", "hold"]), "bounce", Live,
        "What becomes of mail for a mail file whose quota is used up: it goes back, or waits";

    JournalMethod = "journaling.method", Kind::Choice(&["off", "database", "address"]), "off", Live,
        "Copies mail that passes into a database of this server, or sends it to an address";
    JournalDatabase = "journaling.database", Kind::Text, "mailjrn.nsf", Live,
        "Database that mail is journaled into; it is made when it is missing at the start";
    JournalRollover = "journaling.rollover_days", number(0, 3650, "days"), "0", Live,
        "Days after which a new database is begun, with the date in its name (0: never)";
    JournalAddress = "journaling.address", Kind::Text, "", Live,
        "Address that journaled mail is sent to";
    JournalMessages = "journaling.messages", Kind::JournalChoice, "all", Live,
        "Mail that is journaled: all, or addresses and domains (@demo.test) with commas between; \
         with from or to in front only mail from them or to them";
    JournalTrouble = "journaling.in_trouble", Kind::Choice(&["hold", "pass"]), "hold", Live,
        "What becomes of mail while the journal database does not take it: it waits, or goes on \
         without being journaled";

    TransferHost = "transfer.host", Kind::Text, "", Live,
        "Smart host that takes mail for other domains (empty: such mail is refused)";
    TransferPort = "transfer.port", number(1, 65_535, "port"), "587", Live,
        "Its port";
    TransferTls = "transfer.tls", Kind::Choice(TLS_MODES), "starttls", Live,
        "Encryption to the smart host: none, opportunistic (when it offers it), starttls \
         (required), implicit (from the first byte)";
    TransferUser = "transfer.user", Kind::Text, "", Live,
        "Name to sign in with at the smart host (empty: no sign-in)";
    TransferPassword = "transfer.password", Kind::Secret, "", Live,
        "Password to sign in with at the smart host";
    TransferCaFile = "transfer.ca_file", Kind::Text, "", Live,
        "Certificates in PEM that the smart host is checked against (empty: the public ones)";
    TransferThreads = "transfer.threads", number(1, 25, "threads"), "5", Live,
        "Threads that transfer mail to other hosts";
    TransferThreadsEach = "transfer.threads_each", number(0, 25, "threads"), "0", Live,
        "Threads for one destination at most (0: half of all)";
    TransferExpiry = "transfer.expiry_h", number(1, 720, "h"), "120", Live,
        "Time that transfer is tried before the sender gets the message back";
    RetryFirst = "transfer.retry_first_s", number(10, 86_400, "s"), "300", Live,
        "Wait after the first failed transfer; it doubles with each further one";
    RetryLongest = "transfer.retry_longest_s", number(10, 86_400, "s"), "3600", Live,
        "Longest wait between two transfers";

    OwnAddresses = "smtp.own_addresses", Kind::Switch, "true", Live,
        "Who has signed in sends from own addresses only (administrators from any)";
    GroupAddresses = "smtp.group_addresses", Kind::Switch, "false", Live,
        "Addresses of groups count as own ones of their members";

    Pop3MarkSeen = "pop3.mark_seen", Kind::Switch, "true", Live,
        "Messages that were fetched count as read";
    Pop3Idle = "pop3.idle_wait_s", number(600, 86_400, "s"), "600", Live,
        "Silence after which a POP3 session ends";

    LogPath = "log.path", Kind::Text, "txlog", Restart,
        "Directory of the transaction log, best on a disk of its own";
    LogBytesMax = "log.bytes_max", number(256 * MIB, 1024 * GIB, "bytes"), "4294967296", Restart,
        "Space the transaction log may take";
    LogSegmentBytes = "log.segment_bytes", number(MIB, GIB, "bytes"), "67108864", Restart,
        "Size of a log segment, a multiple of 4096";
    LogGather = "log.gather_ms", number(0, 1000, "ms"), "10", Restart,
        "How long a sync of the log waits at most for others to share it when many are wanted \
         (0: not at all)";
    LogGatherAbove = "log.gather_above_per_s", number(0, 100_000, "per s"), "50", Restart,
        "How many syncs of the log a second may be wanted before syncs wait for each other; above \
         that they wait as long as keeps the log near this rate, at most log.gather_ms \
         (0: always as long as log.gather_ms)";
    LogStyle = "log.style", Kind::Choice(&["circular", "linear", "archive"]), "circular", Restart,
        "circular: segments are used again; linear: they are kept until log.bytes_max; archive: \
         they are copied to log.archive_path first";
    LogArchivePath = "log.archive_path", Kind::Text, "", Restart,
        "Directory for the segments of log.style archive, best on another disk";
    LogPerformance = "log.performance", Kind::Choice(RUN_MODES), "standard", Restart,
        "Log that may have to be replayed after a crash: favor-runtime 4 GiB, standard 1 GiB, \
         favor-restart 128 MiB; at most half of log.bytes_max";
    RedoBytesMax = "log.redo_bytes_max", number(0, 512 * GIB, "bytes"), "0", Restart,
        "The same as a number of bytes, at least 16 MiB (0: as log.performance says)";

    CacheEntries = "database.cache_entries", number(8, 1_000_000, "databases"), "10000", Live,
        "Databases kept open at once (fewer when connections need the descriptors)";
    BufferPool = "database.buffer_pool_bytes", number(0, 4096 * GIB, "bytes"), "0", Restart,
        "Memory that all open databases may take together for pages and statements, at least \
         16 MiB (0: a quarter of the machine's memory, at most 2 GiB)";
    UnwrittenBytes = "database.unwritten_bytes_max", number(8 * MIB, 16 * GIB, "bytes"),
        "134217728", Restart,
        "Memory that changes may take before they are written into their databases";
    DeletedKeep = "database.deleted_keep_h", number(0, 8760, "h"), "48", Live,
        "Time a deleted document can still be recovered";

    TrashDays = "mail.trash_days", number(0, 3650, "days"), "0", Live,
        "Days after which messages leave the Trash folder (0: they stay)";

    NameCacheBytes = "directory.cache_bytes", number(MIB, 4 * GIB, "bytes"), "16777216", Live,
        "Memory for documents of people and groups that were looked up";
    Subaddress = "directory.subaddress", Kind::Text, "+", Live,
        "What separates a name from a remark in an address, as in ada+news@ (empty: nothing does)";
    LockoutFailures = "directory.lockout_failures", number(0, 10_000, "failures"), "10", Live,
        "Wrong passwords for a name from one address after which sign-in is refused (0: never)";
    LockoutMinutes = "directory.lockout_min", number(1, 10_080, "min"), "15", Live,
        "Time for which it is refused, and within which the failures count";

    ObjectBytesMin = "objects.bytes_min", number(1024, 64 * MIB, "bytes"), "4096", Restart,
        "Size from which a part of a message becomes an object of the object store";
    DedupeBytesMin = "objects.dedupe_bytes_min", number(4096, GIB, "bytes"), "65536", Restart,
        "Size from which equal objects of different messages are kept once; smaller ones when they \
         come shortly after each other; 1073741824: never";
    PruneDefer = "objects.defer_s", number(0, 1_000_000_000, "s"), "2592000", Restart,
        "Time an object is kept that nobody refers to any more; longer than backups are kept";
    ObjectCare = "objects.care_interval_s", number(1, 1_000_000, "s"), "3600", Restart,
        "Time between two looks for objects to delete and segments to rewrite";
    RewriteLive = "objects.rewrite_live_percent", number(0, 100, "%"), "40", Restart,
        "Share of a segment still in use below which it is rewritten";
    RewriteSegments = "objects.rewrite_segments_min", number(1, 1000, "segments"), "4", Restart,
        "Segments worth rewriting before it is begun";
    CompressionLevel = "objects.compression_level", number(1, 19, "level"), "1", Restart,
        "zstd level for objects";
}
