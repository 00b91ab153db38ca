//! LDAP (RFC 4511): simple bind and searches for equality.

mod ber;
#[cfg(test)]
mod tests;

use super::channel::{Channel, within};
use super::{Error, Timeouts, Traffic};
use crate::target::{Endpoint, Tls};
use ber::{Element, Writer};

/// Octets of a message of the server at the most.
const MESSAGE_OCTETS: usize = 1 << 20;
/// Entries of an answer at the most.
const ENTRIES_MAX: u32 = 10_000;

const SEQUENCE: u8 = 0x30;
const BIND: u8 = 0x60;
const BIND_ANSWER: u8 = 0x61;
const UNBIND: u8 = 0x42;
const SEARCH: u8 = 0x63;
const SEARCH_ENTRY: u8 = 0x64;
const SEARCH_DONE: u8 = 0x65;
const SEARCH_REFERENCE: u8 = 0x73;
const EXTENDED: u8 = 0x77;
const EXTENDED_ANSWER: u8 = 0x78;
const EQUALS: u8 = 0xa3;
const START_TLS: &[u8] = b"1.3.6.1.4.1.1466.20037";

/// What a search found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Found {
    /// Entries.
    pub entries: u32,
    /// Those of them that hold what was searched for.
    pub fitting: u32,
}

/// A connection to a directory.
#[derive(Debug)]
pub struct Ldap {
    channel: Channel,
    message: Vec<u8>,
    id: u32,
}

impl Ldap {
    /// Connects and secures the connection as `to` says.
    ///
    /// # Errors
    ///
    /// [`Error`]; `Refused` when STARTTLS is refused.
    pub async fn connect(to: &Endpoint, timeouts: Timeouts) -> Result<Self, Error> {
        within(timeouts.connect, "the connection", async {
            let mut channel = Channel::connect(to, timeouts).await?;
            if to.tls == Tls::Implicit {
                channel.secure(to).await?;
            }
            let mut ldap = Self { channel, message: Vec::new(), id: 0 };
            if to.tls == Tls::Upgrade {
                let mut request = Writer::default();
                request.element(EXTENDED, |inner| inner.octets(0x80, START_TLS));
                ldap.ask(request).await?;
                ldap.await_result(EXTENDED_ANSWER, |_| Ok(false)).await?;
                ldap.channel.secure(to).await?;
            }
            Ok(ldap)
        })
        .await
    }

