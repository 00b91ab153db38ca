//! HTTP/1.1 (RFC 9112): kept connections, Basic sign-in, cookies, bodies by length or in chunks.

#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use super::channel::{Channel, within};
use super::{Error, MESSAGE_OCTETS_MAX, Timeouts, Traffic};
use crate::target::{Endpoint, Tls};

/// Octets of a head at the most.
const HEAD_OCTETS_MAX: usize = 64 << 10;
/// Cookies that are kept.
const COOKIES_MAX: usize = 32;
/// Responses that only announce another (status 1xx) at the most.
const INTERIM_MAX: usize = 8;

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// `GET`, `POST`, ….
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Fields of the head beside those that the client makes.
    pub headers: Vec<(String, String)>,
    /// The body; empty for none.
    pub body: Bytes,
    /// Name and password for Basic (RFC 7617).
    pub sign_in: Option<(String, String)>,
    /// Octets of the answer's body that are kept.
    pub keep_octets: usize,
}

/// The answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Response {
    /// Its status.
    pub status: u16,
    /// Octets of its body.
    pub octets: u64,
    /// The first octets of its body, as many as were to be kept.
    pub body: Vec<u8>,
}

/// A client of a web server: one connection, renewed when the server has closed it.
#[derive(Debug)]
pub struct Http {
    to: Endpoint,
    channel: Channel,
    /// The server closes the connection after what it said last.
    ends: bool,
    /// Requests that this connection has answered.
    served: u64,
    cookies: Vec<(String, String)>,
}

/// The head of an answer.
#[derive(Debug, Default)]
struct Head {
    status: u16,
    length: Option<u64>,
    chunked: bool,
    closes: bool,
}

impl Http {
    /// Connects.
    ///
    /// # Errors
    ///
    /// [`Error`]; `Refused` when an upgrade to TLS is asked for, which HTTP has not.
    pub async fn connect(to: &Endpoint, timeouts: Timeouts) -> Result<Self, Error> {
        if to.tls == Tls::Upgrade {
            return Err(Error::refused("TLS", "HTTP has TLS from the first octet, or none"));
        }
        let channel = open(to, timeouts).await?;
        Ok(Self { to: to.clone(), channel, ends: false, served: 0, cookies: Vec::new() })
    }

