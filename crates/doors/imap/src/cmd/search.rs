//! SEARCH (RFC 3501 §6.4.4) with ESEARCH (RFC 4731).

use mailfile::UidList;
use mailfile::search::Key;

use super::Command;
use crate::grammar::{Bad, Cursor, Parse, SearchKey};
use crate::reply::{Done, Fault};
use crate::selected::Tell;
use crate::session::{OUT_BYTES, Session};
use crate::text;
use session::Weight;

/// One slice of searching on the pool.
const SLICE_MS: u128 = 20;
/// Uids handed to the pool at once.
const UIDS: u32 = 20_000;

pub(crate) struct Search {
    uid: bool,
    /// ESEARCH: what the result tells; `None` = the classic answer.
    returns: Option<Returns>,
    known_charset: bool,
    key: SearchKey,
}

/// What an ESEARCH result tells.
#[derive(Clone, Copy, Debug, Default)]
struct Returns {
    min: bool,
    max: bool,
    all: bool,
    count: bool,
}

impl Command for Search {
    type Found = Vec<u32>;

    fn parse(args: &mut Cursor<'_>, uid: bool) -> Parse<Self> {
        args.space()?;
        let mut returns = None;
        if args.eat_word("RETURN") {
            args.space()?;
            returns = Some(Returns::parse(args)?);
            args.space()?;
        }
        let mut known_charset = true;
        if args.eat_word("CHARSET") {
            args.space()?;
            let charset = args.astring()?;
            let known = ["US-ASCII", "UTF-8"];
            known_charset = known.iter().any(|name| charset.eq_ignore_ascii_case(name.as_bytes()));
            args.space()?;
        }
        Ok(Search { uid, returns, known_charset, key: SearchKey::parse_all(args)? })
    }

    fn permit(&self, _session: &Session) -> Result<(), Fault> {
        match self.known_charset {
            true => Ok(()),
            false => Err(Fault::no("BADCHARSET (US-ASCII UTF-8)", "The charset is not known")),
        }
    }

    /// Gives sequence numbers or uids.
    async fn act(&mut self, session: &mut Session) -> Result<Vec<u32>, Fault> {
        let selected = session.open()?;
        let view = selected.view.clone();
        let key = self.key.resolve(&view, selected.recent());
        let found = search(session, &view, key).await?;
        if self.uid {
            return Ok(found);
        }
        Ok(found.into_iter().filter_map(|uid| view.position(uid)).map(|at| at + 1).collect())
    }

    fn answer(self, found: Vec<u32>, session: &mut Session) -> Done {
        let line = session.line.clone();
        let out = &mut session.out.bytes;
        match self.returns {
            None => {
                out.reserve(found.len().min(OUT_BYTES) * 7);
                out.extend_from_slice(b"* SEARCH");
                for number in found {
                    out.push(b' ');
                    text::number(number.into(), out);
                }
                out.extend_from_slice(b"\r\n");
            }
            Some(returns) => {
                let tag = Cursor::new(&line).tag().unwrap_or_default();
                returns.print(tag, self.uid, &found, out);
            }
        }
        Done::plain("Searched")
    }

    fn tell(&self) -> Tell {
        if self.uid { Tell::All } else { Tell::NoExpunge }
    }
}

impl Returns {
    fn parse(args: &mut Cursor<'_>) -> Parse<Returns> {
        args.expect(b'(', "a list of results is missing")?;
        let mut returns = Returns::default();
        let mut any = false;
        while !args.eat(b')') {
            if any {
                args.space()?;
            }
            any = true;
            match args.atom()?.to_ascii_uppercase().as_str() {
                "MIN" => returns.min = true,
                "MAX" => returns.max = true,
                "ALL" => returns.all = true,
                "COUNT" => returns.count = true,
                _ => return Err(Bad("an unknown result")),
            }
        }
        // Nothing asked for means ALL.
        returns.all |= !any;
        Ok(returns)
    }

    fn print(self, tag: &str, uid: bool, found: &[u32], out: &mut Vec<u8>) {
        out.extend_from_slice(b"* ESEARCH (TAG ");
        text::quoted(tag.as_bytes(), out);
        out.push(b')');
        if uid {
            out.extend_from_slice(b" UID");
        }
        let mut number = |word: &[u8], value: Option<&u32>| {
            if let Some(value) = value {
                out.extend_from_slice(word);
                text::number((*value).into(), out);
            }
        };
        let count = found.len() as u32;
        number(b" MIN ", found.first().filter(|_| self.min));
        number(b" MAX ", found.last().filter(|_| self.max));
        number(b" COUNT ", Some(&count).filter(|_| self.count));
        if self.all && !found.is_empty() {
            out.extend_from_slice(b" ALL ");
            text::set(found, out);
        }
        out.extend_from_slice(b"\r\n");
    }
}

/// The uids that the key finds in `view`, in slices of time on the pool.
async fn search(session: &mut Session, view: &UidList, key: Key) -> Result<Vec<u32>, Fault> {
    let mut found = Vec::new();
    for (first, last) in key.uid_bounds() {
        let end = last.checked_add(1).map_or(view.len(), |past| view.lower_bound(past));
        let mut at = view.lower_bound(first);
        if key.is_only_uids() {
            found.extend(view.slice(at..end));
            continue;
        }
        while at < end {
            let uids: Vec<u32> = view.slice(at..end.min(at + UIDS)).collect();
            let (slice, done) = search_slice(session, uids, &key).await?;
            found.extend(slice);
            at += done as u32;
        }
    }
    Ok(found)
}

async fn search_slice(
    session: &mut Session,
    uids: Vec<u32>,
    key: &Key,
) -> Result<(Vec<u32>, usize), Fault> {
    let selected = session.open()?;
    let (file, folder, key) = (selected.file.clone(), selected.folder, key.clone());
    let work = move || {
        let started = std::time::Instant::now();
        let (mut found, mut done, mut lsn) = (Vec::new(), 0, txlog::Lsn::ZERO);
        while done < uids.len() && started.elapsed().as_millis() < SLICE_MS {
            let step = file.search(folder, &uids[done..], &key)?;
            found.extend(step.value.found);
            done += step.value.done;
            lsn = lsn.max(step.lsn);
        }
        Ok::<_, mailfile::MailError>((found, done, lsn))
    };
    let (found, done, lsn) = session.run_work(Weight::Heavy, work).await??;
    session.out.saw(lsn);
    Ok((found, done))
}
