//! Destinations that could not be reached, kept in mail.box over a restart.

use std::sync::Arc;
use std::time::Duration;

use note::{ItemFlags, ItemValue, Note, NoteClass, TimeDate, Unid};
use store::{PreparedNote, StoreError};

use crate::desk::Desk;
use crate::dispatch::causes;
use crate::mailbox::own;

/// The note that keeps them. It is no document, and so no message.
const UNID: Unid = Unid(*b"nelumbo.lockouts");
/// Destinations that are kept.
const LOCKOUTS_MAX: usize = 1_000;

const DESTINATIONS: &str = "Destinations";
const FAILURES: &str = "Failures";
const NEXT_TRIES: &str = "NextTries";
const CAUSES: &str = "Causes";

/// A destination that is left alone for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lockout {
    pub to: Arc<str>,
    /// Attempts in a row at which it could not be reached.
    pub failures: u32,
    /// For how long.
    pub left: Duration,
    pub error: String,
}

impl Desk {
    /// Writes down which destinations are left alone now. What cannot be written is forgotten at
    /// a restart, which costs one try.
    pub(crate) fn keep_lockouts(&self) {
        // One after the other, so that the last to look is the last to write.
        let _turn = self.lockouts.lock();
        let mut all = self.board.lockouts();
        all.truncate(LOCKOUTS_MAX);
        let mailbox = self.mailbox(0);
        let database = &mailbox.database;
        let now = self.store.now();
        let written = own(|| {
            self.store.write_reserved::<_, StoreError>(&[database], |writer| {
                let reader = writer.reader(database)?;
                let note = match reader.note_by_unid(&UNID)? {
                    Some(meta) => reader.note(meta.id)?,
                    None => None,
                };
                let mut note = note.unwrap_or_else(|| Note::new(UNID, NoteClass::INFO, now));
                note.touch(now);
                fill(&mut note, &all, now);
                writer.put_note(database, &PreparedNote::new(&note, 0, now))
            })
        });
        if let Err(error) = written {
            tracing::warn!(cause = causes(&error), "closed destinations are not kept");
        }
    }

    /// Leaves alone again what was left alone before the restart.
    pub(crate) fn restore_lockouts(&self) {
        let mailbox = self.mailbox(0);
        let read = self.store.read(&mailbox.database, |reader| {
            let Some(meta) = reader.note_by_unid(&UNID)? else { return Ok(None) };
            reader.note(meta.id)
        });
        match read {
            Ok(read) => {
                let options = self.options();
                let longest = Duration::from_secs(options.retry_wait_s(u32::MAX));
                let kept = read.value.map(|note| kept(&note, self.store.now(), longest));
                self.board.restore(kept.unwrap_or_default());
            }
            Err(error) => {
                tracing::warn!(cause = causes(&error), "closed destinations cannot be read");
            }
        }
    }
}

fn fill(note: &mut Note, all: &[Lockout], now: TimeDate) {
    let mut put = |name, value: ItemValue| note.set_with(name, value, ItemFlags::SUMMARY);
    let texts = |of: fn(&Lockout) -> &str| -> Vec<String> {
        all.iter().map(|lockout| of(lockout).to_owned()).collect()
    };
    put(DESTINATIONS, texts(|lockout| &lockout.to).into());
    put(CAUSES, texts(|lockout| &lockout.error).into());
    let failures = all.iter().map(|lockout| f64::from(lockout.failures));
    put(FAILURES, ItemValue::NumberList(failures.collect()));
    let until = |lockout: &Lockout| {
        now.plus_seconds(i64::try_from(lockout.left.as_secs()).unwrap_or(i64::MAX))
    };
    put(NEXT_TRIES, ItemValue::TimeList(all.iter().map(until).collect()));
}

/// What is still to be left alone, for the longest wait at most: the clock may have been set.
fn kept(note: &Note, now: TimeDate, longest: Duration) -> Vec<Lockout> {
    let (Some(ItemValue::NumberList(failures)), Some(ItemValue::TimeList(until))) =
        (note.get(FAILURES), note.get(NEXT_TRIES))
    else {
        return Vec::new();
    };
    let named = note.texts(DESTINATIONS).into_iter().zip(note.texts(CAUSES));
    let rows = named.zip(failures).zip(until).map(|(((to, error), failures), until)| Lockout {
        to: to.into(),
        failures: *failures as u32,
        left: Duration::from_secs(
            u64::try_from(until.unix_seconds().saturating_sub(now.unix_seconds())).unwrap_or(0),
        )
        .min(longest),
        error: error.to_owned(),
    });
    rows.filter(|lockout| !lockout.left.is_zero()).take(LOCKOUTS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_with_less_to_wait() {
        let now = TimeDate::from_unix_seconds(1_000);
        let lockout = |to: &str, left| Lockout {
            to: to.into(),
            failures: 3,
            left: Duration::from_secs(left),
            error: "gone".to_owned(),
        };
        let longest = Duration::from_secs(500);
        for all in [vec![], vec![lockout("a:25", 100)], vec![lockout("a", 10), lockout("b", 999)]] {
            let mut note = Note::new(UNID, NoteClass::INFO, now);
            fill(&mut note, &all, now);
            let note = Note::decode(&note.encode()).unwrap();
            let back = |seconds| kept(&note, now.plus_seconds(seconds), longest);
            let less = all.iter().filter(|lockout| lockout.left.as_secs() > 60);
            let less = less.map(|lockout| Lockout {
                left: (lockout.left - Duration::from_secs(60)).min(longest),
                ..lockout.clone()
            });
            assert_eq!(back(60), less.collect::<Vec<_>>());
            assert_eq!(back(1_000), []);
            assert!(back(-100_000).iter().all(|lockout| lockout.left == longest));
        }
        assert_eq!(kept(&Note::new(UNID, NoteClass::INFO, now), now, longest), []);
    }
}
