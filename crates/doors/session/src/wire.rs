//! One connection: a TCP or TLS stream with a bounded read buffer.

use crate::ahead::Ahead;
use crate::sessions::{Encrypted, Sessions};
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::{Duration, Instant};
use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Room for a read of a quiet connection in bytes.
const QUIET_BYTES: usize = 2 * 1024;
/// Room for a read of a busy connection in bytes: one whose last read brought [`QUIET_BYTES`].
const BUSY_BYTES: usize = 64 * 1024;
/// A line that is too long is skipped up to this many bytes, then the connection is given up.
const SKIP_BYTES_MAX: usize = 1024 * 1024;

/// Why nothing more could be read or written.
#[derive(Debug, Error)]
pub enum WireError {
    /// The peer closed the connection.
    #[error("the connection was closed by the peer")]
    Closed,
    /// The peer was silent, or did not take what was written, for too long.
    #[error("the peer kept the server waiting for too long")]
    Timeout,
    /// A line was longer than allowed. It was skipped, the connection goes on.
    #[error("the line is longer than {max} bytes")]
    TooLong {
        /// The limit in bytes.
        max: usize,
    },
    /// The system refused.
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<Secured>),
    Memory(DuplexStream),
    Gone,
}

/// A TLS stream, counted as such.
struct Secured {
    stream: TlsStream<Ahead>,
    _counted: Encrypted,
}

/// A connection as the doors use it.
pub struct Wire {
    stream: Stream,
    peer: Option<SocketAddr>,
    buffer: Vec<u8>,
    start: usize,
    /// The last read brought so much that the next one gets more room.
    is_busy: bool,
    sessions: Arc<Sessions>,
}

impl Wire {
    /// A plain TCP connection.
    pub fn plain(stream: TcpStream, sessions: Arc<Sessions>) -> Wire {
        let peer = stream.peer_addr().ok();
        // A failure only costs latency.
        let _ = stream.set_nodelay(true);
        Wire::over(Stream::Plain(stream), peer, sessions)
    }

    /// A TCP connection that begins with a TLS handshake (ports 465, 993).
    ///
    /// # Errors
    /// The handshake failed or took longer than `wait`.
    pub async fn tls(
        stream: TcpStream,
        acceptor: &TlsAcceptor,
        sessions: Arc<Sessions>,
        wait: Duration,
    ) -> Result<Wire, WireError> {
        let mut wire = Wire::plain(stream, sessions);
        wire.start_tls(acceptor, wait).await?;
        Ok(wire)
    }

    /// A connection within the process, for tests.
    pub fn memory(stream: DuplexStream) -> Wire {
        Wire::over(Stream::Memory(stream), None, Arc::default())
    }

    /// The same, as if it came from an address.
    pub fn memory_from(stream: DuplexStream, peer: SocketAddr) -> Wire {
        Wire::over(Stream::Memory(stream), Some(peer), Arc::default())
    }

    fn over(stream: Stream, peer: Option<SocketAddr>, sessions: Arc<Sessions>) -> Wire {
        Wire { stream, peer, buffer: Vec::new(), start: 0, is_busy: false, sessions }
    }

    /// The client's address; `None` within the process.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// The client's address as text.
    pub fn shown_peer(&self) -> String {
        self.peer.map_or_else(|| String::from("local"), |peer| peer.to_string())
    }

    /// Whether the client is on this machine.
    pub fn is_loopback(&self) -> bool {
        self.peer.is_none_or(|peer| peer.ip().to_canonical().is_loopback())
    }

    /// Whether the bytes are encrypted.
    pub fn is_tls(&self) -> bool {
        matches!(self.stream, Stream::Tls(_))
    }

    /// Begins TLS on a plain connection. What the client sent before the handshake is thrown
    /// away, so that nothing can be slipped in (RFC 3207 §5, RFC 3501 §6.2.1).
    ///
    /// # Errors
    /// The handshake failed or took longer than `wait`; the connection is then unusable.
    pub async fn start_tls(
        &mut self,
        acceptor: &TlsAcceptor,
        wait: Duration,
    ) -> Result<(), WireError> {
        self.forget();
        let stream = match std::mem::replace(&mut self.stream, Stream::Gone) {
            Stream::Plain(stream) => stream,
            other => {
                self.stream = other;
                return Err(io::Error::other("TLS is not possible on this connection").into());
            }
        };
        // In a box, so that the future of a connection has no room for a handshake.
        match Box::pin(within(wait, acceptor.accept(Ahead::new(stream)))).await {
            Ok(stream) => {
                let _counted = self.sessions.encrypt();
                self.stream = Stream::Tls(Box::new(Secured { stream, _counted }));
                Ok(())
            }
            Err(error) => {
                self.sessions.handshakes_bad.fetch_add(1, Ordering::Relaxed);
                Err(error)
            }
        }
    }

