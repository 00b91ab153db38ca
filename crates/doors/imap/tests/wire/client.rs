//! What a client knows of the protocol: lines, literals and tags.

pub use crate::link::Client;

/// The replies to one command: the untagged ones, and the tagged one last.
#[derive(Debug)]
pub struct Replies {
    pub untagged: Vec<Vec<u8>>,
    pub tagged: String,
}

impl Client {
    /// One response: a line with its literals, without the last CRLF. `None` at the end.
    pub async fn unit_or_end(&mut self) -> Option<Vec<u8>> {
        let mut searched = 0;
        loop {
            if let Some(at) = find(&self.buffer[searched..], b"\r\n") {
                let line = &self.buffer[searched..searched + at];
                let end = searched + at + 2;
                let Some(literal) = literal_at_end(line) else {
                    let mut unit: Vec<u8> = self.buffer.drain(..end).collect();
                    unit.truncate(end - 2);
                    crate::responses::check(&unit);
                    return Some(unit);
                };
                while self.buffer.len() < end + literal {
                    assert!(self.more().await, "the connection ends within a literal");
                }
                searched = end + literal;
                continue;
            }
            if !self.more().await {
                assert!(self.buffer.is_empty(), "the connection ends within a line");
                return None;
            }
        }
    }

    pub async fn unit(&mut self) -> Vec<u8> {
        self.unit_or_end().await.expect("the connection ended")
    }

    pub async fn line(&mut self) -> String {
        String::from_utf8(self.unit().await).unwrap()
    }

    /// Sends a command under a new tag and reads up to its tagged reply.
    pub async fn run(&mut self, command: impl AsRef<[u8]>) -> Replies {
        self.commands += 1;
        let tag = format!("t{}", self.commands);
        let command = [tag.as_bytes(), b" ", command.as_ref(), b"\r\n"].concat();
        self.send(&command).await;
        let mut untagged = Vec::new();
        loop {
            let unit = self.unit().await;
            if let Some(rest) = unit.strip_prefix(format!("{tag} ").as_bytes()) {
                return Replies { untagged, tagged: String::from_utf8(rest.to_vec()).unwrap() };
            }
            untagged.push(unit);
        }
    }

    /// The same for a command that has to succeed.
    pub async fn ok(&mut self, command: impl AsRef<[u8]>) -> Replies {
        let replies = self.run(command.as_ref()).await;
        let shown = String::from_utf8_lossy(command.as_ref()).into_owned();
        assert!(replies.tagged.starts_with("OK"), "{shown}: {}", replies.tagged);
        replies
    }

    /// Appends a message to a mailbox.
    pub async fn append(&mut self, mailbox: &str, message: &[u8]) -> Replies {
        let mut command = format!("APPEND {mailbox} {{{}+}}\r\n", message.len()).into_bytes();
        command.extend_from_slice(message);
        self.ok(command).await
    }

    /// The next thing has to be the end of the connection.
    pub async fn ends(&mut self) {
        let unit = self.unit_or_end().await;
        let shown = unit.map(|unit| String::from_utf8_lossy(&unit).into_owned());
        assert_eq!(shown, None, "the connection goes on");
    }
}

impl Replies {
    /// The untagged replies as text.
    pub fn lines(&self) -> Vec<String> {
        self.untagged.iter().map(|unit| String::from_utf8_lossy(unit).into_owned()).collect()
    }
}

pub fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// The length of the literal that a line announces.
pub fn literal_at_end(line: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(line.strip_suffix(b"}")?).ok();
    let text = text.map(str::to_owned).unwrap_or_else(|| String::from_utf8_lossy(line).into());
    let (_, digits) = text.trim_end_matches('}').rsplit_once('{')?;
    digits.parse().ok()
}
