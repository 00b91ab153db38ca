//! FETCH (RFC 3501 §6.4.5): makes the answer in pieces and writes each when it is durable.

use std::collections::VecDeque;

use mailfile::MailError;
use txlog::Lsn;

use super::Command;
use crate::fetch::{Item, Items, Progress, Run};
use crate::grammar::{Cursor, Parse, SequenceSet};
use crate::reply::{Done, End, Fault};
use crate::selected::{Selected, Tell};
use crate::session::Session;
use crate::stats::Stats;
use session::Weight;

pub(crate) struct Fetch {
    uid: bool,
    set: SequenceSet,
    items: Items,
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
        Ok(Fetch { uid, set, items })
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        let run = Box::new(self.run(session.open()?));
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
        let view = selected.view.clone();
        let left = match self.uid {
            true => self.set.by_uid(&view),
            false => self.set.by_sequence(&view),
        };
        let mark_seen = !selected.read_only && self.items.set_seen();
        let mut items = self.items.clone();
        if mark_seen {
            // The client has to learn of \Seen (RFC 3501 §6.4.5).
            items.add(Item::Flags);
        }
        Run {
            file: selected.file.clone(),
            folder: selected.folder,
            view,
            left,
            items,
            mark_seen,
            recent: selected.recent().clone(),
            keywords: std::mem::take(selected.keywords_mut()),
            pending: Vec::new(),
            queue: VecDeque::new(),
            open: None,
            lsn: Lsn::ZERO,
            flagged: Vec::new(),
            torn: false,
            missing: 0,
            damaged: 0,
            written: 0,
        }
    }
}

/// Runs to the end; after each piece the client has to take it before the next is made.
async fn pieces(session: &mut Session, mut run: Box<Run>) -> Result<Box<Run>, Fault> {
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