    /// Bytes that were received and not consumed yet.
    pub fn buffered(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Takes `count` bytes off the front of [`Wire::buffered`].
    pub fn consume(&mut self, count: usize) {
        self.start = (self.start + count).min(self.buffer.len());
        if self.start == self.buffer.len() {
            self.forget();
        }
    }

    /// Throws buffered input away and gives a large buffer back.
    fn forget(&mut self) {
        self.buffer.clear();
        self.start = 0;
        if self.buffer.capacity() > QUIET_BYTES {
            self.buffer = Vec::new();
        }
    }

    /// Waits for more input behind what is buffered and returns how many bytes came.
    /// Cancel-safe: what was received is in the buffer.
    ///
    /// # Errors
    /// [`WireError::Closed`] at the end of input, [`WireError::Timeout`] after `wait`.
    pub async fn fill(&mut self, wait: Duration) -> Result<usize, WireError> {
        if self.start > 0 && self.start >= self.buffer.len() / 2 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        let room = self.room();
        let count = within(wait, receive(&mut self.stream, &mut self.buffer, room)).await?;
        self.received(count)
    }

    /// How much the next read may bring.
    fn room(&self) -> usize {
        if self.is_busy { BUSY_BYTES } else { QUIET_BYTES }
    }

    /// Notes that a read brought so many bytes.
    fn received(&mut self, count: usize) -> Result<usize, WireError> {
        self.is_busy = count >= QUIET_BYTES;
        self.sessions.received.fetch_add(count as u64, Ordering::Relaxed);
        if count == 0 { Err(WireError::Closed) } else { Ok(count) }
    }

    /// Reads one line into `line` (cleared first), without its LF or CRLF; `true` when it ended
    /// with CRLF. The whole line has to come within `wait`, however it drips. Cancel-safe.
    ///
    /// # Errors
    /// [`WireError::TooLong`] when more than `max` bytes come before the LF; the line is skipped.
    pub async fn read_line(
        &mut self,
        line: &mut Vec<u8>,
        max: usize,
        wait: Duration,
    ) -> Result<bool, WireError> {
        line.clear();
        let mut searched = 0;
        let mut until = None;
        loop {
            let buffered = self.buffered();
            if let Some(at) = buffered[searched..].iter().position(|byte| *byte == b'\n') {
                let end = searched + at;
                let text = &buffered[..end];
                let crlf = text.ends_with(b"\r");
                let text = text.strip_suffix(b"\r").unwrap_or(text);
                let too_long = text.len() > max;
                if !too_long {
                    line.extend_from_slice(text);
                }
                self.consume(end + 1);
                return if too_long { Err(WireError::TooLong { max }) } else { Ok(crlf) };
            }
            searched = buffered.len();
            let until = *until.get_or_insert_with(|| Instant::now() + wait);
            if searched > max + 1 {
                self.skip_line(until).await?;
                return Err(WireError::TooLong { max });
            }
            self.fill_until(until).await?;
        }
    }

    async fn fill_until(&mut self, until: Instant) -> Result<usize, WireError> {
        match until.checked_duration_since(Instant::now()) {
            Some(wait) => self.fill(wait).await,
            None => Err(WireError::Timeout),
        }
    }

    async fn skip_line(&mut self, until: Instant) -> Result<(), WireError> {
        let mut skipped = 0;
        while skipped <= SKIP_BYTES_MAX {
            if let Some(at) = self.buffered().iter().position(|byte| *byte == b'\n') {
                self.consume(at + 1);
                return Ok(());
            }
            skipped += self.buffered().len();
            self.forget();
            self.fill_until(until).await?;
        }
        Err(WireError::Closed)
    }

    /// Appends exactly `count` bytes of input to `out`; `wait` is the longest silence.
    ///
    /// # Errors
    /// [`WireError::Closed`] when the input ends before that.
    pub async fn read_exact(
        &mut self,
        count: usize,
        out: &mut Vec<u8>,
        wait: Duration,
    ) -> Result<(), WireError> {
        let mut missing = count;
        loop {
            let ready = self.buffered().len().min(missing);
            out.extend_from_slice(&self.buffered()[..ready]);
            self.consume(ready);
            missing -= ready;
            if missing == 0 {
                return Ok(());
            }
            if missing < QUIET_BYTES {
                // Together with what follows.
                self.fill(wait).await?;
            } else {
                missing -= self.read_into(missing, out, wait).await?;
            }
        }
    }

    /// Reads at most `missing` bytes to where they belong, with nothing buffered before them.
    async fn read_into(
        &mut self,
        missing: usize,
        out: &mut Vec<u8>,
        wait: Duration,
    ) -> Result<usize, WireError> {
        let room = missing.min(BUSY_BYTES.max(out.capacity() - out.len()));
        let count = within(wait, receive(&mut self.stream, out, room)).await?;
        self.received(count)
    }

    /// Writes all of `bytes`; `wait` is the longest time that a piece of 64 KiB may take.
    ///
    /// # Errors
    /// [`WireError::Timeout`] when the peer does not read.
    pub async fn write_all(&mut self, bytes: &[u8], wait: Duration) -> Result<(), WireError> {
        let at_once = self.send_at_once(bytes);
        self.sessions.sent.fetch_add(at_once as u64, Ordering::Relaxed);
        for piece in bytes[at_once..].chunks(BUSY_BYTES) {
            within(wait, send(&mut self.stream, piece)).await?;
            self.sessions.sent.fetch_add(piece.len() as u64, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Sends what the system takes without waiting, mostly all of it, and gives how much that was.
    fn send_at_once(&self, bytes: &[u8]) -> usize {
        match &self.stream {
            // Whatever is in the way is met again by who waits.
            Stream::Plain(stream) => stream.try_write(bytes).unwrap_or(0),
            _ => 0,
        }
    }

    /// Says good-bye on the transport (TLS close_notify, FIN). Errors do not matter any more.
    pub async fn close(mut self) {
        let wait = Duration::from_secs(2);
        let _ = match &mut self.stream {
            Stream::Plain(stream) => within(wait, stream.shutdown()).await,
            Stream::Tls(tls) => within(wait, tls.stream.shutdown()).await,
            Stream::Memory(stream) => within(wait, stream.shutdown()).await,
            Stream::Gone => Ok(()),
        };
    }
}

/// The future's answer, or [`WireError::Timeout`] after `wait`.
async fn within<T>(
    wait: Duration,
    work: impl Future<Output = io::Result<T>>,
) -> Result<T, WireError> {
    match tokio::time::timeout(wait, work).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(lost(error)),
        Err(_) => Err(WireError::Timeout),
    }
}

fn lost(error: io::Error) -> WireError {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    match error.kind() {
        BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof => WireError::Closed,
        _ => WireError::Io(error),
    }
}

/// Waits for at most `room` bytes behind those in the buffer. Whoever waits with an empty buffer
/// holds none: most connections are quiet most of the time.
fn receive(
    stream: &mut Stream,
    buffer: &mut Vec<u8>,
    room: usize,
) -> impl Future<Output = io::Result<usize>> + Send {
    poll_fn(move |context| {
        if buffer.is_empty()
            && let Stream::Plain(stream) = &*stream
            && stream.poll_read_ready(context)?.is_pending()
        {
            // Room is made only for what is there.
            *buffer = Vec::new();
            return Poll::Pending;
        }
        buffer.reserve(room);
        let most = room as u64;
        // These futures hold nothing between two polls.
        let read = match stream {
            Stream::Plain(stream) => pin!(stream.take(most).read_buf(buffer)).poll(context),
            Stream::Tls(tls) => pin!((&mut tls.stream).take(most).read_buf(buffer)).poll(context),
            Stream::Memory(stream) => pin!(stream.take(most).read_buf(buffer)).poll(context),
            Stream::Gone => Poll::Ready(Ok(0)),
        };
        if read.is_pending() && buffer.is_empty() {
            *buffer = Vec::new();
        }
        read
    })
}

async fn send(stream: &mut Stream, bytes: &[u8]) -> io::Result<()> {
    match stream {
        Stream::Plain(stream) => stream.write_all(bytes).await,
        Stream::Tls(tls) => {
            tls.stream.write_all(bytes).await?;
            tls.stream.flush().await
        }
        Stream::Memory(stream) => stream.write_all(bytes).await,
        Stream::Gone => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

#[cfg(test)]
mod tests;