    /// Signs in; an empty name is nobody in particular.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn bind(&mut self, name: &str, password: &str) -> Result<(), Error> {
        let mut request = Writer::default();
        request.element(BIND, |inner| {
            inner.integer(0x02, 3);
            inner.octets(0x04, name.as_bytes());
            inner.octets(0x80, password.as_bytes());
        });
        self.call("bind", request, BIND_ANSWER, |_| Ok(false)).await.map(drop)
    }

    /// Entries below `base` whose `attribute` is `value`, their `mail` and `cn` read: how many,
    /// and how many of them really hold it, when `attribute` is one of the two.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn search(
        &mut self,
        base: &str,
        attribute: &str,
        value: &str,
    ) -> Result<Found, Error> {
        let mut request = Writer::default();
        request.element(SEARCH, |inner| {
            inner.octets(0x04, base.as_bytes());
            inner.integer(0x0a, 2);
            inner.integer(0x0a, 0);
            inner.integer(0x02, 0);
            inner.integer(0x02, 0);
            inner.octets(0x01, &[0]);
            inner.element(EQUALS, |filter| {
                filter.octets(0x04, attribute.as_bytes());
                filter.octets(0x04, value.as_bytes());
            });
            inner.element(SEQUENCE, |wanted| {
                wanted.octets(0x04, b"mail");
                wanted.octets(0x04, b"cn");
            });
        });
        self.call("search", request, SEARCH_DONE, |entry| holds(entry, attribute, value)).await
    }

    /// Says goodbye and closes.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn unbind(mut self) -> Result<(), Error> {
        self.channel.begin()?;
        let mut request = Writer::default();
        request.octets(UNBIND, &[]);
        let limit = self.channel.timeouts.call;
        within(limit, "unbind", self.ask(request)).await
    }

    /// What went over the wire since the connection.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.channel.traffic()
    }

    /// What went over the wire since this was called last.
    pub fn take_traffic(&mut self) -> Traffic {
        self.channel.take_traffic()
    }

    async fn call(
        &mut self,
        what: &'static str,
        request: Writer,
        end: u8,
        fits: impl Fn(&Element<'_>) -> Result<bool, Error>,
    ) -> Result<Found, Error> {
        self.channel.begin()?;
        let limit = self.channel.timeouts.call;
        let result = within(limit, what, async {
            self.ask(request).await?;
            self.await_result(end, fits).await
        })
        .await;
        self.message = Vec::new();
        self.channel.end(result)
    }

    async fn ask(&mut self, request: Writer) -> Result<(), Error> {
        self.id = self.id % (i32::MAX as u32) + 1;
        let mut message = Writer::default();
        message.element(SEQUENCE, |inner| {
            inner.integer(0x02, self.id);
            inner.append(request);
        });
        self.channel.count_requests(1);
        self.channel.write(&message.finish()).await
    }

    /// Reads up to the answer `end`; entries before it. Any result but success is a refusal.
    async fn await_result(
        &mut self,
        end: u8,
        fits: impl Fn(&Element<'_>) -> Result<bool, Error>,
    ) -> Result<Found, Error> {
        let mut found = Found::default();
        loop {
            self.read_message().await?;
            let wrong = |what| Error::protocol(what, &self.message);
            let mut parts = Element::parse(&self.message)?.inner();
            let id = parts.next().ok_or_else(|| wrong("no message id"))??.integer()?;
            let answer = parts.next().ok_or_else(|| wrong("no answer"))??;
            if id == 0 {
                // A notice of disconnection (RFC 4511 section 4.4.1).
                return Err(Error::Closed);
            }
            if id != u64::from(self.id) {
                return Err(wrong("an answer to nothing"));
            }
            match answer.tag {
                tag if tag == end => return result(&answer).map(|()| found),
                SEARCH_ENTRY => {
                    found.entries += 1;
                    found.fitting += u32::from(fits(&answer)?);
                }
                SEARCH_REFERENCE => {}
                _ => return Err(wrong("another answer")),
            }
            if found.entries > ENTRIES_MAX {
                return Err(Error::Limit { what: "entries", limit: u64::from(ENTRIES_MAX) });
            }
        }
    }

    /// Reads a whole message into `message`.
    async fn read_message(&mut self) -> Result<(), Error> {
        self.message.clear();
        let message = &mut self.message;
        self.channel.pass(2, |octets| message.extend_from_slice(octets)).await?;
        let long = message[1] & 0x80 != 0;
        let more = if long { u64::from(message[1] & 0x7f) } else { 0 };
        if message[0] != SEQUENCE || more > 4 || (long && more == 0) {
            return Err(Error::protocol("no message of LDAP", message));
        }
        self.channel.pass(more, |octets| message.extend_from_slice(octets)).await?;
        let length = match long {
            true => message[2..].iter().fold(0, |sum, octet| sum << 8 | usize::from(*octet)),
            false => usize::from(message[1]),
        };
        if length > MESSAGE_OCTETS {
            return Err(Error::Limit { what: "a message", limit: MESSAGE_OCTETS as u64 });
        }
        self.channel.pass(length as u64, |octets| message.extend_from_slice(octets)).await
    }
}

/// Whether an entry holds a value of an attribute (RFC 4511 section 4.5.2), in capitals or not.
fn holds(entry: &Element<'_>, attribute: &str, value: &str) -> Result<bool, Error> {
    let short = || Error::protocol("a short entry", entry.octets);
    let attributes = entry.inner().nth(1).ok_or_else(short)??;
    for one in attributes.inner() {
        let one = one?;
        let mut parts = one.inner();
        let (name, values) = (parts.next().ok_or_else(short)??, parts.next().ok_or_else(short)??);
        if !name.octets.eq_ignore_ascii_case(attribute.as_bytes()) {
            continue;
        }
        for held in values.inner() {
            if held?.octets.eq_ignore_ascii_case(value.as_bytes()) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The result at the end of an operation (RFC 4511 section 4.1.9).
fn result(answer: &Element<'_>) -> Result<(), Error> {
    let mut parts = answer.inner();
    let mut part = || parts.next().ok_or_else(|| Error::protocol("a short result", answer.octets));
    let code = part()??.integer()?;
    part()??;
    let text = String::from_utf8_lossy(part()??.octets).into_owned();
    if code == 0 { Ok(()) } else { Err(Error::refused(&code.to_string(), &text)) }
}
