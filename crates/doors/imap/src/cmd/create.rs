//! CREATE (RFC 3501 §6.3.3), with a special use (RFC 6154 §3).

use super::{Command, good_name};
use crate::grammar::{Bad, Cursor, Parse};
use crate::names::{DELIMITER, Name};
use crate::reply::{Done, Fault};
use crate::session::Session;
use session::Weight;

/// The special uses that a mailbox may be given.
const USES: [&str; 6] = ["\\Archive", "\\Drafts", "\\Flagged", "\\Junk", "\\Sent", "\\Trash"];

pub(crate) struct Create {
    name: Name,
    special_use: Option<String>,
}

impl Command for Create {
    type Found = ();

    fn parse(args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        args.space()?;
        let name = args.mailbox()?;
        let special_use = if args.eat(b' ') { special_use(args)? } else { None };
        Ok(Create { name, special_use })
    }

    fn permit(&self, _session: &Session) -> Result<(), Fault> {
        match &self.special_use {
            Some(wanted) if !USES.contains(&wanted.as_str()) => {
                Err(Fault::no("USEATTR", "This special use is not known"))
            }
            _ => Ok(()),
        }
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        let name = good_name(&self.name)?;
        // A trailing delimiter only says that mailboxes will be created below.
        let name = name.strip_suffix(DELIMITER).unwrap_or(&name).to_owned();
        let (file, special_use) = (session.file()?, self.special_use.take());
        let work = move || file.create_folder(&name, special_use.as_deref());
        let written = session.run_work(Weight::Light, work).await??;
        session.out.saw(written.lsn);
        Ok(())
    }

    fn answer(self, (): (), _session: &mut Session) -> Done {
        Done::plain("Created")
    }
}

/// `(USE (\Sent))`.
fn special_use(args: &mut Cursor<'_>) -> Parse<Option<String>> {
    const WRONG: Bad = Bad("the special use is wrong");
    args.expect(b'(', WRONG.0)?;
    if !args.eat_word("USE") {
        return Err(WRONG);
    }
    args.space()?;
    args.expect(b'(', WRONG.0)?;
    let mut found = None;
    if !args.eat(b')') {
        args.expect(b'\\', WRONG.0)?;
        let word = format!("\\{}", args.atom()?);
        let known = USES.iter().find(|known| known.eq_ignore_ascii_case(&word));
        found = Some(known.map_or(word, |known| (*known).to_owned()));
        args.expect(b')', WRONG.0)?;
    }
    args.expect(b')', WRONG.0)?;
    Ok(found)
}
