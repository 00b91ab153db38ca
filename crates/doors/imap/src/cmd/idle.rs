//! IDLE (RFC 2177): news are told as they happen.

use session::WireError;

use super::Command;
use crate::grammar::{Cursor, Parse};
use crate::input;
use crate::reply::{Done, Fault, tagged};
use crate::selected::Tell;
use crate::session::Session;

/// Longest line that may come during IDLE.
const LINE_BYTES_MAX: usize = 8 * 1024;
/// Lines other than DONE that are answered before the connection ends.
const STRAY_MAX: u32 = 20;

pub(crate) struct Idle;

enum Event {
    Line(Result<bool, WireError>),
    News,
}

impl Command for Idle {
    type Found = ();

    fn parse(_args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        Ok(Idle)
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        session.seat.set_state("idle");
        session.out.line("+ idling");
        let mut strays = 0;
        loop {
            session.tell_news(Tell::All).await?;
            session.flush().await?;
            // It may be long before this is needed again.
            session.out.bytes = Vec::new();
            let mut line = Vec::new();
            match next(session, &mut line).await? {
                Event::News => continue,
                Event::Line(Err(WireError::TooLong { .. })) => {}
                Event::Line(read) => {
                    read?;
                    if line.trim_ascii().eq_ignore_ascii_case(b"DONE") {
                        break;
                    }
                }
            }
            strays += 1;
            if strays > STRAY_MAX {
                return Err(Fault::Bad("DONE was expected"));
            }
            // Some clients forget DONE. The command is refused, and the connection lives on.
            let tag = Cursor::new(&line).tag().unwrap_or("*");
            tagged(tag, "BAD", ("", "Idling: DONE was expected"), &mut session.out.bytes);
        }
        session.seat.set_state(match session.selected {
            Some(_) => "mailbox open",
            None => "signed in",
        });
        Ok(())
    }

    fn answer(self, (): (), _session: &mut Session) -> Done {
        Done::plain("Idle no more")
    }
}

/// Waits for what comes first: a line, news, or the end.
async fn next(session: &mut Session, line: &mut Vec<u8>) -> Result<Event, Fault> {
    let wait = session.wait();
    let selected = session.selected.as_ref();
    let watched = selected.map(|selected| (selected.signal.clone(), selected.change_seq()));
    let news = async {
        match watched {
            Some((signal, told)) => signal.wait_beyond(told).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        read = session.wire.read_line(line, LINE_BYTES_MAX, wait) => Ok(Event::Line(read)),
        () = news => Ok(Event::News),
        () = session.seat.noticed() => Ok(Event::News),
        () = session.stopping.requested() => Err(input::stop()),
        () = session.seat.dropped() => Err(input::dropped()),
    }
}
