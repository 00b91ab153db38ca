//! What commands do with a data directory, beside a running server or without one.

mod care;
mod databases;
mod groups;
mod intake;
mod mail;
mod objects;
mod people;
pub(crate) mod queue;
mod rules;
#[cfg(test)]
mod tests;

use std::sync::atomic::Ordering;

use directory::{DirectoryError, NewMailIn};
use serde_json::Value;
use store::StoreError;

use crate::layout::DataDir;
use crate::progress::Progress;
use crate::request::{Care, Reply, Request, chain};
use crate::settings::Settings;
use crate::site::{Site, SiteError, fenced, open_store};

use care::Place;
pub(crate) use databases::is_mail_box;
pub use groups::GROUP_TYPES;
pub(crate) use objects::recount;
use rules::Chosen;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The asker is wrong.
    Refused(String),
    /// The world is in the way.
    Trouble(String),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(reason) | Self::Trouble(reason) => f.write_str(reason),
        }
    }
}

impl From<Failure> for Reply {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(reason) => Self::Refused { reason },
            Failure::Trouble(reason) => Self::Trouble { reason },
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        if let StoreError::Fenced { path, reason } = &error {
            return Self::Trouble(fenced(path, reason));
        }
        if error.is_temporary() || matches!(error, StoreError::Stopped) {
            Self::Trouble(chain(&error))
        } else {
            Self::Refused(chain(&error))
        }
    }
}

impl From<DirectoryError> for Failure {
    fn from(error: DirectoryError) -> Self {
        match error {
            DirectoryError::Refused(_)
            | DirectoryError::NotFound { .. }
            | DirectoryError::Ambiguous { .. } => Self::Refused(chain(&error)),
            _ => Self::Trouble(chain(&error)),
        }
    }
}

impl From<::objects::ObjectsError> for Failure {
    fn from(error: ::objects::ObjectsError) -> Self {
        Self::Trouble(chain(&error))
    }
}

/// What a command shows; `clean` is false when something was found (exit code 1).
pub(crate) struct Shown {
    value: Value,
    clean: bool,
}

impl From<Value> for Shown {
    fn from(value: Value) -> Self {
        Self { value, clean: true }
    }
}

/// Carries a request out, telling `progress` how far long work is. Requests that need a running
/// server are refused.
pub fn perform(site: &Site, request: Request, progress: &mut dyn Progress) -> Reply {
    match carry_out(site, request, progress) {
        Ok(Shown { value, clean: true }) => Reply::Done { value },
        Ok(Shown { value, clean: false }) => Reply::Finding { value },
        Err(failure) => failure.into(),
    }
}

/// Takes care of the databases of a data directory that no server serves; its directory of people
/// may be damaged itself. The caller holds the lock of the data directory.
///
/// # Errors
/// The store cannot be opened or closed.
pub fn care_for(
    dir: &DataDir,
    settings: &Settings,
    care: Care,
    paths: &[String],
    progress: &mut dyn Progress,
) -> Result<Reply, SiteError> {
    let (store, _) = open_store(dir, settings)?;
    let place = Place { store: &store, dir, is_served: false };
    let reply = match care::run(&place, care, paths, progress) {
        Ok(Shown { value, clean: true }) => Reply::Done { value },
        Ok(Shown { value, clean: false }) => Reply::Finding { value },
        Err(failure) => failure.into(),
    };
    store.close()?;
    Ok(reply)
}

fn carry_out(site: &Site, request: Request, progress: &mut dyn Progress) -> Result<Shown, Failure> {
    match request {
        Request::UserAdd(_)
        | Request::UserSet(_)
        | Request::UserPasswd { .. }
        | Request::UserRename { .. }
        | Request::UserRemove { .. }
        | Request::UserUnlock { .. }
        | Request::UserList => on_people(site, request).map(Into::into),
        Request::UserRules { .. }
        | Request::UserRuleAdd { .. }
        | Request::UserRuleRemove { .. }
        | Request::UserBlock { .. }
        | Request::MailDeleted { .. }
        | Request::MailRestore { .. } => on_mail_file(site, request, progress),
        Request::GroupAdd { .. }
        | Request::GroupSet { .. }
        | Request::GroupRemove { .. }
        | Request::GroupList
        | Request::GroupMembers { .. } => on_groups(site, request).map(Into::into),
        Request::MailInAdd { name, path, address, aliases } => {
            let new = NewMailIn { name, path, internet_address: address, aliases };
            intake::add(site, new).map(Into::into)
        }
        Request::MailInRemove { name } => intake::remove(site, &name).map(Into::into),
        Request::MailInList => intake::list(site).map(Into::into),
        Request::CatchAllSet { domain, name } => {
            intake::set_catch_all(site, &domain, name.as_deref()).map(Into::into)
        }
        Request::CatchAllList => intake::catch_alls(site).map(Into::into),
        Request::DbList
        | Request::DbCreate { .. }
        | Request::DbInfo { .. }
        | Request::DbCat { .. }
        | Request::DbCare { .. }
        | Request::DbCopy { .. }
        | Request::DbCopyNotes { .. }
        | Request::DbExport { .. }
        | Request::DbImport { .. }
        | Request::DbMove { .. }
        | Request::DbRemove { .. } => on_databases(site, request, progress),
        Request::ObjectsStatus => objects::status(site).map(Into::into),
        Request::ObjectsVerify => objects::verify(site, progress),
        Request::ObjectsResync => objects::resync(site, progress),
        Request::ObjectsList { after, limit } => {
            objects::list(site, after.as_deref(), limit).map(Into::into)
        }
        Request::ObjectsPrune { defer_s, dry_run } => {
            objects::prune(site, defer_s, dry_run, progress).map(Into::into)
        }
        Request::ObjectsEstimate { thresholds } => {
            objects::estimate(site, &thresholds).map(Into::into)
        }
        Request::LogArchive => objects::archive(site),
        Request::LogStatus => Ok(objects::log_status(site).into()),
        Request::Queue(order) => queue::without_server(site, &order).map(Into::into),
        Request::Mail(work) => mail::run(site, work, progress),
        Request::Stop | Request::Reload | Request::Status | Request::Console { .. } => {
            Err(Failure::Refused("no server is running here; start it with `serve`".to_owned()))
        }
    }
}

