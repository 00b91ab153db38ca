//! STATUS (RFC 3501 §6.3.10), with SIZE (RFC 8438), APPENDLIMIT (RFC 7889) and HIGHESTMODSEQ
//! (RFC 7162).

use super::{Command, good_name};
use crate::grammar::{Bad, Cursor, Parse};
use crate::names::{self, Name};
use crate::reply::{Done, Fault};
use crate::session::Session;
use crate::text;
use session::Weight;

/// What may be asked for.
const ITEMS: [&str; 8] = [
    "MESSAGES",
    "RECENT",
    "UIDNEXT",
    "UIDVALIDITY",
    "UNSEEN",
    "SIZE",
    "APPENDLIMIT",
    "HIGHESTMODSEQ",
];

pub(crate) struct Status {
    name: Name,
    items: StatusItems,
}

/// What is asked for, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StatusItems(Vec<&'static str>);

impl StatusItems {
    /// `(item …)`.
    pub(super) fn parse(args: &mut Cursor<'_>) -> Parse<StatusItems> {
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
                return Ok(StatusItems(items));
            }
            args.space()?;
        }
    }

    pub(super) fn need_size(&self) -> bool {
        self.0.contains(&"SIZE")
    }

    pub(super) fn need_modseq(&self) -> bool {
        self.0.contains(&"HIGHESTMODSEQ")
    }

    /// Appends the untagged reply.
    pub(super) fn print(
        &self,
        name: &str,
        status: &mailfile::Status,
        append_limit: u64,
        out: &mut Vec<u8>,
    ) {
        out.extend_from_slice(b"* STATUS ");
        names::print(name, out);
        let folder = &status.folder;
        let mut before: &[u8] = b" (";
        for item in &self.0 {
            out.extend_from_slice(before);
            out.extend_from_slice(item.as_bytes());
            out.push(b' ');
            let value = match *item {
                "MESSAGES" => folder.messages.into(),
                "RECENT" => status.recent.into(),
                "UIDNEXT" => folder.uidnext.into(),
                "UIDVALIDITY" => folder.uidvalidity.into(),
                "UNSEEN" => folder.unseen.into(),
                "SIZE" => status.size,
                "HIGHESTMODSEQ" => folder.modseq,
                _ => append_limit,
            };
            text::number(value, out);
            before = b" ";
        }
        out.extend_from_slice(b")\r\n");
    }
}

impl Command for Status {
    type Found = (String, mailfile::Status);

    fn parse(args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        args.space()?;
        let name = args.mailbox()?;
        args.space()?;
        Ok(Status { name, items: StatusItems::parse(args)? })
    }

    async fn act(&mut self, session: &mut Session) -> Result<Self::Found, Fault> {
        if self.items.need_modseq() {
            session.enable(false);
        }
        let name = good_name(&self.name)?;
        let (file, asked) = (session.file()?, name.clone());
        let with_size = self.items.need_size();
        let weight = if with_size { Weight::Heavy } else { Weight::Light };
        let read = session.run_work(weight, move || file.status(&asked, with_size)).await??;
        session.out.saw(read.lsn);
        Ok((name, read.value))
    }

    fn answer(self, (name, status): Self::Found, session: &mut Session) -> Done {
        let limit = session.settings().append_bytes_max;
        self.items.print(&name, &status, limit, &mut session.out.bytes);
        Done::plain("Counted")
    }
}
