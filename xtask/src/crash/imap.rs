//! A small blocking IMAP client: sends a command, gathers the answer with its literals.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Why a command did not succeed.
#[derive(Debug)]
pub enum ImapError {
    /// The connection broke: whether the command was carried out is not known.
    Broken(io::Error),
    /// The server answered NO, BAD or something unexpected.
    Refused(String),
}

impl From<io::Error> for ImapError {
    fn from(e: io::Error) -> Self {
        ImapError::Broken(e)
    }
}

/// One line of an answer; its literals are taken out and stand in order beside it.
#[derive(Debug, Clone)]
pub struct Line {
    pub text: String,
    pub literals: Vec<Vec<u8>>,
}

/// One message of a FETCH answer.
#[derive(Debug, Clone)]
pub struct Fetched {
    pub uid: u32,
    pub flags: Vec<String>,
    pub literal: Vec<u8>,
}

/// One connection.
pub struct Imap {
    stream: BufReader<TcpStream>,
    tag: u32,
}

impl Imap {
    /// Connects to loopback and signs in.
    pub fn connect(port: u16, user: &str, password: &str) -> Result<Imap, ImapError> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        stream.set_nodelay(true)?;
        let mut imap = Imap { stream: BufReader::with_capacity(1 << 16, stream), tag: 0 };
        let greeting = imap.line()?;
        if !greeting.text.starts_with("* OK") {
            return Err(ImapError::Refused(greeting.text));
        }
        imap.command(&format!("LOGIN {user} {password}"))?;
        Ok(imap)
    }

    /// Sends a command and gives all lines of the answer, the tagged one last.
    pub fn command(&mut self, command: &str) -> Result<Vec<Line>, ImapError> {
        self.tag += 1;
        let tag = format!("c{}", self.tag);
        self.stream.get_mut().write_all(format!("{tag} {command}\r\n").as_bytes())?;
        self.answer(&tag, command)
    }

    /// APPENDs `message`; gives (UIDVALIDITY, UID) of the new entry.
    pub fn append(&mut self, mailbox: &str, message: &[u8]) -> Result<(u32, u32), ImapError> {
        self.tag += 1;
        let tag = format!("c{}", self.tag);
        let head = format!("{tag} APPEND {mailbox} {{{}}}\r\n", message.len());
        self.stream.get_mut().write_all(head.as_bytes())?;
        loop {
            let line = self.line()?;
            if line.text.starts_with('+') {
                break;
            }
            if line.text.starts_with(&tag) {
                return Err(ImapError::Refused(format!("APPEND: {}", line.text)));
            }
        }
        self.stream.get_mut().write_all(message)?;
        self.stream.get_mut().write_all(b"\r\n")?;
        let lines = self.answer(&tag, "APPEND")?;
        let numbers = code_numbers(&lines, "APPENDUID", 2);
        match numbers.as_deref() {
            Some([validity, uid]) => Ok((*validity, *uid)),
            _ => Err(ImapError::Refused("APPEND without APPENDUID".into())),
        }
    }

    /// SELECTs a mailbox; gives its UIDVALIDITY.
    pub fn select(&mut self, mailbox: &str) -> Result<u32, ImapError> {
        let lines = self.command(&format!("SELECT {mailbox}"))?;
        match code_numbers(&lines, "UIDVALIDITY", 1).as_deref() {
            Some([validity]) => Ok(*validity),
            _ => Err(ImapError::Refused("SELECT without UIDVALIDITY".into())),
        }
    }

    /// COPY or MOVE of one UID of the selected mailbox; gives the UID it got there.
    pub fn transfer(&mut self, verb: &str, uid: u32, to: &str) -> Result<u32, ImapError> {
        let lines = self.command(&format!("UID {verb} {uid} {to}"))?;
        match code_numbers(&lines, "COPYUID", 3).as_deref() {
            Some([_, from, to]) if *from == uid => Ok(*to),
            other => Err(ImapError::Refused(format!("UID {verb} {uid}: COPYUID {other:?}"))),
        }
    }

    /// The messages of a UID set with their flags and `item`, a `BODY.PEEK[…]` form.
    pub fn fetch(&mut self, set: &str, item: &str) -> Result<Vec<Fetched>, ImapError> {
        let lines = self.command(&format!("UID FETCH {set} (UID FLAGS {item})"))?;
        Ok(lines.iter().filter_map(fetched).collect())
    }

    /// The names of all mailboxes.
    pub fn list(&mut self) -> Result<Vec<String>, ImapError> {
        let lines = self.command("LIST \"\" \"*\"")?;
        let listed = lines.iter().filter(|l| l.text.starts_with("* LIST"));
        Ok(listed.filter_map(|l| l.text.rsplit(' ').next()).map(unquote).collect())
    }

    fn answer(&mut self, tag: &str, command: &str) -> Result<Vec<Line>, ImapError> {
        let mut lines = Vec::new();
        loop {
            let line = self.line()?;
            let Some(rest) = line.text.strip_prefix(tag) else {
                lines.push(line);
                continue;
            };
            if !rest.starts_with(" OK") {
                return Err(ImapError::Refused(format!("{command}: {}", line.text)));
            }
            lines.push(line);
            return Ok(lines);
        }
    }

    fn line(&mut self) -> Result<Line, ImapError> {
        let mut line = Line { text: String::new(), literals: Vec::new() };
        loop {
            let mut part = Vec::new();
            self.stream.read_until(b'\n', &mut part)?;
            if !part.ends_with(b"\n") {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            let part = String::from_utf8_lossy(&part);
            let part = part.trim_end_matches(['\r', '\n']);
            line.text.push_str(part);
            let Some(length) = literal_length(part) else { return Ok(line) };
            let mut literal = vec![0; length];
            self.stream.read_exact(&mut literal)?;
            line.literals.push(literal);
        }
    }
}

