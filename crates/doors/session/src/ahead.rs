//! What lies beneath TLS: a TCP stream that is read ahead while much comes, since TLS itself asks
//! for little at a time.

use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Bytes read at once while much comes.
const AHEAD_BYTES: usize = 64 * 1024;
/// A read that brings so many bytes is followed by a large one.
const MUCH_BYTES: usize = 2 * 1024;

/// A TCP stream with a buffer that is there only between a large read and the taking of what it
/// brought.
#[derive(Debug)]
pub(crate) struct Ahead {
    stream: TcpStream,
    buffer: Vec<u8>,
    start: usize,
    /// The last read brought much.
    is_busy: bool,
}

impl Ahead {
    pub(crate) fn new(stream: TcpStream) -> Ahead {
        Ahead { stream, buffer: Vec::new(), start: 0, is_busy: false }
    }

    /// Fills the empty buffer.
    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.stream.poll_read_ready(context))?;
        self.buffer.reserve_exact(AHEAD_BYTES);
        // This future holds nothing between two polls.
        let read = pin!(self.stream.read_buf(&mut self.buffer)).poll(context);
        if read.is_pending() {
            self.buffer = Vec::new();
        }
        self.is_busy = ready!(read)? >= MUCH_BYTES;
        Poll::Ready(Ok(()))
    }

    /// Gives what fits, and the buffer back when it is empty.
    fn take(&mut self, out: &mut ReadBuf<'_>) {
        let kept = &self.buffer[self.start..];
        let count = kept.len().min(out.remaining());
        out.put_slice(&kept[..count]);
        self.start += count;
        if self.start == self.buffer.len() {
            (self.buffer, self.start) = (Vec::new(), 0);
        }
    }
}

impl AsyncRead for Ahead {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let ahead = self.get_mut();
        if ahead.buffer.is_empty() && !ahead.is_busy {
            let before = out.filled().len();
            ready!(Pin::new(&mut ahead.stream).poll_read(context, out))?;
            ahead.is_busy = out.filled().len() - before >= MUCH_BYTES;
            return Poll::Ready(Ok(()));
        }
        if ahead.buffer.is_empty() {
            ready!(ahead.poll_fill(context))?;
        }
        ahead.take(out);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Ahead {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn what_is_read_ahead_comes_in_order_and_no_buffer_stays() {
        let sent: Vec<u8> = (0..300_000u32).map(|at| (at % 253) as u8).collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let mut far = Ahead::new(listener.accept().await.unwrap().0);
        let bytes = sent.clone();
        let writer = tokio::spawn(async move {
            near.write_all(&bytes[..100]).await.unwrap();
            near.write_all(&bytes[100..]).await.unwrap();
        });
        let (mut seen, mut was_ahead) = (Vec::new(), false);
        let mut piece = [0; 4_096];
        loop {
            let count = far.read(&mut piece).await.unwrap();
            if count == 0 {
                break;
            }
            seen.extend_from_slice(&piece[..count]);
            was_ahead |= far.buffer.len() > piece.len();
        }
        writer.await.unwrap();
        assert!(seen == sent && was_ahead);
        assert_eq!(far.buffer.capacity(), 0);
    }
}
