//! USER (RFC 1939 §7): notes the name. Whether there is somebody of it is not told.

use super::{Command, pass};
use crate::reply::Fault;
use crate::session::Session;

pub(super) struct User(String);

impl Command for User {
    fn parse(args: &[u8]) -> Result<Self, Fault> {
        match args.trim_ascii() {
            [] => Err(Fault::Bad("A name is missing")),
            name => Ok(User(String::from_utf8_lossy(name).into_owned())),
        }
    }

    fn permit(&self, session: &Session) -> Result<(), Fault> {
        pass::permit_password(session)
    }

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        session.name = Some(std::mem::take(&mut self.0));
        Ok(())
    }

    fn answer(self, session: &mut Session) {
        session.say("+OK Now the password");
    }
}
