//! How long a server that was killed with a long log needs until it answers, with the files in
//! memory and without.

use crate::crash::dice::Dice;
use crate::crash::imap::Imap;
use crate::crash::load::{PASSWORD, address};
use crate::crash::server::{Place, Server, Setting};
use crate::crash::smtp::Smtp;
use crate::crash::volume::run as system;
use crate::crash::{number, scratch, settle};
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Goal: all doors answer after this.
const GOAL: Duration = Duration::from_secs(2);
/// How long it may take until everything is given up.
const PATIENCE: Duration = Duration::from_secs(60);
/// Starts of each kind.
const STARTS: u32 = 3;
const SENDERS: u64 = 4;
/// People who are looked at after the last start.
const LOOKS: usize = 20;
/// Keeps checkpoints away until the kill.
const NO_CHECKPOINT: [Setting; 2] =
    [("log", "bytes_max", 16 << 30), ("log", "redo_bytes_max", 8 << 30)];

/// What the command line asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Mail files.
    pub databases: u64,
    /// Of log.
    pub megabytes: u64,
}

impl Options {
    /// Parses `--databases N`, `--megabytes M`.
    pub fn parse(arguments: &[String]) -> Result<Options, String> {
        let mut options = Options { databases: 1_000, megabytes: 1_000 };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--databases" => options.databases = number(argument, rest.next())?.max(1),
                "--megabytes" => options.megabytes = number(argument, rest.next())?.max(1),
                other => return Err(format!("what is {other}?")),
            }
        }
        Ok(options)
    }

    fn line(self) -> String {
        format!("restart --databases {} --megabytes {}", self.databases, self.megabytes)
    }
}

/// Makes the log, kills the server, and starts it on copies of what is left; gives what took too
/// long.
pub fn run(root: &Path, options: Options) -> Result<Vec<String>, String> {
    scratch::in_scratch(root, &options.line(), |scratch| {
        let users = options.databases as usize;
        let place = Place::new(root, scratch, scratch.join("data"), users)?;
        Server::start(&place)?.0.stop(&place)?;
        place.tune(&NO_CHECKPOINT)?;
        let (server, _) = Server::start(&place)?;
        let rest = settle::wait_drained(&place, None)?;
        send(&place, options)?;
        settle::wait_drained(&place, Some(rest))?;
        let (_, status) = place.ask(&["log", "status"], &[])?;
        server.kill();
        println!("killed with this log:\n{}", status.trim());
        let mut wrong = Vec::new();
        for cold in [false, true] {
            let kind = if cold { "page cache dropped" } else { "files in memory" };
            for _ in 0..STARTS {
                let took = one_start(&place, scratch, cold)?;
                println!(
                    "{kind}: doors after {} ms, ready after {} ms, first mailbox after {} ms",
                    took.doors.as_millis(),
                    took.ready.as_millis(),
                    took.mailbox.as_millis()
                );
                if took.doors > GOAL {
                    wrong.push(format!("{kind}: doors open after {:?}", took.doors));
                }
                wrong.extend(took.lost);
            }
        }
        Ok(wrong)
    })
}

/// Sends messages that nothing makes smaller, one to each person in turn, until the log has its
/// length.
fn send(place: &Place, options: Options) -> Result<(), String> {
    let bytes = (options.megabytes << 20) / options.databases;
    let port = place.smtp();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..SENDERS)
            .map(|sender| {
                scope.spawn(move || {
                    let mine = (sender..options.databases).step_by(SENDERS as usize);
                    let mut smtp = Smtp::connect(port).map_err(|e| format!("{e:?}"))?;
                    for index in mine {
                        let to = [address(index as usize)];
                        let sent = smtp.send(&to, &message(index, bytes));
                        sent.map_err(|e| format!("{e:?}"))?;
                    }
                    Ok(())
                })
            })
            .collect();
        let mut ended = threads.into_iter().map(|thread| thread.join());
        ended.try_for_each(|ended| ended.unwrap_or_else(|_| Err("a sender panicked".to_owned())))
    })
}

