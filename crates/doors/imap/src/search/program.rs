//! What is searched for, and the search itself.

use mailfile::UidList;
use mailfile::search::Key;

use super::slices;
use crate::grammar::{Cursor, Parse, Scope, SearchKey};
use crate::reply::Fault;
use crate::session::Session;

/// Uids handed to the pool at once.
const UIDS: u32 = 20_000;

/// The charsets that BADCHARSET names; many more are known.
const CHARSETS: &str = "BADCHARSET (US-ASCII UTF-8 ISO-8859-1 ISO-8859-15 WINDOWS-1252 KOI8-R \
                        GB18030 BIG5 ISO-2022-JP SHIFT_JIS EUC-KR)";

/// A search as it was written.
pub(crate) struct Program {
    known_charset: bool,
    key: SearchKey,
}

impl Program {
    /// Parses `[CHARSET charset SP] search-key …`.
    pub(crate) fn parse(args: &mut Cursor<'_>) -> Parse<Program> {
        if args.eat_word("CHARSET") {
            args.space()?;
            return Program::parse_with_charset(args);
        }
        Ok(Program { known_charset: true, key: SearchKey::parse_all(args, "UTF-8")? })
    }

    /// Parses `charset SP search-key …`.
    pub(crate) fn parse_with_charset(args: &mut Cursor<'_>) -> Parse<Program> {
        let charset = String::from_utf8_lossy(&args.astring()?).into_owned();
        args.space()?;
        let known_charset = message::knows_charset(&charset);
        Ok(Program { known_charset, key: SearchKey::parse_all(args, &charset)? })
    }

    /// Whether the strings of the search can be read.
    pub(crate) fn permit(&self) -> Result<(), Fault> {
        match self.known_charset {
            true => Ok(()),
            false => Err(Fault::no(CHARSETS, "The charset is not known")),
        }
    }

    /// The key for the open mailbox. One that asks for modseqs switches them on.
    pub(crate) fn resolve(&self, session: &mut Session) -> Result<(UidList, Key), Fault> {
        let now_us = session.door.parts.store.now().0;
        let selected = session.open()?;
        let view = selected.view.clone();
        let scope =
            Scope { view: &view, recent: selected.recent(), saved: &selected.saved, now_us };
        let key = self.key.resolve(&scope);
        if key.asks_modseq() {
            session.enable(false);
        }
        Ok((view, key))
    }
}

/// The uids that the key finds in `view`, ascending.
pub(crate) async fn find(
    session: &mut Session,
    view: &UidList,
    key: Key,
) -> Result<Vec<u32>, Fault> {
    let mut found = Vec::new();
    let mut key = key;
    for (first, last) in key.uid_bounds() {
        let end = last.checked_add(1).map_or(view.len(), |past| view.lower_bound(past));
        let mut at = view.lower_bound(first);
        if key.is_only_uids() {
            found.extend(view.slice(at..end));
            continue;
        }
        while at < end {
            let to = end.min(at.saturating_add(UIDS));
            let uids: Vec<u32> = view.slice(at..to).collect();
            let state = (key, found);
            (key, found) = slices(session, uids, state, |file, folder, uids, (key, found)| {
                let step = file.search(folder, uids, key)?;
                found.extend(step.value.found);
                Ok(store::Read { value: step.value.done, lsn: step.lsn })
            })
            .await?;
            at = to;
        }
    }
    Ok(found)
}
