//! A connection to another host: plain or TLS, with a time limit for everything, and a way to
//! break all of them when the server stops.

use crate::courier::trouble;
use parking_lot::Mutex;
use router::Trouble;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Addresses of one name that are tried.
const ADDRESSES_MAX: usize = 4;
/// Bytes read at a time.
const READ_BYTES: usize = 4 * 1024;

/// The connections that are open, to be broken at a stop.
#[derive(Debug, Default)]
pub struct Links {
    stopped: AtomicBool,
    next: AtomicU64,
    open: Mutex<HashMap<u64, TcpStream>>,
}

impl Links {
    /// Connects to the first address of the host that answers.
    pub fn connect(
        self: &Arc<Links>,
        host: &str,
        port: u16,
        wait: Duration,
    ) -> io::Result<Connected> {
        if self.stopped.load(Ordering::Acquire) {
            return Err(io::Error::other("the server stops"));
        }
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let mut failed = io::Error::other("the name has no address");
        for address in (bare, port).to_socket_addrs()?.take(ADDRESSES_MAX) {
            match TcpStream::connect_timeout(&address, wait) {
                Ok(stream) => return self.enter(stream),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    fn enter(self: &Arc<Links>, stream: TcpStream) -> io::Result<Connected> {
        stream.set_nodelay(true)?;
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut open = self.open.lock();
        open.insert(id, stream.try_clone()?);
        // Asked again under the lock: a stop either sees this connection or is seen.
        if self.stopped.load(Ordering::Acquire) {
            open.remove(&id);
            return Err(io::Error::other("the server stops"));
        }
        drop(open);
        let (tcp, stream) = (stream.try_clone()?, Stream::Plain(stream));
        let entry = Entry { links: self.clone(), id };
        Ok(Connected { stream, tcp, buffer: Vec::new(), _entry: entry })
    }

    /// Breaks what is open; nothing is opened any more.
    pub fn stop(&self) {
        let open = self.open.lock();
        self.stopped.store(true, Ordering::Release);
        for stream in open.values() {
            // One that is closed already needs no breaking.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

#[derive(Debug)]
struct Entry {
    links: Arc<Links>,
    id: u64,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.links.open.lock().remove(&self.id);
    }
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
    Gone,
}

/// One connection.
pub struct Connected {
    stream: Stream,
    /// The same socket, for its time limits.
    tcp: TcpStream,
    buffer: Vec<u8>,
    _entry: Entry,
}

impl Connected {
    /// Begins TLS. What the host sent before it is not believed: it ends the connection.
    pub fn start_tls(
        &mut self,
        config: &Arc<ClientConfig>,
        name: ServerName<'static>,
        wait: Duration,
    ) -> Result<(), Trouble> {
        if !self.buffer.is_empty() {
            return Err(trouble(String::from("the host spoke before TLS began")));
        }
        let shown = name.to_str().into_owned();
        let failed =
            |error: &dyn std::fmt::Display| trouble(format!("TLS with {shown} failed: {error}"));
        let connection = ClientConnection::new(config.clone(), name).map_err(|e| failed(&e))?;
        let Stream::Plain(tcp) = std::mem::replace(&mut self.stream, Stream::Gone) else {
            return Err(failed(&"it is spoken already"));
        };
        let mut tls = StreamOwned::new(connection, tcp);
        let until = Instant::now() + wait;
        while tls.conn.is_handshaking() {
            self.limit(until).map_err(|error| failed(&error))?;
            tls.conn.complete_io(&mut tls.sock).map_err(|error| failed(&error))?;
        }
        self.stream = Stream::Tls(Box::new(tls));
        Ok(())
    }

    pub fn is_tls(&self) -> bool {
        matches!(self.stream, Stream::Tls(_))
    }

    /// The next read and write end at `until`.
    fn limit(&self, until: Instant) -> io::Result<()> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.tcp.set_read_timeout(Some(left))?;
        self.tcp.set_write_timeout(Some(left))
    }

    /// Reads a line without its end; `max` bytes at most.
    pub fn read_line(&mut self, max: usize, until: Instant) -> io::Result<Vec<u8>> {
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer) {
                let mut line: Vec<u8> = self.buffer.drain(..=at).collect();
                line.truncate(at);
                if line.ends_with(b"\r") {
                    line.pop();
                }
                return Ok(line);
            }
            if self.buffer.len() > max {
                return Err(io::Error::other("a line of the reply is too long"));
            }
            self.limit(until)?;
            let mut piece = [0; READ_BYTES];
            let count = match &mut self.stream {
                Stream::Plain(stream) => stream.read(&mut piece),
                Stream::Tls(stream) => stream.read(&mut piece),
                Stream::Gone => Ok(0),
            };
            match count {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.buffer.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(slow(error)),
            }
        }
    }

    /// Writes all of it.
    pub fn write(&mut self, bytes: &[u8], until: Instant) -> io::Result<()> {
        self.limit(until)?;
        let written = match &mut self.stream {
            Stream::Plain(stream) => stream.write_all(bytes),
            Stream::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
            Stream::Gone => Err(io::ErrorKind::BrokenPipe.into()),
        };
        written.map_err(slow)
    }
}

/// A time limit of a socket shows as "try again".
fn slow(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => error,
    }
}
