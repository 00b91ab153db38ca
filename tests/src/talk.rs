//! One connection to a door, in lines.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Longest silence before a test gives up.
const PATIENCE: Duration = Duration::from_secs(20);

/// One line of a reply; IMAP literals are taken out and stand beside it in order.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// The line without its end.
    pub text: String,
    /// The literals announced in it.
    pub literals: Vec<Vec<u8>>,
}

/// All lines up to the one that completes a reply.
#[derive(Debug, Clone, Default)]
pub struct Reply(pub Vec<Line>);

impl Reply {
    /// The line that completes the reply.
    pub fn last(&self) -> &str {
        self.0.last().map_or("", |l| l.text.as_str())
    }

    /// The first line that contains `part`.
    pub fn line_with(&self, part: &str) -> Option<&Line> {
        self.0.iter().find(|l| l.text.contains(part))
    }

    /// All lines as one text, for messages.
    pub fn text(&self) -> String {
        self.0.iter().map(|l| l.text.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// The first literal in the reply.
    pub fn literal(&self) -> &[u8] {
        let all = self.0.iter().flat_map(|l| &l.literals);
        all.map(Vec::as_slice).next().expect("a literal")
    }
}

/// A connection.
pub struct Talk {
    stream: BufReader<TcpStream>,
    tag: u32,
}

impl Talk {
    /// Connects to loopback and says nothing.
    pub fn connect(port: u16) -> Talk {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("the port is open");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout can be set");
        stream.set_nodelay(true).expect("nodelay can be set");
        Talk { stream: BufReader::new(stream), tag: 0 }
    }

    /// IMAP, signed in.
    pub fn imap(port: u16, user: &str, password: &str) -> Talk {
        let mut talk = Talk::connect(port);
        let greeting = talk.line();
        assert!(greeting.text.starts_with("* OK"), "{greeting:?}");
        talk.say(&format!("LOGIN {user} {password}"));
        talk
    }

    /// SMTP, greeted.
    pub fn smtp(port: u16) -> Talk {
        let mut talk = Talk::connect(port);
        talk.smtp_reply("220");
        talk.tell("EHLO tests.example.test", "250");
        talk
    }

    /// POP3, signed in.
    pub fn pop3(port: u16, user: &str, password: &str) -> Talk {
        let mut talk = Talk::connect(port);
        let greeting = talk.line();
        assert!(greeting.text.starts_with("+OK"), "{greeting:?}");
        talk.pop(&format!("USER {user}"), "+OK");
        talk.pop(&format!("PASS {password}"), "+OK");
        talk
    }

    /// A POP3 command whose answer is one line, which must begin with `wanted`.
    pub fn pop(&mut self, command: &str, wanted: &str) -> String {
        self.send(format!("{command}\r\n").as_bytes());
        let answer = self.line().text;
        assert!(answer.starts_with(wanted), "{command}: wanted {wanted}: {answer}");
        answer
    }

    /// A POP3 command whose answer has several lines: those behind the first, as they are on the
    /// wire, without the line with the dot.
    pub fn pop_lines(&mut self, command: &str) -> Vec<String> {
        self.pop(command, "+OK");
        let lines = std::iter::repeat_with(|| self.line().text);
        lines.take_while(|line| line != ".").collect()
    }

    /// An IMAP command that must succeed.
    pub fn say(&mut self, command: &str) -> Reply {
        let reply = self.ask(command);
        assert!(reply.last().contains(" OK"), "{command}: {}", reply.text());
        reply
    }

    /// An IMAP command, whatever becomes of it.
    pub fn ask(&mut self, command: &str) -> Reply {
        self.tag += 1;
        let tag = format!("t{}", self.tag);
        self.send(format!("{tag} {command}\r\n").as_bytes());
        self.imap_reply(&tag)
    }

    /// APPENDs a message to a mailbox.
    pub fn append(&mut self, mailbox: &str, message: &[u8]) -> Reply {
        self.tag += 1;
        let tag = format!("t{}", self.tag);
        self.send(format!("{tag} APPEND {mailbox} {{{}}}\r\n", message.len()).as_bytes());
        let go = self.imap_reply(&tag);
        assert!(go.last().starts_with('+'), "{}", go.text());
        self.send(message);
        self.send(b"\r\n");
        let reply = self.imap_reply(&tag);
        assert!(reply.last().contains(" OK"), "{}", reply.text());
        reply
    }

    /// Lines up to the tagged one or a continuation request.
    pub fn imap_reply(&mut self, tag: &str) -> Reply {
        let mut reply = Reply::default();
        loop {
            let line = self.line();
            let last = line.text.starts_with(&format!("{tag} ")) || line.text.starts_with('+');
            reply.0.push(line);
            if last {
                return reply;
            }
        }
    }

    /// An SMTP command that must be answered with a code that begins with `code`.
    pub fn tell(&mut self, command: &str, code: &str) -> Reply {
        self.send(format!("{command}\r\n").as_bytes());
        self.smtp_reply(code)
    }

    /// Hands in one message.
    pub fn deliver(&mut self, from: &str, to: &[&str], message: &[u8]) {
        self.tell(&format!("MAIL FROM:<{from}>"), "250");
        for recipient in to {
            self.tell(&format!("RCPT TO:<{recipient}>"), "250");
        }
        self.tell("DATA", "354");
        self.send(message);
        self.send(b".\r\n");
        self.smtp_reply("250");
    }

    /// The lines of one SMTP reply, which must begin with `code`.
    pub fn smtp_reply(&mut self, code: &str) -> Reply {
        let mut reply = Reply::default();
        loop {
            let line = self.line();
            let last = line.text.as_bytes().get(3) != Some(&b'-');
            reply.0.push(line);
            if last {
                assert!(reply.last().starts_with(code), "wanted {code}: {}", reply.text());
                return reply;
            }
        }
    }

    /// Writes bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).expect("the connection is open");
    }

    /// Writes bytes as they are; says why if the connection is closed.
    pub fn try_send(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.stream.get_mut().write_all(bytes).map_err(|e| format!("cannot send: {e}"))
    }

    /// Whether the server asks for a literal; false: the next line is something else.
    pub fn goes_on(&mut self) -> Result<bool, String> {
        let next = self.stream.fill_buf().map_err(|e| format!("no answer to a literal: {e}"))?;
        if next.first() != Some(&b'+') {
            return Ok(false);
        }
        self.try_line().map(|_| true)
    }

    /// The next line with its literals.
    pub fn line(&mut self) -> Line {
        self.try_line().unwrap_or_else(|e| panic!("{e}"))
    }

    /// The next line with its literals, or why there is none.
    pub fn try_line(&mut self) -> Result<Line, String> {
        let mut line = Line::default();
        loop {
            let mut part = Vec::new();
            let read = self.stream.read_until(b'\n', &mut part);
            read.map_err(|e| format!("no line in time: {e}"))?;
            if !part.ends_with(b"\n") {
                return Err(format!("the connection ended after {part:?}"));
            }
            let part = String::from_utf8_lossy(&part);
            let part = part.trim_end_matches(['\r', '\n']);
            line.text.push_str(part);
            let announced = part.strip_suffix('}').and_then(|p| p.rsplit_once('{'));
            let Some(length) = announced.and_then(|(_, n)| n.parse().ok()) else {
                return Ok(line);
            };
            let mut literal = vec![0; length];
            let read = self.stream.read_exact(&mut literal);
            read.map_err(|e| format!("no literal of {length} bytes in time: {e}"))?;
            line.literals.push(literal);
        }
    }

    /// Whether the server has closed the connection, after nothing more than it said before.
    pub fn closed(&mut self) -> bool {
        let mut rest = Vec::new();
        matches!(self.stream.read_to_end(&mut rest), Ok(_) | Err(_) if rest.is_empty())
    }
}
