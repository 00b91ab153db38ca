//! SELECT (RFC 3501 §6.3.1) and EXAMINE (§6.3.2), with CONDSTORE and QRESYNC (RFC 7162 §3.1.8,
//! §3.2.5).

use session::Weight;
use store::Folder;

use super::{Command, fetch, good_name};
use crate::fetch::{Item, Items, Run};
use crate::grammar::{Bad, Cursor, Parse, Selection, SequenceSet};
use crate::names::Name;
use crate::reply::{Done, Fault};
use crate::selected::{Ranges, Selected, flags_of_mailbox, numbered, vanished};
use crate::session::Session;

/// What both commands say.
struct Order {
    name: Name,
    condstore: bool,
    resync: Option<Resync>,
}

/// What a client knows of the mailbox from an earlier time.
struct Resync {
    uidvalidity: u32,
    modseq: u64,
    known: Option<SequenceSet>,
}

/// A mailbox that was opened.
pub(crate) struct Opened {
    folder: Folder,
    first_unseen: Option<u32>,
}

pub(crate) struct Select(Order);

pub(crate) struct Examine(Order);

impl Command for Select {
    type Found = ();

    fn parse(args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        Order::parse(args).map(Select)
    }

    fn permit(&self, session: &Session) -> Result<(), Fault> {
        self.0.permit(session)
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        self.0.carry_out(session, false).await
    }

    fn answer(self, (): (), _session: &mut Session) -> Done {
        Done::coded(String::from("READ-WRITE"), "Opened")
    }
}

impl Command for Examine {
    type Found = ();

    fn parse(args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        Order::parse(args).map(Examine)
    }

    fn permit(&self, session: &Session) -> Result<(), Fault> {
        self.0.permit(session)
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        self.0.carry_out(session, true).await
    }

    fn answer(self, (): (), _session: &mut Session) -> Done {
        Done::coded(String::from("READ-ONLY"), "Opened")
    }
}

impl Order {
    fn parse(args: &mut Cursor<'_>) -> Parse<Order> {
        args.space()?;
        let mut order = Order { name: args.mailbox()?, condstore: false, resync: None };
        if args.eat(b' ') && !args.is_at_end() {
            order.parameters(args)?;
        }
        Ok(order)
    }

    /// `(CONDSTORE)` or `(QRESYNC (…))`.
    fn parameters(&mut self, args: &mut Cursor<'_>) -> Parse<()> {
        args.expect(b'(', "the parameters are missing")?;
        loop {
            if args.eat_word("CONDSTORE") {
                self.condstore = true;
            } else if args.eat_word("QRESYNC") {
                args.space()?;
                self.resync = Some(Resync::parse(args)?);
            } else {
                return Err(Bad("an unknown parameter"));
            }
            if args.eat(b')') {
                return Ok(());
            }
            args.space()?;
        }
    }

    fn permit(&self, session: &Session) -> Result<(), Fault> {
        match self.resync.is_some() && !session.enabled().qresync {
            true => Err(Fault::Bad("QRESYNC is not enabled")),
            false => Ok(()),
        }
    }

    async fn carry_out(&self, session: &mut Session, read_only: bool) -> Result<(), Fault> {
        let opened = open(session, &self.name, read_only).await?;
        if self.condstore {
            session.switch_on(false);
        }
        tell(session, &opened);
        if let Some(resync) = &self.resync
            && resync.uidvalidity == opened.folder.uidvalidity
        {
            resync.carry_out(session).await?;
        }
        Ok(())
    }
}

impl Resync {
    /// `(uidvalidity modseq [known-uids] [(known-numbers known-uids)])`.
    fn parse(args: &mut Cursor<'_>) -> Parse<Resync> {
        args.expect(b'(', "what is known is missing")?;
        let uidvalidity = args.nz_number()?;
        args.space()?;
        let mut resync = Resync { uidvalidity, modseq: args.modseq()?, known: None };
        if args.eat(b')') {
            return Ok(resync);
        }
        args.space()?;
        if args.peek() != Some(b'(') {
            resync.known = Some(SequenceSet::parse(args)?);
            if args.eat(b')') {
                return Ok(resync);
            }
            args.space()?;
        }
        // Numbers that match uids would only help a server that forgot what was expunged.
        args.expect(b'(', "what is known does not end")?;
        SequenceSet::parse(args)?;
        args.space()?;
        SequenceSet::parse(args)?;
        args.expect(b')', "what is known does not end")?;
        args.expect(b')', "what is known does not end")?;
        Ok(resync)
    }