/// Requests about people.
fn on_people(site: &Site, request: Request) -> Result<Value, Failure> {
    match request {
        Request::UserAdd(add) => people::add(site, add),
        Request::UserSet(set) => people::set(site, set),
        Request::UserPasswd { name, password } => people::set_password(site, &name, password),
        Request::UserRename { name, full_name } => people::rename(site, &name, full_name),
        Request::UserRemove { name, with_mail } => people::remove(site, &name, with_mail),
        Request::UserUnlock { name } => people::unlock(site, name.as_deref()),
        _ => people::list(site),
    }
}

/// Where the databases of a site are.
fn place(site: &Site) -> Place<'_> {
    let is_served = site.is_served.load(Ordering::Relaxed);
    Place { store: &site.store, dir: &site.dir, is_served }
}

/// Requests about databases.
fn on_databases(
    site: &Site,
    request: Request,
    progress: &mut dyn Progress,
) -> Result<Shown, Failure> {
    match request {
        Request::DbCreate { path, title, mail } => {
            databases::create(site, &path, &title, mail).map(Into::into)
        }
        Request::DbInfo { path } => databases::info(&place(site), path.as_deref()).map(Into::into),
        Request::DbCat { path, note } => {
            databases::cat(site, &path, note.as_deref()).map(Into::into)
        }
        Request::DbCare { care, paths } => care::run(&place(site), care, &paths, progress),
        Request::DbCopy { from, to, new_replica } => {
            databases::copy(site, &from, &to, new_replica, progress).map(Into::into)
        }
        Request::DbCopyNotes { from, to, unids } => {
            databases::copy_notes(site, &from, &to, &unids, progress)
        }
        Request::DbExport { path, file } => {
            databases::export(site, &path, &file, progress).map(Into::into)
        }
        Request::DbImport { file, to } => {
            databases::import(site, &file, &to, progress).map(Into::into)
        }
        Request::DbMove { from, to } => databases::rename(site, &from, &to).map(Into::into),
        Request::DbRemove { path } => databases::remove(site, &path).map(Into::into),
        _ => databases::list(site).map(Into::into),
    }
}

/// Requests about groups.
fn on_groups(site: &Site, request: Request) -> Result<Value, Failure> {
    match request {
        Request::GroupAdd { name, address, kind, members } => {
            groups::add_group(site, name, address, kind.as_deref(), members)
        }
        Request::GroupSet { name, address, kind } => {
            groups::set_group(site, &name, address, kind.as_deref())
        }
        Request::GroupRemove { name } => groups::remove_group(site, &name),
        Request::GroupMembers { name, add, remove } => {
            groups::change_members(site, &name, add, &remove)
        }
        _ => groups::list_groups(site),
    }
}

/// Requests about what a person's mail file does with mail.
fn on_mail_file(
    site: &Site,
    request: Request,
    progress: &mut dyn Progress,
) -> Result<Shown, Failure> {
    match request {
        Request::UserRuleAdd { name, rule, first } => {
            rules::add(site, &name, rule, first).map(Into::into)
        }
        Request::UserRuleRemove { name, rule } => rules::remove(site, &name, &rule).map(Into::into),
        Request::UserBlock { name, add, remove } => {
            rules::block(site, &name, add, &remove).map(Into::into)
        }
        Request::MailDeleted { name, limit } => rules::deleted(site, &name, limit).map(Into::into),
        Request::MailRestore { name, unids, since_s, folder } => {
            let folder = folder.as_deref();
            rules::restore(site, &name, &Chosen { unids: &unids, since_s, folder }, progress)
        }
        Request::UserRules { name } => rules::list(site, &name).map(Into::into),
        _ => Err(Failure::Refused("this is not about a mail file".to_owned())),
    }
}
