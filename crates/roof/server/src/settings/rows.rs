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
        Restart, "Size at which the log file is renamed to .1 and begun anew";

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
    ListenMetrics = "listen.metrics", Kind::Addresses, "127.0.0.1:2090", Restart,
        "Where /metrics (Prometheus) and /healthz are answered";

    TlsCertificate = "tls.certificate", Kind::Text, "certs/server.pem", Live,
        "Certificate chain in PEM; a self-signed one is made when the file is missing";
    TlsKey = "tls.key", Kind::Text, "certs/server.key", Live,
        "Private key in PEM, readable by the server alone";

    ConnectionsMax = "limits.connections_max", number(1, 1_000_000, "connections"), "10000",
        Restart, "Connections open at once over all doors; more are turned away";
    ConnectionsPerAddress = "limits.connections_per_address_max",
        number(1, 1_000_000, "connections"), "200", Restart,
        "Connections open at once from one address (loopback is exempt)";
    BytesInFlight = "limits.bytes_in_flight_max", number(MIB, 64 * GIB, "bytes"), "268435456",
        Restart, "Memory for message bodies that are on their way in, over all sessions";
    MessageBytesMax = "limits.message_bytes_max", number(64 * 1024, 4 * GIB, "bytes"), "67108864",
        Restart, "Largest message that is taken";
    RecipientsMax = "limits.recipients_max", number(100, 100_000, "recipients"), "1000", Restart,
        "Recipients of one message";

    Mailboxes = "router.mailboxes", number(1, 10, "databases"), "2", Restart,
        "Number of mail.box databases that deposits are spread over";
    DeliveryThreads = "router.delivery_threads", number(0, 64, "threads"), "0", Restart,
        "Threads that deliver mail (0: half the processors, at least one)";
    HopLimit = "router.hop_limit", number(5, 100, "servers"), "25", Restart,
        "Received headers after which a message is taken to be in a loop";

    LogPath = "log.path", Kind::Text, "txlog", Restart,
        "Directory of the transaction log, best on a disk of its own";
    LogBytesMax = "log.bytes_max", number(256 * MIB, 1024 * GIB, "bytes"), "4294967296", Restart,
        "Space the transaction log may take";
    LogSegmentBytes = "log.segment_bytes", number(MIB, GIB, "bytes"), "67108864", Restart,
        "Size of a log segment, a multiple of 4096";
    LogStyle = "log.style", Kind::Choice(&["circular", "linear"]), "circular", Restart,
        "circular: segments are used again; linear: they are kept until log.bytes_max";
    LogPerformance = "log.performance", Kind::Choice(RUN_MODES), "standard", Restart,
        "Log that may have to be replayed after a crash: favor-runtime 4 GiB, standard 1 GiB, \
         favor-restart 128 MiB; at most half of log.bytes_max";
    RedoBytesMax = "log.redo_bytes_max", number(0, 512 * GIB, "bytes"), "0", Restart,
        "The same as a number of bytes, at least 16 MiB (0: as log.performance says)";

    CacheEntries = "database.cache_entries", number(8, 1_000_000, "databases"), "2000", Restart,
        "Databases kept open at once (bounded further by the limit of open files)";
    DeletedKeep = "database.deleted_keep_h", number(0, 8760, "h"), "48", Restart,
        "Time a deleted document can still be recovered";

    ObjectBytesMin = "objects.bytes_min", number(1024, 64 * MIB, "bytes"), "4096", Restart,
        "Size from which a part of a message becomes an object of the object store";
    DedupeBytesMin = "objects.dedupe_bytes_min", number(4096, GIB, "bytes"), "65536", Restart,
        "Size from which equal objects of different messages are kept once";
    CompressionLevel = "objects.compression_level", number(1, 19, "level"), "1", Restart,
        "zstd level for objects";
}
