//! STORE (RFC 3501 §6.4.6).

use mailfile::{FlagChange, FlagMode, Flagged, MailFile};
use store::FolderId;

use super::{Command, permit_change};
use crate::grammar::{Bad, Cursor, FlagList, Parse, Selection, SequenceSet};
use crate::reply::{Done, Fault};
use crate::selected::{Selected, Tell, flags_line};
use crate::session::Session;
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
}

impl Command for Store {
    type Found = ();

    fn parse(args: &mut Cursor<'_>, uid: bool) -> Parse<Self> {
        args.space()?;
        let set = SequenceSet::parse(args)?;
        args.space()?;
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
        Ok(Store { uid, set, silent, change: FlagChange { mode, marks }, missing: false })
    }

    fn permit(&self, session: &Session) -> Result<(), Fault> {
        permit_change(session)
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        let view = session.open()?.view.clone();
        let mut left: Selection = match self.uid {
            true => self.set.by_uid(&view),
            false => self.set.by_sequence(&view),
        };
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
        match self.missing {
            true => Err(Fault::no("EXPUNGEISSUED", "Some of the messages are gone")),
            false => Ok(()),
        }
    }

    fn answer(self, (): (), _session: &mut Session) -> Done {
        Done::plain("Stored")
    }

    fn tell(&self) -> Tell {
        if self.uid { Tell::All } else { Tell::NoExpunge }
    }
}

impl Store {
    fn tell_stored(&self, session: &mut Session, flagged: &Flagged) {
        let Some(selected) = session.selected.as_deref_mut() else { return };
        let out = &mut session.out.bytes;
        selected.made(flagged);
        for entry in &flagged.entries {
            selected.announce(entry, out);
            if self.silent {
                continue;
            }
            let recent = selected.recent().contains(entry.uid);
            if let Some(index) = selected.view.position(entry.uid) {
                flags_line(index + 1, entry, recent, out);
            }
        }
    }
}

fn place(selected: &Selected) -> (MailFile, FolderId) {
    (selected.file.clone(), selected.folder)
}
