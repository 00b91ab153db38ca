//! SELECT (RFC 3501 §6.3.1), and what EXAMINE shares with it.

use store::Folder;

use super::{Command, good_name};
use crate::grammar::{Cursor, Parse};
use crate::names::Name;
use crate::reply::{Done, Fault};
use crate::selected::{Selected, flags_of_mailbox, numbered};
use crate::session::Session;
use session::Weight;

pub(crate) struct Select {
    name: Name,
}

impl Command for Select {
    type Found = Folder;

    fn parse(args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        args.space()?;
        Ok(Select { name: args.mailbox()? })
    }

    async fn act(&mut self, session: &mut Session) -> Result<Folder, Fault> {
        open(session, &self.name, false).await
    }

    fn answer(self, folder: Folder, session: &mut Session) -> Done {
        opened(session, &folder)
    }
}

/// Opens a mailbox; the one that was open is closed, also when this fails.
pub(super) async fn open(
    session: &mut Session,
    name: &Name,
    read_only: bool,
) -> Result<Folder, Fault> {
    session.selected = None;
    session.seat.set_state("signed in");
    let name = good_name(name)?;
    let file = session.file()?;
    // Watched before it is read, so that no change falls between.
    let watched = Selected::watch(&file);
    let opened = file.clone();
    let read = session.run_work(Weight::Heavy, move || opened.open_folder(&name)).await??;
    session.out.saw(read.lsn);
    let folder = read.value.folder.clone();
    let first = match read_only {
        true => file.recent_from(&folder),
        false => file.claim_recent(&folder),
    };
    let mut selected = Selected::new(file, read.value, watched);
    selected.read_only = read_only;
    selected.add_recent(first, folder.uidnext);
    session.selected = Some(Box::new(selected));
    session.seat.set_state("mailbox open");
    Ok(folder)
}

/// Tells what was opened.
pub(super) fn opened(session: &mut Session, folder: &Folder) -> Done {
    let out = &mut session.out;
    let Some(selected) = session.selected.as_deref() else { return Done::plain("Closed") };
    flags_of_mailbox(&[], &mut out.bytes);
    let read_only = selected.read_only;
    out.line(match read_only {
        true => "* OK [PERMANENTFLAGS ()] Nothing may be changed",
        false => "* OK [PERMANENTFLAGS (\\Answered \\Flagged \\Deleted \\Seen \\Draft \\*)] Kept",
    });
    numbered(selected.view.len(), "EXISTS", &mut out.bytes);
    numbered(selected.recent_count(), "RECENT", &mut out.bytes);
    out.line(&format!("* OK [UIDVALIDITY {}] UIDs are valid", folder.uidvalidity));
    out.line(&format!("* OK [UIDNEXT {}] Next UID", folder.uidnext));
    let code = if read_only { "READ-ONLY" } else { "READ-WRITE" };
    Done::coded(String::from(code), "Opened")
}