    /// Asks, and reads the answer whole. Any status is an answer.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn send(&mut self, request: &Request) -> Result<Response, Error> {
        let head = self.print_head(request)?;
        if self.ends {
            self.reopen().await?;
        }
        match self.exchange(&head, request).await {
            Err(Error::Closed | Error::Io(_)) if self.served > 0 && repeats(&request.method) => {
                // The server gave up a kept connection (RFC 9112 section 9.3.1).
                self.reopen().await?;
                self.exchange(&head, request).await
            }
            result => result,
        }
    }

    async fn exchange(&mut self, head: &str, request: &Request) -> Result<Response, Error> {
        self.channel.begin()?;
        let limit = self.channel.timeouts.bulk;
        let result = within(limit, "a request", async {
            self.channel.count_requests(1);
            let body = (!request.body.is_empty()).then_some(&request.body);
            self.channel.write_pieces(head.as_bytes(), body.into_iter(), b"").await?;
            self.answer(request).await
        })
        .await;
        let result = self.channel.end(result);
        self.ends |= result.is_err();
        self.served += u64::from(result.is_ok());
        result
    }

    async fn reopen(&mut self) -> Result<(), Error> {
        let (traffic, counted) = self.channel.counters();
        self.channel = open(&self.to, self.channel.timeouts).await?;
        self.channel.carry_on(traffic, counted);
        (self.ends, self.served) = (false, 0);
        Ok(())
    }

    async fn answer(&mut self, request: &Request) -> Result<Response, Error> {
        let mut head = self.read_head().await?;
        for _ in 0..INTERIM_MAX {
            if head.status >= 200 {
                break;
            }
            head = self.read_head().await?;
        }
        let mut response = Response { status: head.status, ..Response::default() };
        let without = request.method == "HEAD" || matches!(head.status, 100..=199 | 204 | 304);
        let mut sink = Sink { keep: request.keep_octets, response: &mut response };
        self.ends = head.closes;
        if without {
        } else if head.chunked {
            self.read_chunks(&mut sink).await?;
        } else if let Some(length) = head.length {
            check(length)?;
            self.channel.pass(length, |piece| sink.take(piece)).await?;
        } else {
            self.ends = true;
            self.read_rest(&mut sink).await?;
        }
        Ok(response)
    }

    async fn read_head(&mut self) -> Result<Head, Error> {
        let mut text = Vec::new();
        let mut begin = 0;
        loop {
            self.channel.line(&mut text, HEAD_OCTETS_MAX).await?;
            if begin == 0 && !text.starts_with(b"HTTP/1.") {
                return Err(Error::protocol("no answer of HTTP/1", &text));
            }
            if text[begin..].trim_ascii().is_empty() {
                break;
            }
            begin = text.len();
        }
        let text = String::from_utf8_lossy(&text);
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        let wrong = || Error::protocol("no answer of HTTP/1", first.as_bytes());
        let (version, after) = first.split_once(' ').ok_or_else(wrong)?;
        let status = after.get(..3).and_then(|status| status.parse().ok()).ok_or_else(wrong)?;
        if !(100..600).contains(&status) {
            return Err(wrong());
        }
        let mut head = Head { status, closes: version == "HTTP/1.0", ..Head::default() };
        for line in lines.filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').ok_or_else(wrong)?;
            self.field(&mut head, name, value.trim())?;
        }
        Ok(head)
    }

    fn field(&mut self, head: &mut Head, name: &str, value: &str) -> Result<(), Error> {
        let is = |word: &str| name.eq_ignore_ascii_case(word);
        let has =
            |word: &str| value.split(',').any(|listed| listed.trim().eq_ignore_ascii_case(word));
        if is("Content-Length") {
            let length =
                value.parse().map_err(|_| Error::protocol("no length", value.as_bytes()))?;
            if head.length.is_some_and(|before| before != length) {
                return Err(Error::protocol("two lengths", value.as_bytes()));
            }
            head.length = Some(length);
        } else if is("Transfer-Encoding") {
            if !has("chunked") {
                return Err(Error::protocol("an encoding nobody asked for", value.as_bytes()));
            }
            head.chunked = true;
        } else if is("Connection") {
            head.closes = has("close") || head.closes && !has("keep-alive");
        } else if is("Set-Cookie") {
            self.keep_cookie(value);
        }
        Ok(())
    }

    fn keep_cookie(&mut self, value: &str) {
        let pair = value.split(';').next().unwrap_or_default();
        let Some((name, value)) = pair.split_once('=') else { return };
        let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
        self.cookies.retain(|(known, _)| *known != name);
        if self.cookies.len() < COOKIES_MAX && value.len() <= 4096 {
            self.cookies.push((name, value));
        }
    }

    /// RFC 9112 section 7.1.
    async fn read_chunks(&mut self, sink: &mut Sink<'_>) -> Result<(), Error> {
        let mut line = Vec::new();
        loop {
            line.clear();
            self.channel.line(&mut line, 4096).await?;
            let text = String::from_utf8_lossy(&line);
            let size = text.split(';').next().unwrap_or_default().trim();
            let size = u64::from_str_radix(size, 16);
            let size = size.map_err(|_| Error::protocol("no size of a chunk", &line))?;
            check(sink.response.octets.saturating_add(size))?;
            if size == 0 {
                break;
            }
            self.channel.pass(size, |piece| sink.take(piece)).await?;
            line.clear();
            self.channel.line(&mut line, 2).await?;
        }
        for _ in 0..64 {
            line.clear();
            self.channel.line(&mut line, 8192).await?;
            if line.trim_ascii().is_empty() {
                return Ok(());
            }
        }
        Err(Error::Limit { what: "trailer fields", limit: 64 })
    }

    /// Up to the end of the connection.
    async fn read_rest(&mut self, sink: &mut Sink<'_>) -> Result<(), Error> {
        loop {
            let came = self.channel.pull(|piece| {
                sink.take(piece);
                piece.len()
            });
            match came.await {
                Ok(()) => check(sink.response.octets)?,
                Err(Error::Closed) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    fn print_head(&self, request: &Request) -> Result<String, Error> {
        let Request { method, path, headers, body, sign_in, .. } = request;
        let host = &self.to.host;
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n");
        let mut fields = headers.clone();
        if let Some((user, password)) = sign_in {
            let secret = STANDARD.encode(format!("{user}:{password}"));
            fields.push(("Authorization".into(), format!("Basic {secret}")));
        }
        if !body.is_empty() || matches!(method.as_str(), "POST" | "PUT" | "PATCH") {
            fields.push(("Content-Length".into(), body.len().to_string()));
        }
        let own = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("Cookie"));
        if !own && !self.cookies.is_empty() {
            let pairs: Vec<_> = self.cookies.iter().map(|(n, v)| format!("{n}={v}")).collect();
            fields.push(("Cookie".into(), pairs.join("; ")));
        }
        let words = [method.as_str(), path.as_str()];
        let wrong = |text: &str| text.chars().any(char::is_control);
        if words.iter().any(|word| wrong(word) || word.is_empty() || word.contains(' '))
            || fields.iter().any(|(name, value)| wrong(name) || wrong(value))
        {
            return Err(Error::refused("REQUEST", "method, path or a field cannot be sent"));
        }
        for (name, value) in fields {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        Ok(head)
    }

    /// What went over the wire since the first connection.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.channel.traffic()
    }

    /// What went over the wire since this was called last.
    pub fn take_traffic(&mut self) -> Traffic {
        self.channel.take_traffic()
    }
}

/// Where a body goes.
struct Sink<'a> {
    keep: usize,
    response: &'a mut Response,
}

impl Sink<'_> {
    fn take(&mut self, piece: &[u8]) {
        self.response.octets += piece.len() as u64;
        let room = self.keep.saturating_sub(self.response.body.len()).min(piece.len());
        self.response.body.extend_from_slice(&piece[..room]);
    }
}

async fn open(to: &Endpoint, timeouts: Timeouts) -> Result<Channel, Error> {
    within(timeouts.connect, "the connection", async {
        let mut channel = Channel::connect(to, timeouts).await?;
        if to.tls == Tls::Implicit {
            channel.secure(to).await?;
        }
        Ok(channel)
    })
    .await
}

/// Methods that may be sent twice (RFC 9110 section 9.2.2).
fn repeats(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "PUT" | "DELETE" | "OPTIONS")
}

fn check(octets: u64) -> Result<(), Error> {
    if octets > MESSAGE_OCTETS_MAX {
        return Err(Error::Limit { what: "a body", limit: MESSAGE_OCTETS_MAX });
    }
    Ok(())
}
