//! What commands do with a data directory, beside a running server or without one.

mod care;
mod databases;
mod objects;
mod people;
#[cfg(test)]
mod tests;

use std::sync::atomic::Ordering;

use directory::DirectoryError;
use serde_json::Value;
use store::{Store, StoreError};

use crate::layout::DataDir;
use crate::request::{Care, Reply, Request, chain};
use crate::settings::Settings;
use crate::site::{Site, SiteError, store_options};

use care::Place;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The asker is wrong.
    Refused(String),
    /// The world is in the way.
    Trouble(String),
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
        if error.is_temporary() {
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

/// Carries a request out. Requests that need a running server are refused.
pub fn perform(site: &Site, request: Request) -> Reply {
    match carry_out(site, request) {
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
) -> Result<Reply, SiteError> {
    let (store, _) = Store::open(store_options(dir, settings))?;
    let place = Place { store: &store, dir, is_served: false };
    let reply = match care::run(&place, care, paths) {
        Ok(Shown { value, clean: true }) => Reply::Done { value },
        Ok(Shown { value, clean: false }) => Reply::Finding { value },
        Err(failure) => failure.into(),
    };
    store.close()?;
    Ok(reply)
}

fn carry_out(site: &Site, request: Request) -> Result<Shown, Failure> {
    match request {
        Request::UserAdd(add) => people::add(site, add).map(Into::into),
        Request::UserSet(set) => people::set(site, set).map(Into::into),
        Request::UserPasswd { name, password } => {
            people::set_password(site, &name, password).map(Into::into)
        }
        Request::UserRename { name, full_name } => {
            people::rename(site, &name, full_name).map(Into::into)
        }
        Request::UserRemove { name, with_mail } => {
            people::remove(site, &name, with_mail).map(Into::into)
        }
        Request::UserList => people::list(site).map(Into::into),
        Request::GroupAdd { name, address, members } => {
            people::add_group(site, name, address, members).map(Into::into)
        }
        Request::GroupRemove { name } => people::remove_group(site, &name).map(Into::into),
        Request::GroupList => people::list_groups(site).map(Into::into),
        Request::GroupMembers { name, add, remove } => {
            people::change_members(site, &name, add, &remove).map(Into::into)
        }
        Request::DbList => databases::list(site).map(Into::into),
        Request::DbCreate { path, title, mail } => {
            databases::create(site, &path, &title, mail).map(Into::into)
        }
        Request::DbInfo { path } => databases::info(site, path.as_deref()).map(Into::into),
        Request::DbCat { path, note } => {
            databases::cat(site, &path, note.as_deref()).map(Into::into)
        }
        Request::DbCare { care, paths } => {
            let is_served = site.is_served.load(Ordering::Relaxed);
            care::run(&Place { store: &site.store, dir: &site.dir, is_served }, care, &paths)
        }
        Request::DbCopy { from, to, new_replica } => {
            databases::copy(site, &from, &to, new_replica).map(Into::into)
        }
        Request::DbMove { from, to } => databases::rename(site, &from, &to).map(Into::into),
        Request::DbRemove { path } => databases::remove(site, &path).map(Into::into),
        Request::ObjectsStatus => objects::status(site).map(Into::into),
        Request::ObjectsVerify => objects::verify(site),
        Request::ObjectsResync => objects::resync(site),
        Request::LogStatus => Ok(objects::log_status(site).into()),
        Request::Stop | Request::Reload | Request::Status | Request::Console { .. } => {
            Err(Failure::Refused("no server is running here; start it with `serve`".to_owned()))
        }
    }
}
