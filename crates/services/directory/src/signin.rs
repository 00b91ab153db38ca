//! Sign-in: passwords, lockout, and who must not.

use std::net::IpAddr;

use note::OriginatorId;

use crate::document::{Entry, PersonEntry};
use crate::keys::name_key;
use crate::lockout::Who;
use crate::lookup::Match;
use crate::password::{self, PASSWORD_BYTES_MAX};
use crate::{Directory, DirectoryError, LockedOut, Person};

/// Whom a name belongs to, as far as sign-in is concerned.
struct Asked {
    who: Who,
    /// Revision and hash of somebody who may sign in.
    credential: Option<(OriginatorId, String)>,
}

impl Directory {
    /// As [`Directory::sign_in_from`] without an address.
    ///
    /// # Errors
    /// As there.
    pub fn sign_in(&self, name: &str, password: &[u8]) -> Result<Option<Person>, DirectoryError> {
        self.sign_in_from(name, password, None)
    }

    /// Checks a password; `None` means refused. A right password is remembered for an hour against
    /// the revision of the Person document; else a hash of about 20 ms is computed: call it on the
    /// pool. Names that nobody has, that are ambiguous, and people who must not sign in cost the
    /// same hash. After too many failures of a name from an address it is refused for a while.
    ///
    /// # Errors
    /// [`DirectoryError::LockedOut`]; the directory is in trouble, or too many sign-ins wait
    /// ([`DirectoryError::Busy`]).
    pub fn sign_in_from(
        &self,
        name: &str,
        password: &[u8],
        address: Option<IpAddr>,
    ) -> Result<Option<Person>, DirectoryError> {
        let asked = self.asked(name)?;
        let now = self.store.now();
        if let Some(until) = self.lockout.until(&asked.who, address, now) {
            return Err(DirectoryError::LockedOut { until });
        }
        let person = self.verified(&asked, name, password)?;
        if person.is_some() {
            self.lockout.succeeded(&asked.who, address);
        } else {
            let options = self.options.read();
            let failed = self.lockout.failed((&asked.who, name), address, &options, now);
            if let Some(until) = failed {
                let from = address.map(|address| address.to_string()).unwrap_or_default();
                let until = until.to_string();
                tracing::warn!(name, from, until, "sign-in is refused after too many failures");
            }
        }
        Ok(person)
    }

    fn verified(
        &self,
        asked: &Asked,
        name: &str,
        password: &[u8],
    ) -> Result<Option<Person>, DirectoryError> {
        if password.is_empty() || password.len() > PASSWORD_BYTES_MAX {
            return Ok(None);
        }
        let Some((version, credential)) = &asked.credential else {
            self.hasher.verify_nobody(password)?;
            return Ok(None);
        };
        let now = self.store.now();
        if !self.remembered.knows(version, password, now) {
            match self.hasher.verify(password, credential) {
                Ok(true) => self.remembered.remember(version, password, now),
                Ok(false) => return Ok(None),
                Err(password::NoHash::Failed) => {
                    tracing::warn!(name, "the stored password cannot be verified");
                    return Ok(None);
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.unchanged(version)
    }

    /// As [`Directory::remembered_from`] without an address.
    ///
    /// # Errors
    /// As there.
    pub fn remembered(
        &self,
        name: &str,
        password: &[u8],
    ) -> Result<Option<Person>, DirectoryError> {
        self.remembered_from(name, password, None)
    }

    /// Whom a password belongs to that was right not long ago: no hash is computed. `None`: ask
    /// [`Directory::sign_in_from`].
    ///
    /// # Errors
    /// The directory is in trouble.
    pub fn remembered_from(
        &self,
        name: &str,
        password: &[u8],
        address: Option<IpAddr>,
    ) -> Result<Option<Person>, DirectoryError> {
        let asked = self.asked(name)?;
        let now = self.store.now();
        match &asked.credential {
            Some((version, _))
                if self.lockout.until(&asked.who, address, now).is_none()
                    && self.remembered.knows(version, password, now) =>
            {
                self.unchanged(version)
            }
            _ => Ok(None),
        }
    }

    /// The person, unless something changed while the password was looked at.
    fn unchanged(&self, version: &OriginatorId) -> Result<Option<Person>, DirectoryError> {
        let lookup = self.lookup()?;
        let Some(document) = lookup.get(&version.unid)? else { return Ok(None) };
        match &document.entry {
            Entry::Person(found) if found.version == *version => lookup.person(found).map(Some),
            _ => Ok(None),
        }
    }

    fn asked(&self, name: &str) -> Result<Asked, DirectoryError> {
        let lookup = self.lookup()?;
        let document = match lookup.find(name)? {
            Match::One(document) => document,
            found => {
                if matches!(found, Match::None) {
                    lookup.undamaged()?;
                }
                return Ok(Asked { who: Who::nobody(&name_key(name)), credential: None });
            }
        };
        let credential = match &document.entry {
            Entry::Person(PersonEntry { person, credential: Some(hash), version, .. })
                if !person.disabled && !lookup.is_denied(&document)? =>
            {
                Some((*version, hash.clone()))
            }
            _ => None,
        };
        Ok(Asked { who: Who::Known(document.unid), credential })
    }

    /// Those who are locked out now, by name.
    pub fn lockouts(&self) -> Vec<LockedOut> {
        self.lockout.list(self.store.now())
    }

    /// Lets somebody who is locked out (or all) sign in again; gives how many entries were cleared.
    ///
    /// # Errors
    /// The directory is in trouble.
    pub fn clear_lockout(&self, name: Option<&str>) -> Result<usize, DirectoryError> {
        let who = name.map(|name| self.asked(name)).transpose()?.map(|asked| asked.who);
        Ok(self.lockout.clear(who.as_ref(), self.store.now()))
    }
}
