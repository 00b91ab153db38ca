//! SUBSCRIBE and UNSUBSCRIBE (RFC 3501 §6.3.6, §6.3.7).

use super::{Command, good_name};
use crate::grammar::{Cursor, Parse};
use crate::names::Name;
use crate::reply::{Done, Fault};
use crate::session::Session;
use session::Weight;

pub(crate) struct Subscribe {
    name: Name,
}

pub(crate) struct Unsubscribe {
    name: Name,
}

impl Command for Subscribe {
    type Found = ();

    fn parse(args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        args.space()?;
        Ok(Subscribe { name: args.mailbox()? })
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        set(session, &self.name, true).await
    }

    fn answer(self, (): (), _session: &mut Session) -> Done {
        Done::plain("Subscribed")
    }
}

impl Command for Unsubscribe {
    type Found = ();

    fn parse(args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        args.space()?;
        Ok(Unsubscribe { name: args.mailbox()? })
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        set(session, &self.name, false).await
    }

    fn answer(self, (): (), _session: &mut Session) -> Done {
        Done::plain("Unsubscribed")
    }
}

async fn set(session: &mut Session, name: &Name, on: bool) -> Result<(), Fault> {
    let name = good_name(name)?;
    let file = session.file()?;
    let written = session.run_work(Weight::Light, move || file.subscribe(&name, on)).await??;
    session.out.saw(written.lsn);
    Ok(())
}
