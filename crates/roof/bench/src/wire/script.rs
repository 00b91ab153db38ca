//! A scripted server for tests: dialogues as data.
//!
//! A line of a script: `> ` a call of the client, `= ` its outcome (a beginning of it; `+ `
//! goes on with it), `C: ` what
//! the client must send (`*` at the end: and anything more), `C# N` octets it must send, `S: ` a
//! line the server sends, `S- ` the same without CRLF, `S~ N TEXT` the text N times, `TLS` the
//! handshake, `END` the server closes. All but `>`, `=`, `+` happen in order.

use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::Timeouts;
use crate::target::{Endpoint, Tls};

/// Time enough for anything that happens in this process.
pub(super) const PATIENCE: Timeouts = Timeouts {
    connect: Duration::from_secs(20),
    call: Duration::from_secs(20),
    bulk: Duration::from_secs(20),
};

/// A server that plays its part of a dialogue.
pub(super) struct Played {
    pub endpoint: Endpoint,
    served: JoinHandle<Result<(), String>>,
}

/// The calls of a dialogue, each with the outcome it must have.
pub(super) fn calls(dialogue: &str) -> Vec<(&str, String)> {
    let mut calls: Vec<(&str, String)> = Vec::new();
    for line in dialogue.lines().map(str::trim_start) {
        match (line.split_at(line.len().min(2)), calls.last_mut()) {
            (("> ", call), _) => calls.push((call, String::new())),
            (("= ", begin), Some((_, outcome))) => outcome.push_str(begin),
            (("+ ", more), Some((_, outcome))) => *outcome = format!("{outcome} {more}"),
            _ => {}
        }
    }
    assert!(calls.iter().all(|(_, outcome)| !outcome.is_empty()));
    calls
}

/// Starts the server's part of a dialogue.
pub(super) async fn play(dialogue: &str, tls: Tls) -> Played {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let lines: Vec<String> = dialogue.lines().map(|line| line.trim_start().to_owned()).collect();
    let served = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let upgrade = lines.iter().position(|line| line == "TLS");
        let (clear, secret) = lines.split_at(upgrade.unwrap_or(lines.len()));
        let mut stream = BufReader::new(stream);
        follow(&mut stream, clear).await?;
        if upgrade.is_some() {
            let stream = acceptor().accept(stream.into_inner()).await;
            let stream = stream.map_err(|error| error.to_string())?;
            follow(&mut BufReader::new(stream), &secret[1..]).await?;
        }
        Ok(())
    });
    let endpoint =
        Endpoint { address: address.ip(), host: "localhost".into(), port: address.port(), tls };
    Played { endpoint, served }
}

impl Played {
    /// The server saw what it had to see.
    pub(super) async fn finish(self, dialogue: &str) {
        let seen = tokio::time::timeout(PATIENCE.call, self.served).await;
        assert_eq!(seen.unwrap().unwrap(), Ok(()), "in the dialogue:\n{dialogue}");
    }
}

/// An outcome as text.
pub(super) fn print<T: std::fmt::Debug>(result: Result<T, super::Error>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("error {error}"),
    }
}

fn acceptor() -> TlsAcceptor {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

async fn follow<S>(stream: &mut BufReader<S>, lines: &[String]) -> Result<(), String>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    for line in lines {
        if let Some(text) = line.strip_prefix("S:") {
            let text = text.strip_prefix(' ').unwrap_or(text);
            say(stream, format!("{text}\r\n").as_bytes()).await?;
        } else if let Some(text) = line.strip_prefix("S- ") {
            say(stream, text.as_bytes()).await?;
        } else if let Some(repeated) = line.strip_prefix("S~ ") {
            let (times, text) = repeated.split_once(' ').unwrap();
            let text = text.replace("\\r", "\r").replace("\\n", "\n");
            // The client may have had enough before the end.
            let _ = say(stream, text.repeat(times.parse().unwrap()).as_bytes()).await;
        } else if let Some(expected) = line.strip_prefix("C:") {
            hear(stream, expected.strip_prefix(' ').unwrap_or(expected)).await?;
        } else if let Some(octets) = line.strip_prefix("C# ") {
            let mut octets = vec![0; octets.parse().unwrap()];
            stream.read_exact(&mut octets).await.map_err(|error| error.to_string())?;
        } else if line == "END" {
            let _ = stream.get_mut().shutdown().await;
        } else {
            let call = ["> ", "= ", "+ "].iter().any(|begin| line.starts_with(begin));
            assert!(call || line.is_empty(), "no line of a script: {line:?}");
        }
    }
    Ok(())
}

async fn say<S>(stream: &mut BufReader<S>, text: &[u8]) -> Result<(), String>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    stream.write_all(text).await.map_err(|error| error.to_string())?;
    stream.flush().await.map_err(|error| error.to_string())
}

async fn hear<S: AsyncRead + Unpin>(
    stream: &mut BufReader<S>,
    expected: &str,
) -> Result<(), String> {
    let mut line = Vec::new();
    stream.read_until(b'\n', &mut line).await.map_err(|error| error.to_string())?;
    let line = String::from_utf8_lossy(&line);
    let heard = line.trim_end();
    let fits = match expected.strip_suffix('*') {
        Some(begin) => heard.starts_with(begin),
        None => heard == expected,
    };
    if fits { Ok(()) } else { Err(format!("expected {expected:?}, heard {heard:?}")) }
}
