//! FETCH (RFC 3501 §6.4.5, RFC 7162): makes the answer in pieces and writes each when it is
//! durable.

use mailfile::{MailError, Missed};

use super::Command;
use crate::fetch::{Item, Items, Progress, Run};
use crate::grammar::{Bad, Cursor, Parse, Selection, SequenceSet};
use crate::reply::{Done, End, Fault};
use crate::selected::{Ranges, Selected, Tell, vanished};
use crate::session::Session;
use crate::stats::Stats;
use session::Weight;

pub(crate) struct Fetch {
    uid: bool,
    set: SequenceSet,
    items: Items,
    modifiers: Modifiers,
}

/// What restricts a FETCH to news (RFC 7162 §3.1.4.1, §3.2.6).
#[derive(Clone, Copy, Debug, Default)]
struct Modifiers {
    changed_since: Option<u64>,
    /// Tell of uids that went since then.
    vanished: bool,
}

impl Command for Fetch {
    type Found = ();

    fn parse(args: &mut Cursor<'_>, uid: bool) -> Parse<Self> {
        args.space()?;
        let set = SequenceSet::parse(args)?;
        args.space()?;
        let mut items = Items::parse(args)?;
        if uid {
            items.add(Item::Uid);
        }
        let modifiers = if args.eat(b' ') { modifiers(args)? } else { Modifiers::default() };
        if modifiers.changed_since.is_some() {
            items.add(Item::ModSeq);
        }
        if modifiers.vanished && !(uid && modifiers.changed_since.is_some()) {
            return Err(Bad("VANISHED needs UID FETCH and CHANGEDSINCE"));
        }
        Ok(Fetch { uid, set, items, modifiers })
    }

    fn permit(&self, session: &Session) -> Result<(), Fault> {
        match self.modifiers.vanished && !session.enabled().qresync {
            true => Err(Fault::Bad("QRESYNC is not enabled")),
            false => Ok(()),
        }
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        if self.items.need_modseq() {
            session.enable(false);
        }
        let mut run = Box::new(self.run(session.open()?));
        if let Some(since) = self.modifiers.changed_since {
            self.restrict(session, &mut run, since).await?;
        }
        let run = pieces(session, run).await?;
        Stats::add(&session.stats().messages_fetched, run.written);
        if run.damaged > 0 {
            return Err(Fault::no("CORRUPTION", "Some of the messages cannot be read"));
        }
        if run.missing > 0 {
            return Err(Fault::no("EXPUNGEISSUED", "Some of the messages are gone"));
        }
        Ok(())
    }

    fn answer(self, (): (), _session: &mut Session) -> Done {
        Done::plain("Fetched")
    }

    fn tell(&self) -> Tell {
        if self.uid { Tell::All } else { Tell::NoExpunge }
    }
}

impl Fetch {
    fn run(&self, selected: &mut Selected) -> Run {
        let left = selected.select(&self.set, self.uid);
        let mark_seen = !selected.read_only && self.items.set_seen();
        let mut items = self.items.clone();
        if mark_seen {
            // The client has to learn of \Seen (RFC 3501 §6.4.5).
            items.add(Item::Flags);
        }
        // Flags and modseq go together once modseqs are told (RFC 7162 §3.1).
        if selected.enabled.condstore && items.0.contains(&Item::Flags) {
            items.add(Item::ModSeq);
        }
        Run { mark_seen, ..Run::new(selected, left, items) }
    }

    /// Takes out of the run what did not change, and tells of uids that went.
    async fn restrict(
        &self,
        session: &mut Session,
        run: &mut Run,
        since: u64,
    ) -> Result<(), Fault> {
        let known = match (self.uid, self.set.is_saved) {
            // The highest uid may be among those that went.
            (true, false) => self.set.uids(session.open()?.highest_uid()),
            _ => run.left.uid_ranges(&run.view),
        };
        let missed = missed(session, since, known, self.modifiers.vanished).await?;
        if !missed.gone.is_empty() {
            vanished("(EARLIER) ", &missed.gone, &mut session.out.bytes);
        }
        run.changed_since = Some(since);
        if let Some(changed) = missed.changed {
            run.left = Selection::of_uids(&run.view, &Ranges::of(changed).0);
        }
        Ok(())
    }
}

/// What happened to the open mailbox since a modseq.
pub(super) async fn missed(
    session: &mut Session,
    since: u64,
    known: Vec<(u32, u32)>,
    with_gone: bool,
) -> Result<Missed, Fault> {
    let selected = session.open()?;
    let (file, folder) = (selected.file.clone(), selected.folder);
    let work = move || file.missed(folder, since, &known, with_gone);
    let read = session.run_work(Weight::Light, work).await??;
    session.out.saw(read.lsn);
    Ok(read.value)
}

/// `(CHANGEDSINCE modseq VANISHED)`.
fn modifiers(args: &mut Cursor<'_>) -> Parse<Modifiers> {
    let mut found = Modifiers::default();
    args.expect(b'(', "the modifiers are missing")?;
    loop {
        if args.eat_word("VANISHED") {
            found.vanished = true;
        } else if args.eat_word("CHANGEDSINCE") {
            args.space()?;
            found.changed_since = Some(args.modseq()?);
        } else {
            return Err(Bad("an unknown modifier"));
        }
        if args.eat(b')') {
            return Ok(found);
        }
        args.space()?;
    }
}

/// Runs to the end; after each piece the client has to take it before the next is made.
pub(super) async fn pieces(session: &mut Session, mut run: Box<Run>) -> Result<Box<Run>, Fault> {
    let weight = Weight::of_messages(run.left.len() as usize);
    loop {
        let mut out = std::mem::take(&mut session.out.bytes);
        let filled = session.run_work(weight, move || {
            let progress = run.fill(&mut out);
            (run, out, progress)
        });
        let (back, out, progress) = filled.await?;
        run = back;
        session.out.bytes = out;
        session.out.saw(run.lsn);
        take_over(session, &mut run);
        match progress {
            Ok(Progress::Done) => return Ok(run),
            Ok(Progress::More) => session.flush_if_full().await?,
            Err(error) => return Err(broken_off(&run, error)),
        }
    }
}

/// Hands what the run learned back to the mailbox.
fn take_over(session: &mut Session, run: &mut Run) {
    let Some(selected) = session.selected.as_deref_mut() else { return };
    for flagged in run.flagged.drain(..) {
        selected.made(&flagged);
    }
    selected.keywords_mut().clone_from(&run.keywords);
}

/// Within a literal nothing but its bytes can be said: the connection ends.
fn broken_off(run: &Run, error: MailError) -> Fault {
    let fault = Fault::from(error);
    if run.torn { Fault::End(End::Silent) } else { fault }
}
