//! APPEND (RFC 3501 §6.3.11) of one or several messages (RFC 3502), with UIDPLUS (RFC 4315).

use std::ops::Range;

use mailfile::{Marks, NewMessage};
use note::TimeDate;

use super::{Command, good_name};
use crate::grammar::{Cursor, FlagList, Parse, parse_date_time};
use crate::names::Name;
use crate::reply::{Done, Fault, try_create};
use crate::session::Session;
use crate::stats::Stats;
use crate::text;
use session::Weight;

pub(crate) struct Append {
    name: Name,
    messages: Vec<Message>,
}

struct Message {
    marks: Marks,
    date: Option<TimeDate>,
    /// Where it lies in the command.
    place: Range<usize>,
}

impl Message {
    fn parse(args: &mut Cursor<'_>) -> Parse<Message> {
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
        let length = args.message()?.len();
        let end = args.offset();
        Ok(Message { marks, date, place: end - length..end })
    }
}

impl Command for Append {
    /// UIDVALIDITY and the uids.
    type Found = (u32, Vec<u32>);

    fn parse(args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        args.space()?;
        let mut append = Append { name: args.mailbox()?, messages: Vec::new() };
        loop {
            args.space()?;
            append.messages.push(Message::parse(args)?);
            if args.is_at_end() {
                return Ok(append);
            }
        }
    }

    /// An empty message is how a client gives up (RFC 3502 §6.3.11).
    fn permit(&self, _session: &Session) -> Result<(), Fault> {
        match self.messages.iter().any(|message| message.place.is_empty()) {
            true => Err(Fault::no("", "An empty message: nothing was appended")),
            false => Ok(()),
        }
    }

    async fn act(&mut self, session: &mut Session) -> Result<Self::Found, Fault> {
        let name = good_name(&self.name)?;
        let file = session.file()?;
        let (line, messages) = (session.line.clone(), std::mem::take(&mut self.messages));
        let (count, bytes) = (messages.len(), line.len());
        let work = move || {
            let new = |message: Message| NewMessage {
                bytes: &line[message.place],
                date: message.date,
                marks: message.marks,
            };
            let messages: Vec<NewMessage<'_>> = messages.into_iter().map(new).collect();
            file.append_all(&name, &messages)
        };
        let weight = if count > 1 { Weight::Heavy } else { Weight::of_bytes(bytes) };
        let appended = session.run_work(weight, work).await?.map_err(try_create)?;
        session.out.saw(appended.lsn);
        Stats::add(&session.stats().messages_appended, count as u64);
        Ok(appended.value)
    }

    fn answer(self, (uidvalidity, uids): Self::Found, _session: &mut Session) -> Done {
        let mut code = format!("APPENDUID {uidvalidity} ").into_bytes();
        text::set(&uids, &mut code);
        Done::coded(String::from_utf8(code).unwrap_or_default(), "Appended")
    }
}
