//! What a client knows of the protocol: lines and long replies.

pub use crate::link::Client;

impl Client {
    /// The next line without its CRLF; `None` at the end.
    pub async fn bytes_or_end(&mut self) -> Option<Vec<u8>> {
        let mut searched = 0;
        loop {
            let at = self.buffer[searched..].windows(2).position(|pair| pair == b"\r\n");
            if let Some(at) = at {
                let end = searched + at;
                let mut line: Vec<u8> = self.buffer.drain(..end + 2).collect();
                line.truncate(end);
                return Some(line);
            }
            searched = self.buffer.len().saturating_sub(1);
            if !self.more().await {
                assert!(self.buffer.is_empty(), "the connection ends within a line");
                return None;
            }
        }
    }

    pub async fn line_or_end(&mut self) -> Option<String> {
        let line = self.bytes_or_end().await?;
        Some(String::from_utf8_lossy(&line).into_owned())
    }

    pub async fn line(&mut self) -> String {
        self.line_or_end().await.expect("the connection ended")
    }

    /// Sends a command and reads the line that answers it.
    pub async fn run(&mut self, command: &str) -> String {
        self.commands += 1;
        self.send(format!("{command}\r\n")).await;
        self.line().await
    }

    /// The same for a command that has to succeed.
    pub async fn ok(&mut self, command: &str) -> String {
        let line = self.run(command).await;
        assert!(line.starts_with("+OK"), "{command}, number {}: {line}", self.commands);
        line
    }

    /// The rest of a long reply: its lines with CRLF, without added dots.
    pub async fn rest(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            let line = self.bytes_or_end().await.expect("the connection ends within a reply");
            match line.strip_prefix(b".") {
                Some([]) => return all,
                Some(rest) => all.extend_from_slice(rest),
                None => all.extend_from_slice(&line),
            }
            all.extend_from_slice(b"\r\n");
        }
    }

    /// Sends a command that has to succeed with a long reply.
    pub async fn long(&mut self, command: &str) -> Vec<u8> {
        self.ok(command).await;
        self.rest().await
    }

    /// The lines of a long reply.
    pub async fn lines(&mut self, command: &str) -> Vec<String> {
        let reply = String::from_utf8(self.long(command).await).unwrap();
        reply.lines().map(str::to_owned).collect()
    }

    /// The next thing has to be the end of the connection.
    pub async fn ends(&mut self) {
        assert_eq!(self.line_or_end().await, None, "the connection goes on");
    }
}
