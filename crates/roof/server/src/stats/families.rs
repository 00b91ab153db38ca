//! Metrics that have a name of their own.

/// How a family of statistics is named and described.
pub(super) struct Family {
    /// Name of the statistic; `*` stands for the door in front.
    pub stat: &'static str,
    /// Name of the metric, with its unit.
    pub metric: &'static str,
    /// What it counts.
    pub help: &'static str,
}

const fn family(stat: &'static str, metric: &'static str, help: &'static str) -> Family {
    Family { stat, metric, help }
}

/// Metrics that have a name of their own; a name that ends in `_total` is a counter.
pub(super) static FAMILIES: &[Family] = &[
    family("*.Sessions.Inbound.Active", "nelumbo_sessions", "Sessions open now"),
    family("*.Sessions.Inbound.Peak", "nelumbo_sessions_peak", "Most sessions open at once"),
    family("*.Sessions.Inbound.Total", "nelumbo_sessions_total", "Sessions since the start"),
    family(
        "*.Sessions.Inbound.Refused",
        "nelumbo_sessions_refused_total",
        "Sessions turned away because too many were open",
    ),
    family("*.Sessions.Inbound.Total.SSL", "nelumbo_sessions_tls_total", "Sessions that used TLS"),
    family("*.Sessions.Inbound.Active.SSL", "nelumbo_tls_sessions", "Sessions under TLS now"),
    family(
        "*.Sessions.Inbound.Peak.SSL",
        "nelumbo_tls_sessions_peak",
        "Most sessions under TLS at once",
    ),
    family(
        "*.Sessions.Inbound.Total.SSL.Bad_Handshake",
        "nelumbo_tls_handshakes_failed_total",
        "TLS handshakes that failed",
    ),
    family("*.Sessions.Inbound.BytesReceived", "nelumbo_received_bytes_total", "Bytes received"),
    family("*.Sessions.Inbound.BytesSent", "nelumbo_sent_bytes_total", "Bytes sent"),
    family("*.Logins", "nelumbo_logins_total", "Successful sign-ins"),
    family("*.Logins.Failed", "nelumbo_logins_failed_total", "Failed sign-ins"),
    family("SMTP.MessagesProcessed", "nelumbo_messages_accepted_total", "Messages accepted"),
    family(
        "SMTP.MessagesProcessed.Bytes",
        "nelumbo_messages_accepted_bytes_total",
        "Bytes of messages accepted",
    ),
    family("SMTP.MessagesRefused", "nelumbo_messages_refused_total", "Messages refused"),
    family("Mail.Delivered", "nelumbo_mail_delivered_total", "Deliveries into mail files"),
    family("Mail.Waiting", "nelumbo_mail_waiting", "Messages that wait to be routed"),
    family("Mail.Dead", "nelumbo_mail_dead", "Messages that nobody can be told about"),
    family("Mail.Hold", "nelumbo_mail_held", "Messages kept back"),
    family("Server.ElapsedTime", "nelumbo_uptime_seconds", "Time since the start"),
    family("Server.Trans.Total", "nelumbo_transactions_total", "Jobs done by the worker pool"),
    family("Server.WorkThreads", "nelumbo_pool_threads", "Threads of the worker pool"),
    family("Server.ConcurrentTasks", "nelumbo_pool_busy_threads", "Workers with a job"),
    family("Server.ConcurrentTasks.Waiting", "nelumbo_pool_waiting_jobs", "Jobs that wait"),
    family(
        "Server.ConcurrentTasks.Refused",
        "nelumbo_pool_refused_jobs_total",
        "Jobs thrown away because the queue was full",
    ),
    family(
        "Server.Sessions.Dropped",
        "nelumbo_sessions_broken_total",
        "Jobs and sessions that ended in a bug",
    ),
    family(
        "Server.BytesInFlight",
        "nelumbo_in_flight_bytes",
        "Bytes of message bodies on their way in",
    ),
    family("Mem.Allocated.Process", "nelumbo_resident_memory_bytes", "Memory in use"),
    family("Platform.Process.CpuSeconds", "nelumbo_cpu_seconds_total", "Processor time used"),
    family("Platform.Process.Descriptors", "nelumbo_open_descriptors", "Open descriptors"),
    family("Disk.Data.Free", "nelumbo_disk_free_bytes", "Free space for databases"),
    family("Translog.Segments", "nelumbo_log_segments", "Segments in the transaction log"),
    family("Translog.Size", "nelumbo_log_size_bytes", "Bytes of the segments in the log"),
    family("Translog.Groups", "nelumbo_log_groups_total", "Groups written to the log"),
    family("Translog.Syncs", "nelumbo_log_syncs_total", "Syncs of the log"),
    family(
        "Translog.BytesWritten",
        "nelumbo_log_written_bytes_total",
        "Bytes of groups written to the log",
    ),
    family("Translog.Records", "nelumbo_log_records_total", "Records appended to the log"),
    family("Translog.Full", "nelumbo_log_full", "1 while the log takes no ordinary records"),
    family("Translog.Stopped", "nelumbo_log_stopped", "1 when the log has failed"),
    family("DAOS.Objects", "nelumbo_objects", "Objects in the object store"),
    family("DAOS.References", "nelumbo_object_references", "References of notes to objects"),
    family("DAOS.LogicalSize", "nelumbo_objects_logical_bytes", "Content, each object once"),
    family("DAOS.StoredSize", "nelumbo_objects_stored_bytes", "Content as stored"),
    family("*.Commands", "nelumbo_commands_total", "Commands of clients"),
    family("*.Commands.Refused", "nelumbo_commands_refused_total", "Commands refused"),
    family("IMAP.Messages.Appended", "nelumbo_messages_appended_total", "Messages put by APPEND"),
    family("IMAP.Messages.Fetched", "nelumbo_messages_fetched_total", "Messages fetched"),
    family("POP3.Messages.Retrieved", "nelumbo_messages_retrieved_total", "Messages retrieved"),
    family("SMTP.Recipients", "nelumbo_recipients_total", "Recipients accepted"),
    family("SMTP.Recipients.Refused", "nelumbo_recipients_refused_total", "Recipients refused"),
    family("Mail.Deposited", "nelumbo_mail_deposited_total", "Messages put into mail.box"),
    family("Mail.TotalRouted", "nelumbo_mail_routed_total", "Messages that left mail.box"),
    family("Mail.TotalPending", "nelumbo_mail_pending", "Messages that wait or are held"),
    family("Mail.TotalFailures", "nelumbo_mail_failures_total", "Recipients that failed"),
    family("Mail.Reports", "nelumbo_mail_reports_total", "Delivery reports made"),
    family("Mail.Transferred", "nelumbo_mail_transferred_total", "Transfers to other hosts"),
    family("Mail.TransferFailures", "nelumbo_mail_transfer_failures_total", "Failed transfers"),
    family("Mail.Journal.Messages", "nelumbo_mail_journaled_total", "Messages journaled"),
    family(
        "Mail.Journal.Failures",
        "nelumbo_mail_journal_failures_total",
        "Tries to journal a message that failed",
    ),
    family(
        "Mail.Journal.Passed",
        "nelumbo_mail_journal_passed_total",
        "Messages that went on without being journaled",
    ),
    family(
        "Mail.AverageDeliverTime",
        "nelumbo_mail_deliver_mean_seconds",
        "Mean time between deposit and delivery",
    ),
    family(
        "Mail.MaximumDeliverTime",
        "nelumbo_mail_deliver_max_seconds",
        "Longest time between deposit and delivery",
    ),
    family("Mail.DeliveryThreads.Active", "nelumbo_delivery_busy_threads", "Threads delivering"),
    family("Mail.DeliveryThreads.Max", "nelumbo_delivery_threads", "Delivery threads"),
    family("Mail.Mailbox.Accesses", "nelumbo_mailbox_accesses_total", "Writes into mail.box"),
    family(
        "Mail.Mailbox.AccessConflicts",
        "nelumbo_mailbox_conflicts_total",
        "Writes into mail.box that had to wait for another",
    ),
    family("Server.Users", "nelumbo_users", "Sessions that are signed in"),
    family("Server.Tasks", "nelumbo_tasks", "Tasks that run and end by themselves"),
    family(
        "Server.Sessions.Refused",
        "nelumbo_connections_refused_total",
        "Connections turned away because too many were open",
    ),
    family("Database.Count", "nelumbo_databases", "Databases"),
    family("Database.Fenced", "nelumbo_databases_fenced", "Databases nobody may use"),
    family("Database.Damage", "nelumbo_database_damage_total", "Damage found in databases"),
    family("Database.Reads", "nelumbo_database_reads_total", "Reads of databases"),
    family("Database.Writes", "nelumbo_database_writes_total", "Writes to databases"),
    family("Database.DiskFull", "nelumbo_disk_full", "1 while the disk has no room for changes"),
    family(
        "Database.UnwrittenBytes",
        "nelumbo_unwritten_bytes",
        "Changes in memory that are not in their database files yet",
    ),
    family(
        "Database.Recovery.Pending",
        "nelumbo_recovery_pending_databases",
        "Databases that are still to be replayed from the log",
    ),
    family("Database.Checkpoint.Rounds", "nelumbo_checkpoint_rounds_total", "Checkpoint rounds"),
    family(
        "Database.DbCache.CurrentEntries",
        "nelumbo_open_databases",
        "Databases that are kept open",
    ),
    family(
        "Database.BufferPool.Used",
        "nelumbo_buffer_pool_bytes",
        "Memory of open databases for pages and statements",
    ),
    family("Database.DbCache.Hits", "nelumbo_database_cache_hits_total", "Databases found open"),
    family(
        "Database.DbCache.InitialDbOpens",
        "nelumbo_database_opens_total",
        "Databases that had to be opened",
    ),
    family(
        "Database.NAMELookupCacheHits",
        "nelumbo_name_cache_hits_total",
        "Lookups of names answered from memory",
    ),
    family(
        "Database.NAMELookupCacheMisses",
        "nelumbo_name_cache_misses_total",
        "Lookups of names that read the directory",
    ),
    family("Directory.LockedOut", "nelumbo_locked_out_names", "Names whose sign-in is refused now"),
    family("DAOS.Unreferenced", "nelumbo_objects_unreferenced", "Objects nobody refers to"),
    family(
        "Translog.Archive.Waiting",
        "nelumbo_log_archive_waiting_segments",
        "Full segments of the log that are not archived yet",
    ),
    family(
        "Translog.Archive.Trouble",
        "nelumbo_log_archive_trouble",
        "1 while segments cannot be archived",
    ),
];

/// Statistics whose last part becomes a label: what they begin with, metric, label, meaning.
pub(super) static PARTED: &[(&str, &str, &str, &str)] = &[
    (
        "Mail.DeliveredSize.",
        "nelumbo_mail_delivered_size_messages_total",
        "size",
        "Messages delivered, by their size",
    ),
    (
        "Mail.TransferredSize.",
        "nelumbo_mail_transferred_size_messages_total",
        "size",
        "Messages transferred, by their size",
    ),
];
