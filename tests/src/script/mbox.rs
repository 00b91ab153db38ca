//! The messages of a test, from an mbox file.

use std::path::Path;

/// Messages that are handed out one after the other, and again from the first.
#[derive(Debug)]
pub(super) struct Source {
    messages: Vec<Message>,
    next: usize,
}

/// One message.
#[derive(Debug, Clone)]
pub(super) struct Message {
    /// Its bytes, with CRLF.
    pub text: Vec<u8>,
    /// The date of its `From ` line as APPEND wants it, when it has one.
    pub date: Option<String>,
}

impl Source {
    /// Reads a file.
    pub(super) fn load(path: &Path) -> Result<Source, String> {
        let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let messages = split(&bytes);
        match messages.is_empty() {
            true => Err(format!("{}: no message", path.display())),
            false => Ok(Source { messages, next: 0 }),
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.messages.len()
    }

    /// The next one.
    pub(super) fn next(&mut self) -> Message {
        let message = self.messages[self.next % self.messages.len()].clone();
        self.next += 1;
        message
    }
}

fn split(bytes: &[u8]) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b"From ") {
            messages.push(Message { text: Vec::new(), date: date(line) });
        } else if let Some(message) = messages.last_mut() {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            message.text.extend_from_slice(line);
            message.text.extend_from_slice(b"\r\n");
        }
    }
    messages
}

/// `From sender  Fri Feb 22 17:06:23 2008 [+0200]`.
fn date(line: &[u8]) -> Option<String> {
    let line = String::from_utf8_lossy(line);
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, _, _, month, day, time, year, rest @ ..] = &words[..] else { return None };
    let day: u32 = day.parse().ok()?;
    let zone = rest.first().copied().unwrap_or("+0000");
    Some(format!("\"{day:2}-{month}-{year} {time} {zone}\""))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn two_messages() {
        let text = b"From a  Fri Feb 2 17:06:23 2008\nSubject: x\n\nb\n\nFrom a b\nX: y\n";
        let found = split(text);
        assert_eq!(found[0].text, b"Subject: x\r\n\r\nb\r\n\r\n");
        assert_eq!(found[0].date.as_deref(), Some("\" 2-Feb-2008 17:06:23 +0000\""));
        assert_eq!((found[1].text.as_slice(), &found[1].date), (&b"X: y\r\n"[..], &None));
    }
}
