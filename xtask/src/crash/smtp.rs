//! A small blocking SMTP client.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Why a message was not accepted.
#[derive(Debug)]
pub enum SmtpError {
    /// The connection broke: whether the server has the message is not known.
    Broken(io::Error),
    /// The server said no, in these words.
    Refused(String),
}

impl From<io::Error> for SmtpError {
    fn from(e: io::Error) -> Self {
        SmtpError::Broken(e)
    }
}

/// One connection, greeted.
pub struct Smtp {
    stream: BufReader<TcpStream>,
}

impl Smtp {
    /// Connects to loopback and says EHLO.
    pub fn connect(port: u16) -> Result<Smtp, SmtpError> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        stream.set_nodelay(true)?;
        let mut smtp = Smtp { stream: BufReader::new(stream) };
        smtp.expect('2')?;
        smtp.command("EHLO crash.test", '2')?;
        Ok(smtp)
    }

    /// Sends one message; `Ok` is the server's promise to have it.
    pub fn send(&mut self, recipients: &[String], message: &[u8]) -> Result<(), SmtpError> {
        self.command("MAIL FROM:<load@crash.test>", '2')?;
        for recipient in recipients {
            self.command(&format!("RCPT TO:<{recipient}>"), '2')?;
        }
        self.command("DATA", '3')?;
        let stream = self.stream.get_mut();
        stream.write_all(message)?;
        stream.write_all(b".\r\n")?;
        self.expect('2')
    }

    fn command(&mut self, line: &str, wanted: char) -> Result<(), SmtpError> {
        self.stream.get_mut().write_all(format!("{line}\r\n").as_bytes())?;
        self.expect(wanted)
    }

    fn expect(&mut self, wanted: char) -> Result<(), SmtpError> {
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line)? == 0 || !line.ends_with('\n') {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            if line.as_bytes().get(3) != Some(&b'-') {
                let fits = line.starts_with(wanted);
                return if fits { Ok(()) } else { Err(SmtpError::Refused(line.trim_end().into())) };
            }
        }
    }
}
