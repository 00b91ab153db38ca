//! Changes to messages: flags, removal, moves.

use super::dialogue::Untagged;
use super::scan::{expand_set, print_set};
use super::{Imap, quote};
use crate::wire::Error;

/// Uids that one command names.
const UIDS_AT_ONCE: usize = 1000;

/// What is done with flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// They are set.
    Add,
    /// They are taken away.
    Remove,
    /// They are set and all others taken away.
    Replace,
}

impl Imap {
    /// Changes flags of messages.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn store_flags(
        &mut self,
        uids: &[u32],
        change: Change,
        flags: &[&str],
    ) -> Result<(), Error> {
        let sign = match change {
            Change::Add => "+",
            Change::Remove => "-",
            Change::Replace => "",
        };
        let flags = flags.join(" ");
        for some in uids.chunks(UIDS_AT_ONCE) {
            let command = format!("UID STORE {} {sign}FLAGS ({flags})", print_set(some));
            self.call("UID STORE", &command, |imap, untagged| match untagged.is(b"FETCH") {
                true => imap.picture.check(untagged.number),
                false => imap.hear(untagged),
            })
            .await?;
        }
        Ok(())
    }

    /// Removes messages that have \Deleted: these, or all where the server has no UIDPLUS.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn expunge_uids(&mut self, uids: &[u32]) -> Result<(), Error> {
        if !self.has("UIDPLUS") {
            return self.call("EXPUNGE", "EXPUNGE", Self::hear).await;
        }
        for some in uids.chunks(UIDS_AT_ONCE) {
            let command = format!("UID EXPUNGE {}", print_set(some));
            self.call("UID EXPUNGE", &command, Self::hear).await?;
        }
        Ok(())
    }

    /// Moves messages; their old and new uids, when the server tells them. Without MOVE it is done
    /// by COPY and removal (RFC 6851 section 3.3).
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn move_uids(&mut self, uids: &[u32], to: &str) -> Result<Vec<(u32, u32)>, Error> {
        let to = quote(to)?;
        let verb = if self.has("MOVE") { "MOVE" } else { "COPY" };
        let mut pairs = Vec::new();
        for some in uids.chunks(UIDS_AT_ONCE) {
            let command = format!("UID {verb} {} {to}", print_set(some));
            self.call("UID MOVE", &command, |imap, untagged| match copied(untagged)? {
                Some(mut copied) => {
                    pairs.append(&mut copied);
                    Ok(())
                }
                None => imap.hear(untagged),
            })
            .await?;
            if verb == "COPY" {
                self.remove_copied(some).await.map_err(|error| match error.is_refusal() {
                    true => {
                        Error::protocol("copied, but not removed", error.to_string().as_bytes())
                    }
                    false => error,
                })?;
            }
        }
        Ok(pairs)
    }

    async fn remove_copied(&mut self, uids: &[u32]) -> Result<(), Error> {
        self.store_flags(uids, Change::Add, &["\\Deleted"]).await?;
        self.expunge_uids(uids).await
    }
}

/// The uids of a COPYUID (RFC 4315 section 3), old and new.
fn copied(untagged: &Untagged<'_>) -> Result<Option<Vec<(u32, u32)>>, Error> {
    let Some(mut code) = untagged.code() else { return Ok(None) };
    if !code.word().eq_ignore_ascii_case(b"COPYUID") {
        return Ok(None);
    }
    code.skip_spaces();
    code.number32()?;
    code.skip_spaces();
    let old = expand_set(code.word(), UIDS_AT_ONCE)?;
    code.skip_spaces();
    let new = expand_set(code.word(), UIDS_AT_ONCE)?;
    if old.len() != new.len() {
        return Err(code.wrong("sets of different length"));
    }
    Ok(Some(std::iter::zip(old, new).collect()))
}
