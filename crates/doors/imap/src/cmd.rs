//! The commands: one per file, each in four steps: parse, permit, act, answer.

mod append;
mod authenticate;
mod capability;
mod check;
mod close;
mod copy;
mod create;
mod delete;
mod enable;
mod expunge;
mod fetch;
mod id;
mod idle;
mod list;
mod login;
mod logout;
mod lsub;
mod namespace;
mod noop;
mod rename;
mod search;
mod select;
mod sort;
mod starttls;
mod status;
mod store;
mod subscribe;
mod thread;
mod unselect;

use std::future::Future;
use std::pin::Pin;

use crate::grammar::{Cursor, Parse};
use crate::reply::{Done, Fault};
use crate::selected::Tell;
use crate::session::Session;

pub(crate) use capability::capabilities;

/// A command of the protocol.
pub(crate) trait Command: Sized + Send {
    /// What acting gives to answer with.
    type Found: Send;

    /// Takes the arguments apart. `uid`: the command was prefixed by UID.
    fn parse(args: &mut Cursor<'_>, uid: bool) -> Parse<Self>;

    /// Whether this session may do it now, beyond the state that the table asks for.
    fn permit(&self, _session: &Session) -> Result<(), Fault> {
        Ok(())
    }

    /// Does it.
    fn act(
        &mut self,
        session: &mut Session,
    ) -> impl Future<Output = Result<Self::Found, Fault>> + Send;

    /// Appends untagged replies and says how the command ended.
    fn answer(self, found: Self::Found, session: &mut Session) -> Done;

    /// Which news may precede the tagged reply.
    fn tell(&self) -> Tell {
        Tell::All
    }
}

/// The state in which a command is possible (RFC 3501 §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    Nothing,
    NotSignedIn,
    SignedIn,
    Selected,
}

type Running<'a> = Pin<Box<dyn Future<Output = Result<Done, Fault>> + Send + 'a>>;

/// A row of the table of commands.
struct Row {
    name: &'static str,
    needs: Needs,
    /// May be prefixed by UID.
    with_uid: bool,
    /// May stand without that prefix.
    without_uid: bool,
    start: for<'a> fn(&'a mut Session, Cursor<'a>, bool) -> Running<'a>,
}

const fn row<C: Command + 'static>(name: &'static str, needs: Needs) -> Row {
    Row { name, needs, with_uid: false, without_uid: true, start: start::<C> }
}

const fn both<C: Command + 'static>(name: &'static str) -> Row {
    Row { with_uid: true, ..row::<C>(name, Needs::Selected) }
}

/// Every command.
static TABLE: &[Row] = &[
    row::<capability::Capability>("CAPABILITY", Needs::Nothing),
    row::<noop::Noop>("NOOP", Needs::Nothing),
    row::<logout::Logout>("LOGOUT", Needs::Nothing),
    row::<id::Id>("ID", Needs::Nothing),
    row::<starttls::StartTls>("STARTTLS", Needs::NotSignedIn),
    row::<login::Login>("LOGIN", Needs::NotSignedIn),
    row::<authenticate::Authenticate>("AUTHENTICATE", Needs::NotSignedIn),
    row::<enable::Enable>("ENABLE", Needs::SignedIn),
    row::<namespace::Namespace>("NAMESPACE", Needs::SignedIn),
    row::<list::List>("LIST", Needs::SignedIn),
    row::<lsub::Lsub>("LSUB", Needs::SignedIn),
    row::<create::Create>("CREATE", Needs::SignedIn),
    row::<delete::Delete>("DELETE", Needs::SignedIn),
    row::<rename::Rename>("RENAME", Needs::SignedIn),
    row::<subscribe::Subscribe>("SUBSCRIBE", Needs::SignedIn),
    row::<subscribe::Unsubscribe>("UNSUBSCRIBE", Needs::SignedIn),
    row::<status::Status>("STATUS", Needs::SignedIn),
    row::<select::Select>("SELECT", Needs::SignedIn),
    row::<select::Examine>("EXAMINE", Needs::SignedIn),
    row::<append::Append>("APPEND", Needs::SignedIn),
    row::<idle::Idle>("IDLE", Needs::SignedIn),
    row::<check::Check>("CHECK", Needs::Selected),
    row::<close::Close>("CLOSE", Needs::Selected),
    row::<unselect::Unselect>("UNSELECT", Needs::Selected),
    both::<fetch::Fetch>("FETCH"),
    both::<store::Store>("STORE"),
    both::<copy::Copy>("COPY"),
    both::<copy::Move>("MOVE"),
    both::<search::Search>("SEARCH"),
    both::<sort::Sort>("SORT"),
    both::<thread::Thread>("THREAD"),
    both::<expunge::Expunge>("EXPUNGE"),
];