fn literal_length(line: &str) -> Option<usize> {
    let (_, length) = line.strip_suffix('}')?.rsplit_once('{')?;
    length.parse().ok()
}

fn unquote(name: &str) -> String {
    name.trim_matches('"').to_owned()
}

/// The numbers of a response code such as `[COPYUID 7 3 4]`, wherever in the answer it stands.
fn code_numbers(lines: &[Line], code: &str, count: usize) -> Option<Vec<u32>> {
    let start = format!("[{code} ");
    let text = lines.iter().find_map(|l| l.text.split_once(&start).map(|(_, rest)| rest))?;
    let inner = text.split(']').next()?;
    let numbers: Vec<u32> = inner.split(' ').filter_map(|n| n.parse().ok()).collect();
    (numbers.len() == count).then_some(numbers)
}

fn fetched(line: &Line) -> Option<Fetched> {
    let (_, items) = line.text.split_once(" FETCH (")?;
    let uid = items.split_once("UID ").map(|(_, rest)| rest)?;
    let uid = uid.split([' ', ')']).next()?.parse().ok()?;
    let flags = items.split_once("FLAGS (").map(|(_, rest)| rest)?.split(')').next()?;
    let flags = flags.split(' ').filter(|f| !f.is_empty()).map(str::to_owned).collect();
    let literal = line.literals.first()?.clone(); // none: a flag change nobody asked for
    Some(Fetched { uid, flags, literal })
}

#[cfg(test)]
mod tests {
    use super::{Line, code_numbers, fetched, literal_length};

    fn line(text: &str) -> Line {
        Line { text: text.into(), literals: vec![b"x".to_vec()] }
    }

    #[test]
    fn reads_what_servers_say() {
        assert_eq!(literal_length("* 1 FETCH (BODY[] {12}"), Some(12));
        assert_eq!(literal_length("* OK {x}"), None);
        let copied = [line("* OK [COPYUID 9 4 7] done"), line("c1 OK done")];
        assert_eq!(code_numbers(&copied, "COPYUID", 3), Some(vec![9, 4, 7]));
        assert_eq!(code_numbers(&copied, "APPENDUID", 2), None);
        let f = fetched(&line("* 3 FETCH (UID 12 FLAGS (\\Seen $Work) BODY[] {1})")).unwrap();
        assert_eq!((f.uid, f.flags.len(), f.literal.len()), (12, 2, 1));
        assert!(fetched(&line("* 3 FETCH (FLAGS (\\Seen))")).is_none());
    }
}
