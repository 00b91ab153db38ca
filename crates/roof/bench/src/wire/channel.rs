//! A connection: lines and octets in, pieces out, counted, limited, and in time.

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;

use super::{Error, Timeouts, Traffic, tls};
use crate::target::Endpoint;

/// Octets of the buffer that all connections of a thread read through.
const READ_OCTETS: usize = 64 << 10;
/// Octets of a buffer that an idle connection may keep.
const KEPT_OCTETS: usize = 4 << 10;
/// Pieces that are written in one go.
const PIECES_MAX: usize = 16;

thread_local! {
    static THROUGH: RefCell<Vec<u8>> = RefCell::new(vec![0; READ_OCTETS]);
}

#[derive(Debug)]
enum Stream {
    Plain(TcpStream),
    Secured(Box<TlsStream<TcpStream>>),
    /// Between the two, and after the end.
    Gone,
}

impl Stream {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, into),
            Self::Secured(stream) => Pin::new(stream).poll_read(cx, into),
            Self::Gone => Poll::Ready(Ok(())),
        }
    }

    fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        from: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, from),
            Self::Secured(stream) => {
                let first = from.iter().find(|piece| !piece.is_empty());
                Pin::new(stream).poll_write(cx, first.map_or(&[], |piece| piece))
            }
            Self::Gone => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }
}

/// A connection of a client.
#[derive(Debug)]
pub(super) struct Channel {
    stream: Stream,
    /// What was read beyond what was asked for; taken up to `taken`.
    ahead: Vec<u8>,
    taken: usize,
    /// Since the connection, and the same at the last time it was taken.
    traffic: Traffic,
    counted: Traffic,
    pub(super) timeouts: Timeouts,
    /// A call began and did not end well.
    spent: bool,
}

