//! STATUS (RFC 3501 §6.3.10), with SIZE (RFC 8438).

use super::{Command, good_name};
use crate::grammar::{Bad, Cursor, Parse};
use crate::names::{self, Name};
use crate::reply::{Done, Fault};
use crate::session::Session;
use crate::text;
use session::Weight;

/// What may be asked for.
const ITEMS: [&str; 7] =
    ["MESSAGES", "RECENT", "UIDNEXT", "UIDVALIDITY", "UNSEEN", "SIZE", "APPENDLIMIT"];

pub(crate) struct Status {
    name: Name,
    items: Vec<&'static str>,
}

impl Command for Status {
    type Found = (String, mailfile::Status);

    fn parse(args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        args.space()?;
        let name = args.mailbox()?;
        args.space()?;
        args.expect(b'(', "a list of items is missing")?;
        let mut items: Vec<&'static str> = Vec::new();
        loop {
            let word = args.name()?;
            let known = ITEMS.iter().find(|known| known.eq_ignore_ascii_case(word));
            let known = known.ok_or(Bad("an unknown status item"))?;
            if !items.contains(known) {
                items.push(known);
            }
            if args.eat(b')') {
                return Ok(Status { name, items });
            }
            args.space()?;
        }
    }

    async fn act(&mut self, session: &mut Session) -> Result<Self::Found, Fault> {
        let name = good_name(&self.name)?;
        let (file, asked) = (session.file()?, name.clone());
        let with_size = self.items.contains(&"SIZE");
        let read =
            session.run_work(Weight::Light, move || file.status(&asked, with_size)).await??;
        session.out.saw(read.lsn);
        Ok((name, read.value))
    }

    fn answer(self, (name, status): Self::Found, session: &mut Session) -> Done {
        let limit = session.settings().append_bytes_max;
        let out = &mut session.out.bytes;
        out.extend_from_slice(b"* STATUS ");
        names::print(&name, out);
        let folder = &status.folder;
        let mut before: &[u8] = b" (";
        for item in self.items {
            out.extend_from_slice(before);
            out.extend_from_slice(item.as_bytes());
            out.push(b' ');
            let value = match item {
                "MESSAGES" => folder.messages.into(),
                "RECENT" => status.recent.into(),
                "UIDNEXT" => folder.uidnext.into(),
                "UIDVALIDITY" => folder.uidvalidity.into(),
                "UNSEEN" => folder.unseen.into(),
                "SIZE" => status.size,
                _ => limit,
            };
            text::number(value, out);
            before = b" ";
        }
        out.extend_from_slice(b")\r\n");
        Done::plain("Counted")
    }
}
