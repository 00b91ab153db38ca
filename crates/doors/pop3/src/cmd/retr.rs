//! RETR (RFC 1939 §5), and the sending of a message that TOP shares with it.

use session::Weight;

use super::{Command, no_message, only_number};
use crate::reply::{End, Fault};
use crate::sending::Sending;
use crate::session::Session;
use crate::stats::Stats;

pub(super) struct Retr {
    number: u32,
}

impl Command for Retr {
    fn parse(args: &[u8]) -> Result<Self, Fault> {
        only_number(args).map(|number| Retr { number })
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        send(session, self.number, None).await?;
        Stats::add(&session.stats().messages_retrieved, 1);
        session.signed()?.maildrop.note_retrieved(self.number);
        Ok(())
    }

    fn answer(self, _session: &mut Session) {}
}

/// Sends a message, or the top of it, piece by piece; the client has to take each before the next
/// is made.
pub(super) async fn send(
    session: &mut Session,
    number: u32,
    top: Option<u64>,
) -> Result<(), Fault> {
    let signed = session.signed()?;
    let message = signed.maildrop.get(number).ok_or_else(no_message)?;
    let (file, place) = (signed.file.clone(), (signed.maildrop.folder, message.uid));
    let weight = match top {
        None => Weight::of_bytes(usize::try_from(message.octets).unwrap_or(usize::MAX)),
        Some(_) => Weight::Light,
    };
    let opened = session.run_work(weight, move || Sending::open(file, place, top)).await??;
    let Some(sending) = opened else {
        return Err(Fault::no("", "The message was deleted elsewhere"));
    };
    session.saw(sending.lsn);
    session.say(&match top {
        None => format!("+OK {} octets", message.octets),
        Some(_) => String::from("+OK The top of it follows"),
    });
    let mut sending = Some(sending);
    while let Some(open) = sending {
        let mut out = std::mem::take(&mut session.out);
        let work = move || {
            let next = open.next(&mut out);
            (out, next)
        };
        let (out, next) = session.run_work(weight, work).await?;
        session.out = out;
        // Within a message nothing but its lines can be said: the connection ends.
        sending = next.map_err(broken_off)?;
        session.flush_if_full().await?;
    }
    Ok(())
}

fn broken_off(error: mailfile::MailError) -> Fault {
    tracing::error!(error = &error as &dyn std::error::Error, "a message breaks off");
    Fault::End(End::Silent)
}