fn start<'a, C: Command + 'static>(
    session: &'a mut Session,
    args: Cursor<'a>,
    uid: bool,
) -> Running<'a> {
    // A box for each command keeps the future of a connection that waits small.
    Box::pin(run::<C>(session, args, uid))
}

async fn run<C: Command>(
    session: &mut Session,
    mut args: Cursor<'_>,
    uid: bool,
) -> Result<Done, Fault> {
    let mut command = C::parse(&mut args, uid)?;
    args.end()?;
    command.permit(session)?;
    let found = command.act(session).await?;
    let tell = command.tell();
    let mut done = command.answer(found, session);
    session.tell_news(tell).await?;
    if done.with_modseq
        && let Some(selected) = session.selected.as_deref()
    {
        done.code = format!("HIGHESTMODSEQ {}", selected.modseq());
    }
    Ok(done)
}

/// Finds the command behind the tag and runs it.
pub(crate) async fn dispatch(session: &mut Session, mut args: Cursor<'_>) -> Result<Done, Fault> {
    args.space()?;
    let mut name = args.atom()?;
    let uid = name.eq_ignore_ascii_case("UID");
    if uid {
        args.space()?;
        name = args.atom()?;
    }
    let row = TABLE.iter().find(|row| row.name.eq_ignore_ascii_case(name));
    let row = row.filter(|row| if uid { row.with_uid } else { row.without_uid });
    let row = row.ok_or(Fault::Bad("unknown command"))?;
    permit_state(row.needs, session)?;
    (row.start)(session, args, uid).await
}

fn permit_state(needs: Needs, session: &Session) -> Result<(), Fault> {
    match needs {
        Needs::NotSignedIn if session.user.is_some() => Err(Fault::Bad("already signed in")),
        Needs::SignedIn | Needs::Selected if session.user.is_none() => {
            Err(Fault::Bad("please sign in first"))
        }
        Needs::Selected if session.selected.is_none() => Err(Fault::Bad("no mailbox is selected")),
        _ => Ok(()),
    }
}

/// The name that a client gave, or a refusal.
fn good_name(name: &crate::names::Name) -> Result<String, Fault> {
    match name {
        crate::names::Name::Good(name) => Ok(name.clone()),
        crate::names::Name::Bad => {
            Err(Fault::no("CANNOT", "The mailbox name is not in modified UTF-7"))
        }
    }
}

/// Refuses a change of a mailbox that was opened by EXAMINE.
fn permit_change(session: &Session) -> Result<(), Fault> {
    match session.selected.as_deref() {
        Some(selected) if selected.read_only => {
            Err(Fault::no("READ-ONLY", "The mailbox was opened to be read only"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::mem::size_of;
    use std::sync::Arc;

    use session::Stopping;
    use tokio::net::TcpStream;

    use super::*;
    use crate::door::Door;
    use crate::selected::Selected;

    /// Bytes of the future that a function makes.
    fn of<A, F: Future>(_make: impl FnOnce(A) -> F) -> usize {
        size_of::<F>()
    }

    /// Thousands of connections idle at once. Something large belongs into a box that lives as
    /// long as it is needed: these bounds are not there to be raised.
    #[test]
    fn a_connection_that_idles_holds_little() {
        let task = of(|(door, stream, stopping): (Arc<Door>, TcpStream, Stopping)| {
            door.serve_connection(stream, false, stopping)
        });
        let session = of(|session: Box<Session>| session.run());
        let idle = of(|(session, args): (&'static mut Session, Cursor<'static>)| {
            run::<idle::Idle>(session, args, false)
        });
        let state = (size_of::<Session>(), size_of::<Selected>());
        let sizes = format!("task {task}, session {session}, idle {idle}, state {state:?}");
        assert!(task <= 600 && session <= 1_000 && idle <= 1_100, "{sizes}");
        assert!(task + session + idle + state.0 + state.1 <= 3_100, "{sizes}");
    }
}
