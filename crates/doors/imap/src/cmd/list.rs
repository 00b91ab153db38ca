//! LIST (RFC 3501 §6.3.8) with RFC 5258 (LIST-EXTENDED), special use always shown (RFC 6154), and
//! STATUS of what is listed (RFC 5819).

use std::collections::HashMap;

use mailfile::Status;
use session::Weight;

use super::Command;
use super::status::StatusItems;
use crate::grammar::{Bad, Cursor, Parse};
use crate::listing::{Choice, Shown, select};
use crate::names::Pattern;
use crate::reply::{Done, Fault};
use crate::session::Session;

/// Patterns or options in one command at most.
const PATTERNS_MAX: usize = 100;
/// Mailboxes whose status is read at once.
const STATUSES: usize = 100;

pub(crate) struct List {
    patterns: Vec<Pattern>,
    choice: Choice,
    /// What to tell of each mailbox that is listed.
    status: Option<StatusItems>,
    /// The pattern was empty: only the delimiter is asked for.
    delimiter_only: bool,
}

#[derive(Default)]
pub(crate) struct Found {
    shown: Vec<Shown>,
    statuses: HashMap<String, Status>,
}

impl Command for List {
    type Found = Found;

    fn parse(args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        args.space()?;
        let mut choice = Choice::default();
        if args.peek() == Some(b'(') {
            selection(args, &mut choice)?;
            args.space()?;
        }
        let reference = args.astring()?;
        args.space()?;
        choice.extended |= args.peek() == Some(b'(');
        let raw = patterns(args)?;
        let mut status = None;
        if args.eat(b' ') && !args.is_at_end() {
            if !args.eat_word("RETURN") {
                return Err(Bad("RETURN is missing"));
            }
            args.space()?;
            status = returns(args, &mut choice)?;
        }
        let pattern = |raw: &Vec<u8>| Pattern::new(&reference, raw);
        Ok(List {
            delimiter_only: raw.len() == 1 && raw[0].is_empty(),
            patterns: raw.iter().map(pattern).collect(),
            choice,
            status,
        })
    }

    async fn act(&mut self, session: &mut Session) -> Result<Found, Fault> {
        if self.delimiter_only {
            return Ok(Found::default());
        }
        let with_orphans = self.choice.subscribed_only;
        let file = session.file()?;
        let work = move || {
            let folders = file.folders()?;
            let orphans = match with_orphans {
                true => file.orphaned_subscriptions()?.value,
                false => Vec::new(),
            };
            Ok::<_, store::StoreError>((folders, orphans))
        };
        let (folders, orphans) = session.run_work(Weight::Light, work).await??;
        session.out.saw(folders.lsn);
        let shown = select(&folders.value, &orphans, &self.choice, &self.patterns);
        let statuses = match &self.status {
            Some(items) => statuses(session, &shown, items).await?,
            None => HashMap::new(),
        };
        Ok(Found { shown, statuses })
    }

    fn answer(self, found: Found, session: &mut Session) -> Done {
        let limit = session.settings().append_bytes_max;
        let out = &mut session.out.bytes;
        if self.delimiter_only {
            out.extend_from_slice(b"* LIST (\\Noselect) \"/\" \"\"\r\n");
        }
        for shown in &found.shown {
            shown.print(out);
            if let (Some(items), Some(status)) = (&self.status, found.statuses.get(&shown.name)) {
                items.print(&shown.name, status, limit, out);
            }
        }
        Done::plain("Listed")
    }
}

/// The status of each mailbox that is shown; one that is gone meanwhile has none.
async fn statuses(
    session: &mut Session,
    shown: &[Shown],
    items: &StatusItems,
) -> Result<HashMap<String, Status>, Fault> {
    if items.need_modseq() {
        session.enable(false);
    }
    let with_size = items.need_size();
    let names = shown.iter().filter(|shown| shown.exists).map(|shown| shown.name.clone());
    let names: Vec<String> = names.collect();
    let mut found = HashMap::new();
    for some in names.chunks(STATUSES) {
        let (file, some) = (session.file()?, some.to_vec());
        let weight = if with_size || some.len() > 20 { Weight::Heavy } else { Weight::Light };
        let work = move || {
            let status = |name: String| Some((file.status(&name, with_size).ok()?, name));
            some.into_iter().filter_map(status).collect::<Vec<_>>()
        };
        for (read, name) in session.run_work(weight, work).await? {
            session.out.saw(read.lsn);
            found.insert(name, read.value);
        }
        session.still_wanted().await?;
    }
    Ok(found)
}

/// `([selection-option …])`.
fn selection(args: &mut Cursor<'_>, choice: &mut Choice) -> Parse<()> {
    choice.extended = true;
    let mut is_base = false;
    args.expect(b'(', "a list of options is missing")?;
    for at in 0..PATTERNS_MAX {
        if args.eat(b')') {
            return match choice.recursive && !is_base {
                true => Err(Bad("RECURSIVEMATCH needs another option that selects")),
                false => Ok(()),
            };
        }
        if at > 0 {
            args.space()?;
        }
        match args.atom()?.to_ascii_uppercase().as_str() {
            "SUBSCRIBED" => {
                (choice.subscribed_only, choice.show_subscribed, is_base) = (true, true, true);
            }
            "SPECIAL-USE" => (choice.special_only, is_base) = (true, true),
            "RECURSIVEMATCH" => choice.recursive = true,
            // There are no mailboxes on other servers.
            "REMOTE" => {}
            _ => return Err(Bad("an unknown selection option")),
        }
    }
    Err(Bad("too many options"))
}

/// `([return-option …])`.
fn returns(args: &mut Cursor<'_>, choice: &mut Choice) -> Parse<Option<StatusItems>> {
    choice.extended = true;
    let mut status = None;
    args.expect(b'(', "a list of options is missing")?;
    for at in 0..PATTERNS_MAX {
        if args.eat(b')') {
            return Ok(status);
        }
        if at > 0 {
            args.space()?;
        }
        match args.atom()?.to_ascii_uppercase().as_str() {
            "SUBSCRIBED" => choice.show_subscribed = true,
            // Both are told always.
            "CHILDREN" | "SPECIAL-USE" => {}
            "STATUS" => {
                args.space()?;
                status = Some(StatusItems::parse(args)?);
            }
            _ => return Err(Bad("an unknown return option")),
        }
    }
    Err(Bad("too many options"))
}

/// One pattern, or several in parentheses.
fn patterns(args: &mut Cursor<'_>) -> Parse<Vec<Vec<u8>>> {
    if !args.eat(b'(') {
        return Ok(vec![args.pattern()?.into_owned()]);
    }
    let mut patterns = vec![args.pattern()?.into_owned()];
    while args.eat(b' ') {
        patterns.push(args.pattern()?.into_owned());
        if patterns.len() > PATTERNS_MAX {
            return Err(Bad("too many patterns"));
        }
    }
    args.expect(b')', "a list of patterns does not end")?;
    Ok(patterns)
}
