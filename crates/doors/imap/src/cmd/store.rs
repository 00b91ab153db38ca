//! STORE (RFC 3501 §6.4.6).

use mailfile::{FlagChange, FlagMode, Flagged, MailFile};
use store::FolderId;

use super::{Command, permit_change};
use crate::grammar::{Bad, Cursor, FlagList, Parse, SequenceSet};
use crate::reply::{Done, Fault};
use crate::selected::{Selected, Tell};
use crate::session::Session;
use crate::text;
use session::Weight;

/// Messages changed by one record of the log.
const SLICE: u32 = 1_000;

pub(crate) struct Store {
    uid: bool,
    set: SequenceSet,
    silent: bool,
    change: FlagChange,
    /// Some of the messages are gone.
    missing: bool,
    /// Numbers or uids of those that somebody else changed meanwhile.
    conflicts: Vec<u32>,
}

impl Command for Store {
    type Found = ();

    fn parse(args: &mut Cursor<'_>, uid: bool) -> Parse<Self> {
        args.space()?;
        let set = SequenceSet::parse(args)?;
        args.space()?;
        let unchanged_since = unchanged_since(args)?;
        let mode = match (args.eat(b'+'), args.eat(b'-')) {
            (true, false) => FlagMode::Add,
            (false, true) => FlagMode::Remove,
            (false, false) => FlagMode::Replace,
            (true, true) => return Err(Bad("flags are either added or removed")),
        };
        let silent = args.eat_word("FLAGS.SILENT");
        if !silent && !args.eat_word("FLAGS") {
            return Err(Bad("FLAGS is missing"));
        }
        args.space()?;
        let marks = FlagList::parse_bare(args)?.0;
        let change = FlagChange { mode, marks, unchanged_since };
        Ok(Store { uid, set, silent, change, missing: false, conflicts: Vec::new() })
    }

    fn permit(&self, session: &Session) -> Result<(), Fault> {
        permit_change(session)
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        if self.change.unchanged_since.is_some() {
            session.enable(false);
        }
        let selected = session.open()?;
        let view = selected.view.clone();
        let mut left = selected.select(&self.set, self.uid);
        while let Some((start, end)) = left.take(SLICE) {
            let uids: Vec<u32> = view.slice(start..end).collect();
            let asked = uids.len();
            let weight = Weight::of_messages(asked);
            let (file, folder) = place(session.open()?);
            let change = self.change.clone();
            let work = move || file.change_flags(folder, &uids, &change);
            let written = session.run_work(weight, work).await??;
            session.out.saw(written.lsn);
            self.missing |= written.value.entries.len() < asked;
            self.tell_stored(session, &written.value);
            session.flush_if_full().await?;
        }
        match self.missing && self.conflicts.is_empty() {
            true => Err(Fault::no("EXPUNGEISSUED", "Some of the messages are gone")),
            false => Ok(()),
        }
    }

    fn answer(self, (): (), _session: &mut Session) -> Done {
        if self.conflicts.is_empty() {
            return Done::plain("Stored");
        }
        let mut code = b"MODIFIED ".to_vec();
        text::set(&self.conflicts, &mut code);
        let code = String::from_utf8(code).unwrap_or_default();
        Done::coded(code, "Somebody changed some of the messages meanwhile")
    }

    fn tell(&self) -> Tell {
        if self.uid { Tell::All } else { Tell::NoExpunge }
    }
}

impl Store {
    fn tell_stored(&mut self, session: &mut Session, flagged: &Flagged) {
        let Some(selected) = session.selected.as_deref_mut() else { return };
        let out = &mut session.out.bytes;
        let strangers = if self.silent { selected.strangers(flagged) } else { Vec::new() };
        selected.made(flagged);
        for entry in &flagged.entries {
            let Some(index) = selected.view.position(entry.uid) else { continue };
            if flagged.conflicts.binary_search(&entry.uid).is_ok() {
                self.conflicts.push(if self.uid { entry.uid } else { index + 1 });
                continue;
            }
            selected.announce(entry, out);
            let silent = self.silent && strangers.binary_search(&entry.uid).is_err();
            match (silent, selected.enabled.condstore) {
                (false, _) => selected.flags_line(index + 1, entry, out),
                (true, true) => selected.modseq_line(index + 1, entry, out),
                (true, false) => {}
            }
        }
    }
}

/// `(UNCHANGEDSINCE modseq)` and a space (RFC 7162 §3.1.3).
fn unchanged_since(args: &mut Cursor<'_>) -> Parse<Option<u64>> {
    if !args.eat(b'(') {
        return Ok(None);
    }
    if !args.eat_word("UNCHANGEDSINCE") {
        return Err(Bad("an unknown modifier"));
    }
    args.space()?;
    let modseq = args.modseq()?;
    args.expect(b')', "the modifiers do not end")?;
    args.space()?;
    Ok(Some(modseq))
}

fn place(selected: &Selected) -> (MailFile, FolderId) {
    (selected.file.clone(), selected.folder)
}
