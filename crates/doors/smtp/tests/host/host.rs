//! A host that follows a script, for the courier to speak to. One script per connection:
//!
//! `S:` a line that is sent with CRLF (`\r\n` in it stands for one more), `C:` how the next line
//! of the client begins, `D:` the data up to the line with a dot is taken and kept, `T:` TLS
//! begins, `Q:` nothing more is said until the client leaves, `X:` the connection is cut here. At
//! the end of a script it is closed.
#![allow(clippy::unwrap_used, clippy::expect_used, dead_code, missing_docs)]

use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

pub struct Host {
    pub port: u16,
    /// Everything the clients said, line by line, and data as one entry each.
    pub heard: Arc<Mutex<Vec<String>>>,
    thread: Option<JoinHandle<Result<(), String>>>,
}

trait Both: Read + Write {}
impl<T: Read + Write> Both for T {}

/// A certificate for `localhost`, written to `ca.pem` in the directory.
pub fn certificate(dir: &Path) -> Arc<ServerConfig> {
    let made = rcgen::generate_simple_self_signed(vec![String::from("localhost")]).unwrap();
    std::fs::write(dir.join("ca.pem"), made.cert.pem()).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    Arc::new(config)
}

impl Host {
    /// Serves as many connections as there are scripts, one after the other.
    pub fn start(scripts: &[&str], tls: Option<Arc<ServerConfig>>) -> Host {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let scripts: Vec<String> = scripts.iter().map(|script| (*script).to_owned()).collect();
        let kept = heard.clone();
        let thread = std::thread::spawn(move || {
            for (number, script) in scripts.iter().enumerate() {
                let (stream, _) = listener.accept().map_err(|error| error.to_string())?;
                let mut play = Play { stream, heard: kept.clone(), tls: tls.clone() };
                play.run(script).map_err(|error| format!("script {number}: {error}"))?;
            }
            Ok(())
        });
        Host { port, heard, thread: Some(thread) }
    }

    pub fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    /// Waits for the end of the scripts.
    pub fn finish(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap().unwrap();
        }
    }
}

struct Play {
    stream: TcpStream,
    heard: Arc<Mutex<Vec<String>>>,
    tls: Option<Arc<ServerConfig>>,
}

impl Play {
    fn run(&mut self, script: &str) -> Result<(), String> {
        self.stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let raw = self.stream.try_clone().unwrap();
        let mut wire: BufReader<Box<dyn Both>> = BufReader::new(Box::new(raw));
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (kind, text) = line.split_at(2);
            let text = text.trim_start();
            match kind {
                "S:" => {
                    let text = text.replace("\\r\\n", "\r\n");
                    wire.get_mut().write_all(format!("{text}\r\n").as_bytes()).unwrap();
                }
                "C:" => {
                    let said = self.hear(&mut wire)?;
                    if !said.starts_with(text) {
                        return Err(format!("wanted {text:?}, heard {said:?}"));
                    }
                }
                "D:" => self.data(&mut wire)?,
                "T:" => {
                    let config = self.tls.clone().unwrap();
                    let connection = ServerConnection::new(config).unwrap();
                    let raw = self.stream.try_clone().unwrap();
                    wire = BufReader::new(Box::new(StreamOwned::new(connection, raw)));
                }
                "Q:" => {
                    let mut rest = String::new();
                    // Whatever ends it is the client's leave.
                    let _ = wire.read_line(&mut rest);
                    return Ok(());
                }
                "X:" => {
                    let _ = self.stream.shutdown(Shutdown::Both);
                    return Ok(());
                }
                _ => return Err(format!("no such step: {line}")),
            }
        }
        Ok(())
    }

    fn hear(&self, wire: &mut BufReader<Box<dyn Both>>) -> Result<String, String> {
        let mut line = String::new();
        wire.read_line(&mut line).map_err(|error| error.to_string())?;
        let line = line.trim_end_matches("\r\n").to_owned();
        self.heard.lock().unwrap().push(line.clone());
        Ok(line)
    }

    fn data(&self, wire: &mut BufReader<Box<dyn Both>>) -> Result<(), String> {
        let mut whole = Vec::new();
        while !(whole.ends_with(b"\r\n.\r\n") || whole == b".\r\n") {
            let count = wire.read_until(b'\n', &mut whole).map_err(|error| error.to_string())?;
            if count == 0 {
                return Err(String::from("the data has no end"));
            }
        }
        self.heard.lock().unwrap().push(String::from_utf8_lossy(&whole).into_owned());
        Ok(())
    }
}
