//! The settings as each part of the server takes them, at the start and when they change.

use std::sync::Arc;
use std::time::Duration;

use router::{Courier, JournalOptions, JournalTo, JournalTrouble, RouterOptions};
use smtp::CourierError;

use crate::layout::DataDir;
use crate::process;
use crate::programs;
use crate::request::chain;
use crate::server::Running;
use crate::settings::{Key, Settings};
use crate::smart_host::SmartHost;

/// Most delivery threads that are started by themselves.
const OWN_DELIVERY_THREADS_MAX: usize = 25;

/// For the router.
pub(crate) fn router(settings: &Settings) -> RouterOptions {
    let threads = match settings.size(Key::DeliveryThreads) {
        0 => (process::processors() / 2).clamp(1, OWN_DELIVERY_THREADS_MAX),
        threads => threads.min(router::DELIVERY_THREADS_MAX),
    };
    // Within the ranges of the settings.
    let hours = |key| i64::try_from(settings.number(key)).unwrap_or(0).saturating_mul(3600);
    RouterOptions {
        transfer_threads: settings.size(Key::TransferThreads),
        transfer_threads_each: settings.size(Key::TransferThreadsEach),
        message_bytes_max: settings.number(Key::RoutedBytesMax),
        expiry_s: hours(Key::ExpiryHours),
        transfer_expiry_s: hours(Key::TransferExpiry),
        retry_first_s: settings.number(Key::RetryFirst),
        retry_longest_s: settings.number(Key::RetryLongest),
        delay_report_s: hours(Key::DelayReport),
        low_priority_window: settings.text(Key::LowPriorityWindow).parse().ok(),
        ignore_priority: settings.is_on(Key::IgnorePriority),
        over_quota: match settings.text(Key::OverQuota) {
            "hold" => router::OverQuota::Hold,
            _ => router::OverQuota::Bounce,
        },
        journal: journal(settings),
        mailboxes: settings.size(Key::Mailboxes),
        delivery_threads: threads,
        hop_limit: u32::try_from(settings.number(Key::HopLimit)).unwrap_or(25),
        host_name: settings.text(Key::HostName).to_owned(),
        ..RouterOptions::default()
    }
}

/// For the journal.
fn journal(settings: &Settings) -> Option<JournalOptions> {
    let to = match settings.text(Key::JournalMethod) {
        "database" => JournalTo::Database {
            path: settings.text(Key::JournalDatabase).to_owned(),
            rollover_days: u32::try_from(settings.number(Key::JournalRollover)).unwrap_or(0),
        },
        "address" => JournalTo::Address(settings.text(Key::JournalAddress).to_owned()),
        _ => return None,
    };
    let in_trouble = match settings.text(Key::JournalTrouble) {
        "pass" => JournalTrouble::Pass,
        _ => JournalTrouble::Hold,
    };
    // What the settings hold can be read.
    let choice = settings.text(Key::JournalMessages).parse().unwrap_or_default();
    Some(JournalOptions { to, choice, in_trouble })
}

/// The same with the courier to the smart host, when there is one.
///
/// # Errors
/// The smart host cannot be used.
pub(crate) fn with_courier(
    smart_host: &SmartHost,
    dir: &DataDir,
    settings: &Settings,
) -> Result<RouterOptions, CourierError> {
    let courier = smart_host.courier(dir, settings)?.map(|courier| courier as Arc<dyn Courier>);
    let begins_paused = !programs::is_started(settings, "Router");
    Ok(RouterOptions { courier, begins_paused, ..router(settings) })
}

/// For a router that only looks after mail.box, while nobody serves.
pub(crate) fn router_at_rest(settings: &Settings) -> RouterOptions {
    RouterOptions { begins_paused: true, courier: None, ..router(settings) }
}

/// For the SMTP door.
pub(crate) fn smtp(settings: &Settings) -> smtp::Settings {
    smtp::Settings {
        host_name: settings.text(Key::HostName).to_owned(),
        message_bytes_max: settings.number(Key::MessageBytesMax),
        recipients_max: settings.size(Key::RecipientsMax),
        connections_max: settings.number(Key::ConnectionsMax),
        hop_limit: u32::try_from(settings.number(Key::HopLimit)).unwrap_or(25),
        own_addresses: settings.is_on(Key::OwnAddresses),
        group_addresses: settings.is_on(Key::GroupAddresses),
        ..smtp::Settings::default()
    }
}

/// For the POP3 door.
pub(crate) fn pop3(settings: &Settings) -> pop3::Settings {
    pop3::Settings {
        host_name: settings.text(Key::HostName).to_owned(),
        mark_seen: settings.is_on(Key::Pop3MarkSeen),
        idle_wait: Duration::from_secs(settings.number(Key::Pop3Idle)),
        ..pop3::Settings::default()
    }
}

/// For the IMAP door.
pub(crate) fn imap(settings: &Settings) -> imap::Settings {
    imap::Settings {
        host_name: settings.text(Key::HostName).to_owned(),
        append_bytes_max: settings.number(Key::MessageBytesMax),
        ..imap::Settings::default()
    }
}

/// For the directory of people.
pub(crate) fn directory(settings: &Settings) -> directory::Options {
    // The ranges of the settings fit.
    let number = |key| u32::try_from(settings.number(key)).unwrap_or(u32::MAX);
    directory::Options {
        cache_bytes: settings.size(Key::NameCacheBytes),
        subaddress: settings.text(Key::Subaddress).to_owned(),
        lockout_failures: number(Key::LockoutFailures),
        lockout_minutes: number(Key::LockoutMinutes),
    }
}

/// For the registry of sessions.
pub(crate) fn limits(settings: &Settings) -> session::Limits {
    let number = |key| u32::try_from(settings.number(key)).unwrap_or(u32::MAX);
    session::Limits {
        connections_per_address: settings.size(Key::ConnectionsPerAddress),
        connections_per_user: settings.size(Key::ConnectionsPerUser),
        sign_ins_per_minute: number(Key::SignInsPerMinute),
        messages_per_minute: number(Key::MessagesPerMinute),
        recipients_per_minute: number(Key::RecipientsPerMinute),
        ..session::Limits::default()
    }
}

/// For deleted mail.
pub(crate) fn trash(settings: &Settings) -> mailfile::trash::Options {
    let number = |key| u32::try_from(settings.number(key)).unwrap_or(u32::MAX);
    mailfile::trash::Options {
        keep_hours: number(Key::DeletedKeep),
        folder_days: number(Key::TrashDays),
    }
}

/// Hands the settings to everything that takes them while it runs.
///
/// # Errors
/// A part cannot take them.
pub(crate) fn apply(running: &Running, settings: &Settings) -> Result<(), String> {
    running.registry.set_limits(limits(settings));
    running.budget.set_limit(settings.number(Key::BytesInFlight));
    running.smtp.configure(smtp(settings));
    running.imap.configure(imap(settings));
    running.pop3.configure(pop3(settings));
    running.trash.set_options(trash(settings));
    running.site.directory.set_options(directory(settings));
    let options = with_courier(&running.smart_host, &running.site.dir, settings)
        .map_err(|error| chain(&error))?;
    running.router.configure(options).map_err(|error| chain(&error))
}
