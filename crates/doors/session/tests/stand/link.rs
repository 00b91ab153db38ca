//! The other end of a connection, for the tests of every door; nothing waits for ever. What it
//! knows of a protocol stands beside the tests of that door.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Longest wait for anything.
const WAIT: Duration = Duration::from_secs(20);

trait Both: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Both for T {}

/// A client's end of a connection.
pub struct Client {
    stream: Box<dyn Both>,
    /// What came and was not taken yet.
    pub buffer: Vec<u8>,
    /// Commands whose answers were read.
    pub commands: u32,
}

impl Client {
    pub fn new(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> Client {
        Client { stream: Box::new(stream), buffer: Vec::new(), commands: 0 }
    }

    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let written = self.stream.write_all(bytes.as_ref());
        tokio::time::timeout(WAIT, written).await.expect("the server does not read").unwrap();
    }

    /// Sends as much as the server takes before it closes.
    pub async fn send_until_closed(&mut self, bytes: &[u8]) {
        let written = self.stream.write_all(bytes);
        let _ = tokio::time::timeout(WAIT, written).await.expect("the server does not read");
    }

    /// Waits for more input; false at its end.
    pub async fn more(&mut self) -> bool {
        let read = self.stream.read_buf(&mut self.buffer);
        let read = tokio::time::timeout(WAIT, read).await.expect("the server is silent");
        read.unwrap_or(0) > 0
    }
}
