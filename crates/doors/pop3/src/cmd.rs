//! The commands: a table of all, and their four steps.

mod auth;
mod capa;
mod dele;
mod list;
mod noop;
mod pass;
mod quit;
mod retr;
mod rset;
mod stat;
mod stls;
mod top;
mod uidl;
mod user;

use std::future::Future;
use std::pin::Pin;

use crate::reply::Fault;
use crate::session::Session;

/// A command in its four steps: parse, permit, act, answer.
trait Command: Sized + Send {
    /// Understands what follows the name of the command.
    fn parse(args: &[u8]) -> Result<Self, Fault>;

    /// Refuses what this session may not do.
    fn permit(&self, _session: &Session) -> Result<(), Fault> {
        Ok(())
    }

    /// Does it. The lines of a long reply are written here.
    fn act(&mut self, session: &mut Session) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Says how it ended, unless that was said.
    fn answer(self, session: &mut Session);
}

/// The state in which a command is possible (RFC 1939 §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Any,
    Authorization,
    Transaction,
}

type Running<'a> = Pin<Box<dyn Future<Output = Result<(), Fault>> + Send + 'a>>;

/// A row of the table of commands.
struct Row {
    name: &'static str,
    state: State,
    start: for<'a> fn(&'a mut Session, &'a [u8]) -> Running<'a>,
}

const fn row<C: Command + 'static>(name: &'static str, state: State) -> Row {
    Row { name, state, start: start::<C> }
}

/// Every command.
static TABLE: &[Row] = &[
    row::<user::User>("USER", State::Authorization),
    row::<pass::Pass>("PASS", State::Authorization),
    row::<auth::Auth>("AUTH", State::Authorization),
    row::<stls::Stls>("STLS", State::Authorization),
    row::<capa::Capa>("CAPA", State::Any),
    row::<quit::Quit>("QUIT", State::Any),
    row::<stat::Stat>("STAT", State::Transaction),
    row::<list::List>("LIST", State::Transaction),
    row::<uidl::Uidl>("UIDL", State::Transaction),
    row::<retr::Retr>("RETR", State::Transaction),
    row::<top::Top>("TOP", State::Transaction),
    row::<dele::Dele>("DELE", State::Transaction),
    row::<rset::Rset>("RSET", State::Transaction),
    row::<noop::Noop>("NOOP", State::Transaction),
];

fn start<'a, C: Command + 'static>(session: &'a mut Session, args: &'a [u8]) -> Running<'a> {
    // A box for each command keeps the future of a connection that waits small.
    Box::pin(async move {
        let mut command = C::parse(args)?;
        command.permit(session)?;
        command.act(session).await?;
        command.answer(session);
        Ok(())
    })
}

/// Finds the command of a line and runs it.
pub(crate) async fn dispatch(session: &mut Session, line: &[u8]) -> Result<(), Fault> {
    let end = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
    let (name, args) = line.split_at(end);
    let row = TABLE.iter().find(|row| row.name.as_bytes().eq_ignore_ascii_case(name));
    let row = row.ok_or(Fault::Bad("Unknown command"))?;
    match (row.state, session.signed.is_some()) {
        (State::Authorization, true) => return Err(Fault::Bad("Already signed in")),
        (State::Transaction, false) => return Err(Fault::Bad("Please sign in first")),
        _ => {}
    }
    (row.start)(session, args.strip_prefix(b" ").unwrap_or(args)).await
}

/// Refuses arguments.
fn nothing(args: &[u8]) -> Result<(), Fault> {
    match args.trim_ascii().is_empty() {
        true => Ok(()),
        false => Err(Fault::Bad("The command takes no arguments")),
    }
}

/// The number of a message, or another number.
fn number<N: std::str::FromStr>(word: &[u8]) -> Result<N, Fault> {
    const WRONG: Fault = Fault::Bad("A number is wrong");
    if word.is_empty() || !word.iter().all(u8::is_ascii_digit) {
        return Err(WRONG);
    }
    std::str::from_utf8(word).ok().and_then(|word| word.parse().ok()).ok_or(WRONG)
}

/// The number of one message, and nothing else.
fn only_number(args: &[u8]) -> Result<u32, Fault> {
    number(args.trim_ascii())
}

/// Names a message that is not there.
fn no_message() -> Fault {
    Fault::no("", "There is no such message")
}
