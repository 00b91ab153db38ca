//! A small blocking POP3 client that takes one message away.

use super::imap::ImapError;
use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

/// One connection, signed in.
pub struct Pop3 {
    stream: BufReader<TcpStream>,
}

impl Pop3 {
    /// Connects to loopback and signs in; `None`: the mail file is still in use by a session that
    /// has just gone.
    pub fn connect(port: u16, user: &str, password: &str) -> Result<Option<Pop3>, ImapError> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        stream.set_nodelay(true)?;
        let mut pop = Pop3 { stream: BufReader::new(stream) };
        pop.line()?;
        pop.command(&format!("USER {user}"))?;
        match pop.command(&format!("PASS {password}")) {
            Ok(()) => Ok(Some(pop)),
            Err(ImapError::Refused(text)) if text.contains("[IN-USE]") => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The number of the message with this uid, which its unique id ends with in hex.
    pub fn number_of(&mut self, uid: u32) -> Result<Option<u32>, ImapError> {
        self.command("UIDL")?;
        let mut found = None;
        loop {
            let line = self.line()?;
            if line == "." {
                return Ok(found);
            }
            found = found.or_else(|| number_in(&line, uid));
        }
    }

    /// Deletes the message and ends the session; only then it is gone.
    pub fn delete(mut self, number: u32) -> Result<(), ImapError> {
        self.command(&format!("DELE {number}"))?;
        self.command("QUIT")
    }

    fn command(&mut self, command: &str) -> Result<(), ImapError> {
        self.stream.get_mut().write_all(format!("{command}\r\n").as_bytes())?;
        let answer = self.line()?;
        match answer.starts_with("+OK") {
            true => Ok(()),
            // in the words that the load knows refusals by
            false => Err(ImapError::Refused(format!("POP3 NO {answer}"))),
        }
    }

    fn line(&mut self) -> Result<String, ImapError> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        match line.strip_suffix("\r\n") {
            Some(line) => Ok(line.to_owned()),
            None => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
        }
    }
}

/// The number in a line of UIDL that is about this uid.
fn number_in(line: &str, uid: u32) -> Option<u32> {
    let (number, id) = line.split_once(' ')?;
    let of = u32::from_str_radix(id.get(id.len().checked_sub(8)?..)?, 16).ok()?;
    if of == uid { number.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::number_in;

    #[test]
    fn unique_ids_end_with_the_uid() {
        assert_eq!(number_in("3 6a0f3b210000001c", 28), Some(3));
        assert_eq!(number_in("3 6a0f3b210000001c", 27), None);
        assert_eq!(number_in("3 short", 27), None);
    }
}