    /// Tells what the client missed: uids that went, and flags that changed.
    async fn carry_out(&self, session: &mut Session) -> Result<(), Fault> {
        let selected = session.open()?;
        let highest = selected.highest_uid();
        let known = match &self.known {
            Some(known) => known.uids(highest),
            None => vec![(1, u32::MAX)],
        };
        let missed = fetch::missed(session, self.modseq, known.clone(), true).await?;
        if !missed.gone.is_empty() {
            vanished("(EARLIER) ", &missed.gone, &mut session.out.bytes);
        }
        let selected = session.open()?;
        let left = match missed.changed {
            Some(changed) => Selection::of_uids(&selected.view, &Ranges::of(changed).0),
            None => Selection::of_uids(&selected.view, &known),
        };
        let items = Items(vec![Item::Uid, Item::Flags, Item::ModSeq]);
        let mut run = Box::new(Run::new(selected, left, items));
        run.changed_since = Some(self.modseq);
        fetch::pieces(session, run).await?;
        Ok(())
    }
}

/// Opens a mailbox; the one that was open is closed, also when this fails.
async fn open(session: &mut Session, name: &Name, read_only: bool) -> Result<Opened, Fault> {
    if session.selected.take().is_some() {
        // RFC 7162 §3.2.11.
        session.out.line("* OK [CLOSED] The mailbox before is closed");
    }
    session.seat.set_state("signed in");
    let name = good_name(name)?;
    let file = session.file()?;
    // Watched before it is read, so that no change falls between.
    let watched = Selected::watch(&file);
    let (opened, asked) = (file.clone(), name.clone());
    let quick = move || opened.open_small_folder(&asked);
    let read = match session.run_work(Weight::Light, quick).await?? {
        Some(read) => read,
        None => {
            let opened = file.clone();
            session.run_work(Weight::Heavy, move || opened.open_folder(&name)).await??
        }
    };
    session.out.saw(read.lsn);
    let (folder, first_unseen) = (read.value.folder.clone(), read.value.first_unseen);
    let first = match read_only {
        true => file.recent_from(&folder),
        false => file.claim_recent(&folder),
    };
    let mut selected = Selected::new(file, read.value, watched);
    selected.read_only = read_only;
    selected.enabled = session.enabled();
    selected.add_recent(first, folder.uidnext);
    session.selected = Some(Box::new(selected));
    session.seat.set_state("mailbox open");
    Ok(Opened { folder, first_unseen })
}

/// Tells what was opened.
fn tell(session: &mut Session, opened: &Opened) {
    let out = &mut session.out;
    let Some(selected) = session.selected.as_deref() else { return };
    let folder = &opened.folder;
    flags_of_mailbox(&[], &mut out.bytes);
    out.line(match selected.read_only {
        true => "* OK [PERMANENTFLAGS ()] Nothing may be changed",
        false => "* OK [PERMANENTFLAGS (\\Answered \\Flagged \\Deleted \\Seen \\Draft \\*)] Kept",
    });
    numbered(selected.view.len(), "EXISTS", &mut out.bytes);
    numbered(selected.recent_count(), "RECENT", &mut out.bytes);
    if let Some(index) = opened.first_unseen.and_then(|uid| selected.view.position(uid)) {
        out.line(&format!("* OK [UNSEEN {}] First unseen", index + 1));
    }
    out.line(&format!("* OK [UIDVALIDITY {}] UIDs are valid", folder.uidvalidity));
    out.line(&format!("* OK [UIDNEXT {}] Next UID", folder.uidnext));
    out.line(&format!("* OK [HIGHESTMODSEQ {}] Highest", folder.modseq));
}