/// A message whose attachment has about `bytes` random bytes.
fn message(number: u64, bytes: u64) -> Vec<u8> {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut dice = Dice::new(number, 77);
    let head = format!(
        "From: load@crash.test\r\nSubject: {number}\r\nMessage-ID: <r.{number}@crash.test>\r\n\
         MIME-Version: 1.0\r\nContent-Type: application/octet-stream\r\n\
         Content-Transfer-Encoding: base64\r\n\r\n"
    );
    let mut text = head.into_bytes();
    for _ in 0..bytes / 57 {
        for _ in 0..8 {
            let mut bits = dice.next();
            for _ in 0..10 {
                text.push(SIGNS[(bits & 63) as usize]);
                bits >>= 6;
            }
        }
        text.truncate(text.len() - 4); // 76 signs in a line
        text.extend_from_slice(b"\r\n");
    }
    text
}

struct Took {
    doors: Duration,
    ready: Duration,
    mailbox: Duration,
    lost: Vec<String>,
}

fn one_start(place: &Place, scratch: &Path, cold: bool) -> Result<Took, String> {
    let data = scratch.join("run");
    let _ = std::fs::remove_dir_all(&data); // of the start before
    system("cp", &["-a", "--sparse=always"], &[&place.data, &data])?;
    system("sync", &[], &[])?;
    if cold {
        std::fs::write("/proc/sys/vm/drop_caches", "3")
            .map_err(|e| format!("the page cache is not dropped: {e}"))?;
    }
    let copy = Place { data, ..place.clone() };
    let began = Instant::now();
    let doors = std::thread::scope(|scope| {
        let doors = scope.spawn(|| greeted(&[copy.smtp(), copy.imap()], began));
        let started = Server::start(&copy);
        let ready = began.elapsed();
        let doors = doors.join().map_err(|_| "waiting for the doors panicked".to_owned())?;
        started.and_then(|(server, _)| Ok((server, ready, doors?)))
    });
    let (server, ready, doors) = doors?;
    let mut lost = Vec::new();
    let mut mailbox = Duration::ZERO;
    for index in 0..LOOKS.min(place.users as usize) {
        if let Err(trouble) = look(&copy, index) {
            lost.push(trouble);
        }
        if index == 0 {
            mailbox = began.elapsed();
        }
    }
    server.kill();
    Ok(Took { doors, ready, mailbox, lost })
}

/// When all ports have greeted.
fn greeted(ports: &[u16], began: Instant) -> Result<Duration, String> {
    for port in ports {
        loop {
            let mut line = String::new();
            let connected = TcpStream::connect(("127.0.0.1", *port));
            let greeted = connected.and_then(|stream| {
                stream.set_read_timeout(Some(PATIENCE))?;
                BufReader::new(stream).read_line(&mut line)
            });
            if greeted.is_ok_and(|length| length > 0) {
                break;
            }
            if began.elapsed() > PATIENCE {
                return Err(format!("port {port} does not answer"));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    Ok(began.elapsed())
}

/// Whether the last message of a person is there whole.
fn look(place: &Place, index: usize) -> Result<(), String> {
    let words = |e| format!("{}: {e:?}", address(index));
    let mut imap = Imap::connect(place.imap(), &address(index), PASSWORD).map_err(words)?;
    imap.select("INBOX").map_err(words)?;
    let fetched = imap.fetch("*", "BODY.PEEK[]").map_err(words)?;
    let id = format!("Message-ID: <r.{index}@crash.test>");
    let there = fetched.iter().any(|m| String::from_utf8_lossy(&m.literal).contains(&id));
    if there { Ok(()) } else { Err(format!("{}: {id} is not there", address(index))) }
}

#[cfg(test)]
mod tests {
    use super::{Options, message};

    #[test]
    fn the_command_line_and_a_message() {
        let words = ["--databases", "30", "--megabytes", "7"].map(str::to_owned);
        let options = Options::parse(&words).unwrap();
        assert_eq!(options, Options { databases: 30, megabytes: 7 });
        assert_eq!(options.line(), "restart --databases 30 --megabytes 7");
        let text = String::from_utf8(message(3, 10_000)).unwrap();
        assert!(text.len() > 13_000 && text.lines().all(|line| line.len() <= 78));
    }
}
