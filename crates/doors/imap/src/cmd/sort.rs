//! SORT (RFC 5256), with ESORT (RFC 5267 §3) and SORT=DISPLAY (RFC 5957).

use mailfile::{Criterion, SortKey, Sorter};

use super::Command;
use super::search::{classic, highest_modseq, save};
use crate::grammar::{Bad, Cursor, Parse};
use crate::reply::{Done, Fault};
use crate::search::{Program, Returns, find, slices};
use crate::selected::{Ranges, Tell};
use crate::session::Session;

/// Criteria of one command at most.
const CRITERIA_MAX: usize = 20;

/// Bytes that what is kept of one message is taken to need.
const KEY_BYTES: u64 = 256;

const KEYS: [(&str, SortKey); 9] = [
    ("ARRIVAL", SortKey::Arrival),
    ("CC", SortKey::Cc),
    ("DATE", SortKey::Date),
    ("DISPLAYFROM", SortKey::DisplayFrom),
    ("DISPLAYTO", SortKey::DisplayTo),
    ("FROM", SortKey::From),
    ("SIZE", SortKey::Size),
    ("SUBJECT", SortKey::Subject),
    ("TO", SortKey::To),
];

pub(crate) struct Sort {
    uid: bool,
    returns: Option<Returns>,
    criteria: Vec<Criterion>,
    program: Program,
}

/// What was found, in order.
pub(crate) struct Found {
    numbers: Vec<u32>,
    modseq: Option<u64>,
}

impl Command for Sort {
    type Found = Found;

    fn parse(args: &mut Cursor<'_>, uid: bool) -> Parse<Self> {
        args.space()?;
        let returns = Returns::parse(args)?;
        let criteria = criteria(args)?;
        args.space()?;
        Ok(Sort { uid, returns, criteria, program: Program::parse_with_charset(args)? })
    }

    fn permit(&self, _session: &Session) -> Result<(), Fault> {
        self.program.permit()
    }

    async fn act(&mut self, session: &mut Session) -> Result<Found, Fault> {
        let saves = self.returns.is_some_and(|returns| returns.save);
        let (view, key) = self.program.resolve(session)?;
        if saves {
            session.open()?.saved = Ranges::default();
        }
        let asks_modseq = key.asks_modseq();
        let uids = find(session, &view, key).await?;
        let _room = room(session, uids.len())?;
        let sorter = Sorter::new(self.criteria.clone());
        let sorter = slices(session, uids, sorter, |file, folder, uids, sorter| {
            Ok(file.sort_step(folder, uids, sorter)?)
        });
        let mut uids = sorter.await?.finish();
        let returns = self.returns.unwrap_or_default();
        let modseq = match asks_modseq {
            true => highest_modseq(session, returns.told(&uids)).await?,
            false => None,
        };
        if saves {
            let mut saved: Vec<u32> = returns.told(&uids).concat();
            saved.sort_unstable();
            saved.dedup();
            save(session, Ranges::of(saved))?;
        }
        if !self.uid {
            uids.iter_mut().for_each(|uid| *uid = view.lower_bound(*uid) + 1);
        }
        Ok(Found { numbers: uids, modseq })
    }

    fn answer(self, Found { numbers, modseq }: Found, session: &mut Session) -> Done {
        let line = session.line.clone();
        let out = &mut session.out.bytes;
        match self.returns {
            None => classic("SORT", &numbers, modseq, out),
            Some(returns) if returns.is_silent() => {}
            Some(returns) => {
                let tag = Cursor::new(&line).tag().unwrap_or_default();
                returns.print((tag, self.uid), &numbers, modseq, out);
            }
        }
        Done::plain("Sorted")
    }

    fn tell(&self) -> Tell {
        if self.uid { Tell::All } else { Tell::NoExpunge }
    }
}

/// `([REVERSE] key …)`.
fn criteria(args: &mut Cursor<'_>) -> Parse<Vec<Criterion>> {
    args.expect(b'(', "the criteria are missing")?;
    let mut criteria = Vec::new();
    loop {
        let reverse = args.eat_word("REVERSE");
        if reverse {
            args.space()?;
        }
        let word = args.name()?;
        let known = KEYS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
        let (_, key) = known.ok_or(Bad("an unknown sort criterion"))?;
        criteria.push(Criterion { key: *key, reverse });
        if criteria.len() > CRITERIA_MAX {
            return Err(Bad("too many criteria"));
        }
        if args.eat(b')') {
            return Ok(criteria);
        }
        args.space()?;
    }
}

/// Room for the keys of so many messages, out of the server's budget.
pub(super) fn room(session: &Session, messages: usize) -> Result<Option<session::Taken>, Fault> {
    const FREE_MESSAGES: usize = 1_000;
    if messages <= FREE_MESSAGES {
        return Ok(None);
    }
    match session.door.parts.budget.try_take(messages as u64 * KEY_BYTES) {
        Some(taken) => Ok(Some(taken)),
        None => Err(Fault::no("UNAVAILABLE", "There is too little room now, please try later")),
    }
}
