//! The passwords of the demo: one that is known, or random ones.

use std::io;

use directory::NewPassword;

use super::make::{DemoError, Record};
use super::{DemoOptions, PASSWORD};
use crate::site::Site;

/// Letters of a random password.
const LETTERS: &[u8] = b"abcdefghjkmnpqrstuvwxyz23456789";
/// Length of a random password: about 60 bits.
const PASSWORD_CHARS: usize = 12;

/// Which passwords people have, or get at this start.
pub(super) struct Passwords {
    /// The one password of everybody.
    pub(super) shared: Option<String>,
    /// Whether people who are registered already get new ones.
    pub(super) renew: bool,
}

impl Passwords {
    pub(super) fn choose(options: &DemoOptions, old: Option<&Record>) -> Self {
        let known = options.password.clone();
        let loopback = options.bind.to_canonical().is_loopback();
        let asked = known.or_else(|| loopback.then(|| PASSWORD.to_owned()));
        match old {
            None => Self { shared: asked, renew: false },
            // A known password must not be met on a network: everybody gets a random one.
            Some(old) if asked.is_none() => Self { shared: None, renew: old.password.is_some() },
            Some(old) if options.password.is_some() => {
                Self { renew: old.password != asked, shared: asked }
            }
            Some(old) => Self { shared: old.password.clone(), renew: false },
        }
    }

    pub(super) fn new_password(&self) -> Result<String, DemoError> {
        self.shared.clone().map_or_else(random_password, Ok)
    }

    /// The password to print for somebody who is registered; sets a new one where due.
    pub(super) fn renew(&self, site: &Site, short: &str) -> Result<Option<String>, DemoError> {
        if !self.renew {
            return Ok(self.shared.clone());
        }
        let password = self.new_password()?;
        site.directory.set_password(short, NewPassword::Plain(password.clone().into_bytes()))?;
        Ok(Some(password))
    }
}

fn random_password() -> Result<String, DemoError> {
    let mut bytes = [0_u8; PASSWORD_CHARS];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    // 256 is nearly a multiple of the 31 letters; the bias costs a hundredth of a bit.
    let letter = |byte: &u8| char::from(LETTERS[usize::from(*byte) % LETTERS.len()]);
    Ok(bytes.iter().map(letter).collect())
}
