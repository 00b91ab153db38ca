//! SEARCH (RFC 3501 §6.4.4) with ESEARCH (RFC 4731), SEARCHRES (RFC 5182) and MODSEQ (RFC 7162).

use super::Command;
use crate::grammar::{Cursor, Parse};
use crate::reply::{Done, Fault};
use crate::search::{Program, Returns, find};
use crate::selected::{Ranges, Tell};
use crate::session::{OUT_BYTES, Session};
use crate::text;
use session::Weight;

/// Ranges of uids that a session may have saved.
const SAVED_MAX: usize = 20_000;

pub(crate) struct Search {
    uid: bool,
    /// What the result tells; `None` = the classic answer.
    returns: Option<Returns>,
    program: Program,
}

/// What was found.
pub(crate) struct Found {
    /// Sequence numbers or uids.
    numbers: Vec<u32>,
    /// The highest modseq among them, when one was asked for.
    modseq: Option<u64>,
}

impl Command for Search {
    type Found = Found;

    fn parse(args: &mut Cursor<'_>, uid: bool) -> Parse<Self> {
        args.space()?;
        let returns = Returns::parse(args)?;
        Ok(Search { uid, returns, program: Program::parse(args)? })
    }

    fn permit(&self, _session: &Session) -> Result<(), Fault> {
        self.program.permit()
    }

    async fn act(&mut self, session: &mut Session) -> Result<Found, Fault> {
        let saves = self.returns.is_some_and(|returns| returns.save);
        let resolved = self.program.resolve(session)?;
        if saves {
            // A search that fails saves nothing (RFC 5182 §2.1).
            session.open()?.saved = Ranges::default();
        }
        let (view, key) = resolved;
        let asks_modseq = key.asks_modseq();
        let uids = find(session, &view, key).await?;
        let returns = self.returns.unwrap_or_default();
        let modseq = match asks_modseq {
            true => highest_modseq(session, returns.told(&uids)).await?,
            false => None,
        };
        if saves {
            save(session, returns.saved(&uids))?;
        }
        let number = |uid: u32| view.position(uid).map(|at| at + 1);
        let numbers = match self.uid {
            true => uids,
            false => uids.into_iter().filter_map(number).collect(),
        };
        Ok(Found { numbers, modseq })
    }

    fn answer(self, Found { numbers, modseq }: Found, session: &mut Session) -> Done {
        let line = session.line.clone();
        let out = &mut session.out.bytes;
        match self.returns {
            None => classic("SEARCH", &numbers, modseq, out),
            Some(returns) if returns.is_silent() => {}
            Some(returns) => {
                let tag = Cursor::new(&line).tag().unwrap_or_default();
                returns.print((tag, self.uid), &numbers, modseq, out);
            }
        }
        Done::plain("Searched")
    }

    fn tell(&self) -> Tell {
        if self.uid { Tell::All } else { Tell::NoExpunge }
    }
}

/// Appends `* WORD number …`.
pub(super) fn classic(word: &str, numbers: &[u32], modseq: Option<u64>, out: &mut Vec<u8>) {
    out.reserve(numbers.len().min(OUT_BYTES) * 7);
    out.extend_from_slice(b"* ");
    out.extend_from_slice(word.as_bytes());
    for number in numbers {
        out.push(b' ');
        text::number((*number).into(), out);
    }
    if let Some(modseq) = modseq {
        out.extend_from_slice(b" (MODSEQ ");
        text::number(modseq, out);
        out.push(b')');
    }
    out.extend_from_slice(b"\r\n");
}

/// Makes `ranges` what `$` stands for.
pub(super) fn save(session: &mut Session, ranges: Ranges) -> Result<(), Fault> {
    if ranges.0.len() > SAVED_MAX {
        return Err(Fault::no("NOTSAVED", "The result is too large to be saved"));
    }
    session.open()?.saved = ranges;
    Ok(())
}

/// The highest modseq of these messages; `None` when there is none of them.
pub(super) async fn highest_modseq(
    session: &mut Session,
    uids: Vec<&[u32]>,
) -> Result<Option<u64>, Fault> {
    let mut highest = None;
    for uids in uids.into_iter().flat_map(|uids| uids.chunks(UIDS)) {
        let selected = session.open()?;
        let (file, folder, uids) = (selected.file.clone(), selected.folder, uids.to_vec());
        let weight = Weight::of_messages(uids.len());
        let read = session.run_work(weight, move || file.entries(folder, &uids)).await??;
        session.out.saw(read.lsn);
        highest = highest.max(read.value.iter().map(|entry| entry.modseq).max());
    }
    Ok(highest)
}

/// Messages whose modseqs are looked up at once.
const UIDS: usize = 1_000;