impl Channel {
    pub(super) async fn connect(to: &Endpoint, timeouts: Timeouts) -> Result<Self, Error> {
        let stream = TcpStream::connect((to.address, to.port)).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream: Stream::Plain(stream),
            ahead: Vec::new(),
            taken: 0,
            traffic: Traffic::default(),
            counted: Traffic::default(),
            timeouts,
            spent: false,
        })
    }

    /// Puts TLS on the connection. What the server sent in the clear beyond its last answer is an
    /// error (it may be somebody else's).
    pub(super) async fn secure(&mut self, to: &Endpoint) -> Result<(), Error> {
        if self.taken < self.ahead.len() {
            return Err(Error::protocol("data in the clear before TLS", &self.ahead[self.taken..]));
        }
        if let Stream::Plain(plain) = std::mem::replace(&mut self.stream, Stream::Gone) {
            self.stream = Stream::Secured(Box::new(tls::secure(plain, to).await?));
        }
        Ok(())
    }

    pub(super) fn traffic(&self) -> Traffic {
        self.traffic
    }

    pub(super) fn take_traffic(&mut self) -> Traffic {
        let before = std::mem::replace(&mut self.counted, self.traffic);
        Traffic {
            requests: self.traffic.requests - before.requests,
            octets_in: self.traffic.octets_in - before.octets_in,
            octets_out: self.traffic.octets_out - before.octets_out,
        }
    }

    pub(super) fn count_requests(&mut self, requests: u64) {
        self.traffic.requests += requests;
    }

    /// Adds what another connection of the same client carried before.
    pub(super) fn carry_on(&mut self, traffic: Traffic, counted: Traffic) {
        self.traffic += traffic;
        self.counted = counted;
    }

    pub(super) fn counters(&self) -> (Traffic, Traffic) {
        (self.traffic, self.counted)
    }

    /// Whether all that came in has been taken.
    pub(super) fn is_drained(&self) -> bool {
        self.taken == self.ahead.len()
    }

    #[cfg(test)]
    pub(super) fn kept_octets(&self) -> usize {
        self.ahead.capacity()
    }

    /// A call begins. It must reach [`Channel::end`], or the connection is spent: an answer that
    /// nobody waited for must not be taken for that of the next call.
    pub(super) fn begin(&mut self) -> Result<(), Error> {
        if std::mem::replace(&mut self.spent, true) {
            self.stream = Stream::Gone;
            return Err(Error::Closed);
        }
        Ok(())
    }

    /// A call ended; a refusal is a good end.
    pub(super) fn end<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        match &result {
            Ok(_) | Err(Error::Refused { .. }) => self.spent = false,
            Err(_) => self.stream = Stream::Gone,
        }
        if self.is_drained() {
            self.taken = 0;
            match self.ahead.capacity() > KEPT_OCTETS {
                true => self.ahead = Vec::new(),
                false => self.ahead.clear(),
            }
        }
        result
    }

    /// Reads once and shows what came to `take`, which says how much of it is used; the rest is
    /// kept for later.
    pub(super) async fn pull(&mut self, mut take: impl FnMut(&[u8]) -> usize) -> Result<(), Error> {
        if !self.is_drained() {
            self.taken += take(&self.ahead[self.taken..]);
            return Ok(());
        }
        self.ahead.clear();
        self.taken = 0;
        let (stream, ahead) = (&mut self.stream, &mut self.ahead);
        let octets = poll_fn(|cx| {
            THROUGH.with_borrow_mut(|through| {
                let mut buffer = ReadBuf::new(through);
                ready!(stream.poll_read(cx, &mut buffer))?;
                let filled = buffer.filled();
                if !filled.is_empty() {
                    let used = take(filled);
                    ahead.extend_from_slice(&filled[used..]);
                }
                Poll::Ready(io::Result::Ok(filled.len()))
            })
        })
        .await?;
        self.traffic.octets_in += octets as u64;
        if octets == 0 { Err(Error::Closed) } else { Ok(()) }
    }

    /// Adds the next line to `line`, its end included. `limit`: octets of `line` at the most.
    pub(super) async fn line(&mut self, line: &mut Vec<u8>, limit: usize) -> Result<(), Error> {
        let mut ended = false;
        while !ended {
            self.pull(|octets| {
                let end = memchr::memchr(b'\n', octets).map(|at| at + 1);
                ended = end.is_some();
                let used = end.unwrap_or(octets.len());
                line.extend_from_slice(&octets[..used]);
                used
            })
            .await?;
            if line.len() > limit {
                return Err(Error::Limit { what: "a line", limit: limit as u64 });
            }
        }
        Ok(())
    }

    /// Shows the next `octets` octets to `sink` as they come.
    pub(super) async fn pass(
        &mut self,
        mut octets: u64,
        mut sink: impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        while octets > 0 {
            self.pull(|came| {
                let used = usize::try_from(octets).unwrap_or(usize::MAX).min(came.len());
                sink(&came[..used]);
                octets -= used as u64;
                used
            })
            .await?;
        }
        Ok(())
    }

    /// Sends all of it.
    pub(super) async fn write(&mut self, octets: &[u8]) -> Result<(), Error> {
        self.write_slices(&mut [IoSlice::new(octets)]).await?;
        self.flush().await
    }

    /// Sends `before`, all pieces, `after`, without copying any of them.
    pub(super) async fn write_pieces<'a>(
        &mut self,
        before: &'a [u8],
        pieces: impl Iterator<Item = &'a Bytes>,
        after: &'a [u8],
    ) -> Result<(), Error> {
        let all = std::iter::once(before).chain(pieces.map(|piece| &piece[..]));
        let mut slices: Vec<IoSlice<'a>> = all.map(IoSlice::new).collect();
        slices.push(IoSlice::new(after));
        for some in slices.chunks_mut(PIECES_MAX) {
            self.write_slices(some).await?;
        }
        self.flush().await
    }

    async fn write_slices(&mut self, mut slices: &mut [IoSlice<'_>]) -> Result<(), Error> {
        while slices.iter().any(|slice| !slice.is_empty()) {
            let stream = &mut self.stream;
            let written = poll_fn(|cx| stream.poll_write(cx, slices)).await?;
            if written == 0 {
                return Err(Error::Closed);
            }
            self.traffic.octets_out += written as u64;
            IoSlice::advance_slices(&mut slices, written);
        }
        Ok(())
    }

    /// Sends what TLS holds back.
    async fn flush(&mut self) -> Result<(), Error> {
        match &mut self.stream {
            Stream::Secured(stream) => Ok(stream.flush().await?),
            Stream::Plain(_) | Stream::Gone => Ok(()),
        }
    }
}

/// Gives a call so much time.
pub(super) async fn within<T>(
    after: Duration,
    what: &'static str,
    call: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    match timeout(after, call).await {
        Ok(result) => result,
        Err(_) => Err(Error::Timeout { what, after }),
    }
}
