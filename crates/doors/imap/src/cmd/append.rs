//! APPEND (RFC 3501 §6.3.11) with UIDPLUS (RFC 4315).

use std::ops::Range;

use mailfile::{Appended, Marks};
use note::TimeDate;

use super::{Command, good_name};
use crate::grammar::{Bad, Cursor, FlagList, Parse, parse_date_time};
use crate::names::Name;
use crate::reply::{Done, Fault, try_create};
use crate::session::Session;
use crate::stats::Stats;
use session::Weight;

pub(crate) struct Append {
    name: Name,
    marks: Marks,
    date: Option<TimeDate>,
    /// Where the message lies in the command.
    message: Range<usize>,
}

impl Command for Append {
    type Found = Appended;

    fn parse(args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        args.space()?;
        let name = args.mailbox()?;
        args.space()?;
        let mut marks = Marks::default();
        if args.peek() == Some(b'(') {
            marks = FlagList::parse(args)?.0;
            args.space()?;
        }
        let mut date = None;
        if args.peek() == Some(b'"') {
            date = Some(TimeDate(parse_date_time(args)?));
            args.space()?;
        }
        let message = args.literal()?;
        if message.is_empty() {
            return Err(Bad("the message is empty"));
        }
        let end = args.offset();
        Ok(Append { name, marks, date, message: end - message.len()..end })
    }

    async fn act(&mut self, session: &mut Session) -> Result<Appended, Fault> {
        let name = good_name(&self.name)?;
        let file = session.file()?;
        let (line, range) = (session.line.clone(), self.message.clone());
        let (marks, date) = (std::mem::take(&mut self.marks), self.date);
        let work = move || file.append(&name, &line[range], date, &marks);
        let weight = Weight::of_bytes(self.message.len());
        let appended = session.run_work(weight, work).await?;
        let appended = appended.map_err(|error| try_create(error.into()))?;
        session.out.saw(appended.lsn);
        Stats::add(&session.stats().messages_appended, 1);
        Ok(appended.value)
    }

    fn answer(self, found: Appended, _session: &mut Session) -> Done {
        let code = format!("APPENDUID {} {}", found.uidvalidity, found.uid);
        Done::coded(code, "Appended")
    }
}
