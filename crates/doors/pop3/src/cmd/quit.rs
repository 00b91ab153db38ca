//! QUIT (RFC 1939 §5, §6): deletes what is marked, then ends the connection.

use session::Weight;

use super::{Command, nothing};
use crate::reply::{End, Fault, TEMPORARY, error};
use crate::session::Session;
use crate::stats::Stats;

pub(super) struct Quit;

impl Command for Quit {
    fn parse(args: &[u8]) -> Result<Self, Fault> {
        nothing(args).map(|()| Quit)
    }

    /// The UPDATE state. Whether it went well or not, the connection ends.
    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        match update(session).await {
            Ok(()) => session.say("+OK Good-bye"),
            Err(Fault::End(End::Silent)) => return Err(Fault::End(End::Silent)),
            Err(_) => {
                let text = "Some of the deleted messages were not removed";
                error(TEMPORARY, text, &mut session.out);
            }
        }
        Err(Fault::End(End::Quit))
    }

    fn answer(self, _session: &mut Session) {}
}

async fn update(session: &mut Session) -> Result<(), Fault> {
    let mark_seen = session.settings().mark_seen;
    let Some(signed) = session.signed.as_deref_mut() else { return Ok(()) };
    let update = signed.maildrop.update(mark_seen);
    if update.is_empty() {
        return Ok(());
    }
    let file = signed.file.clone();
    let weight = Weight::of_messages(update.delete.len() + update.seen.len());
    let (deleted, lsn) = session.run_work(weight, move || update.apply(&file)).await??;
    session.saw(lsn);
    Stats::add(&session.stats().messages_deleted, deleted as u64);
    Ok(())
}
