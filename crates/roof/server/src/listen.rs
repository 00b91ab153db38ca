//! The listeners: one per address of every door.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use session::Stopping;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;

use crate::metrics;
use crate::programs;
use crate::server::Running;
use crate::settings::{Key, Settings};

/// Connections the system holds until they are accepted.
const BACKLOG: u32 = 1024;
/// Pause after a failed accept, as when descriptors are short.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What is spoken at a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spoken {
    Smtp(smtp::Listener),
    Imap { implicit_tls: bool },
    Pop3 { implicit_tls: bool },
    Metrics,
}

impl Spoken {
    /// The task that speaks it.
    fn task(self) -> &'static str {
        match self {
            Self::Smtp(_) => "SMTP",
            Self::Imap { .. } => "IMAP",
            Self::Pop3 { .. } => "POP3",
            Self::Metrics => "Metrics",
        }
    }
}

/// The doors: setting of the addresses, name, what is spoken there.
const DOORS: &[(Key, &str, Spoken)] = &[
    (Key::ListenSmtp, "SMTP", Spoken::Smtp(smtp::Listener::Relay)),
    (Key::ListenSubmission, "SMTP submission", Spoken::Smtp(smtp::Listener::Submission)),
    (Key::ListenSmtps, "SMTP submission TLS", Spoken::Smtp(smtp::Listener::SubmissionTls)),
    (Key::ListenImap, "IMAP", Spoken::Imap { implicit_tls: false }),
    (Key::ListenImaps, "IMAP TLS", Spoken::Imap { implicit_tls: true }),
    (Key::ListenPop3, "POP3", Spoken::Pop3 { implicit_tls: false }),
    (Key::ListenPop3s, "POP3 TLS", Spoken::Pop3 { implicit_tls: true }),
    (Key::ListenMetrics, "Metrics", Spoken::Metrics),
];

/// The settings that hold addresses of doors.
pub(crate) const DOOR_KEYS: &[Key] = &[
    Key::ListenSmtp,
    Key::ListenSubmission,
    Key::ListenSmtps,
    Key::ListenImap,
    Key::ListenImaps,
    Key::ListenPop3,
    Key::ListenPop3s,
    Key::ListenMetrics,
];

/// An open port.
pub struct Listener {
    /// Name of the door.
    pub name: &'static str,
    /// Where it listens.
    pub address: SocketAddr,
    /// The task it belongs to.
    pub(crate) task: &'static str,
    spoken: Spoken,
    socket: TcpListener,
}

/// A port cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address} for {name} (setting {setting}{})", advice(source))]
pub struct ListenError {
    name: &'static str,
    setting: &'static str,
    address: SocketAddr,
    source: io::Error,
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "; is another server running?",
        io::ErrorKind::PermissionDenied => {
            "; ports below 1024 need root, see server.user, or CAP_NET_BIND_SERVICE"
        }
        _ => "",
    }
}

/// Opens every port of the tasks that the settings start. Call it within the runtime that will
/// serve them.
///
/// # Errors
/// The first port that cannot be opened.
pub fn open(settings: &Settings) -> Result<Vec<Listener>, ListenError> {
    let chosen = |task: &str| task == "Metrics" || programs::is_started(settings, task);
    let mut listeners = Vec::new();
    for (key, name, spoken) in DOORS.iter().filter(|door| chosen(door.2.task())) {
        for address in settings.addresses(*key) {
            listeners.push(open_one(*key, name, *spoken, *address)?);
        }
    }
    Ok(listeners)
}

/// Opens the ports of a task again that were open before.
///
/// # Errors
/// The first port that cannot be opened.
pub(crate) fn open_again(
    task: &str,
    addresses: &[(&'static str, SocketAddr)],
) -> Result<Vec<Listener>, ListenError> {
    let mut listeners = Vec::new();
    for (key, name, spoken) in DOORS.iter().filter(|door| door.2.task() == task) {
        for (_, address) in addresses.iter().filter(|known| known.0 == *name) {
            listeners.push(open_one(*key, name, *spoken, *address)?);
        }
    }
    Ok(listeners)
}

fn open_one(
    key: Key,
    name: &'static str,
    spoken: Spoken,
    address: SocketAddr,
) -> Result<Listener, ListenError> {
    let failed = |source| {
        let setting = crate::settings::ROWS[key as usize].name;
        ListenError { name, setting, address, source }
    };
    let socket = bind(address).map_err(failed)?;
    let address = socket.local_addr().map_err(failed)?;
    Ok(Listener { name, address, task: spoken.task(), spoken, socket })
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Lets connections in until the server stops.
pub(crate) async fn accept(listener: Listener, running: Arc<Running>, mut stopping: Stopping) {
    let requests = Arc::new(Semaphore::new(metrics::REQUESTS_MAX));
    loop {
        let accepted = tokio::select! {
            () = stopping.requested() => return,
            accepted = listener.socket.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) if listener.spoken == Spoken::Metrics => {
                if let Ok(permit) = requests.clone().try_acquire_owned() {
                    let running = running.clone();
                    tokio::spawn(async move {
                        let _permit = permit;
                        metrics::serve(stream, running).await;
                    });
                }
            }
            Ok((stream, peer)) => {
                make_room(&running).await;
                welcome(&running, listener.spoken, stream, peer, &stopping);
            }
            Err(error) => {
                tracing::warn!(door = listener.name, %error, "a connection was not accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Sees to it that there are descriptors for one more connection, as far as databases can be closed
/// for it.
async fn make_room(running: &Arc<Running>) {
    if running.note_descriptors() {
        let running = running.clone();
        let shared = tokio::task::spawn_blocking(move || running.share_descriptors()).await;
        if let Err(error) = shared {
            tracing::error!(%error, "no room was made for connections");
        }
    }
}

fn welcome(
    running: &Arc<Running>,
    spoken: Spoken,
    stream: TcpStream,
    peer: SocketAddr,
    stopping: &Stopping,
) {
    let Some(pass) = running.gate.enter(peer.ip()) else {
        return turn_away(spoken, stream);
    };
    let stream = match stream.into_std() {
        Ok(stream) => stream,
        Err(error) => return tracing::warn!(%error, "a connection cannot be served"),
    };
    let stopping = stopping.clone();
    match spoken {
        Spoken::Smtp(listener) => {
            let door = running.smtp.clone();
            running.loops.serve(stream, move |stream| async move {
                let _pass = pass;
                door.serve_connection(stream, listener, stopping).await;
            });
        }
        Spoken::Imap { implicit_tls } => {
            let door = running.imap.clone();
            running.loops.serve(stream, move |stream| async move {
                let _pass = pass;
                door.serve_connection(stream, implicit_tls, stopping).await;
            });
        }
        Spoken::Pop3 { implicit_tls } => {
            let door = running.pop3.clone();
            running.loops.serve(stream, move |stream| async move {
                let _pass = pass;
                door.serve_connection(stream, implicit_tls, stopping).await;
            });
        }
        Spoken::Metrics => {}
    }
}

/// Tells a client in its protocol that there are too many.
fn turn_away(spoken: Spoken, stream: TcpStream) {
    let line: &[u8] = match spoken {
        Spoken::Smtp(smtp::Listener::SubmissionTls)
        | Spoken::Imap { implicit_tls: true }
        | Spoken::Pop3 { implicit_tls: true } => b"",
        Spoken::Smtp(_) => b"421 4.3.2 Too many connections, try again later\r\n",
        Spoken::Imap { .. } => b"* BYE [UNAVAILABLE] Too many connections, try again later\r\n",
        Spoken::Pop3 { .. } => b"-ERR [SYS/TEMP] Too many connections, try again later\r\n",
        Spoken::Metrics => b"",
    };
    // The socket does not block; a client that cannot take one line goes without it.
    if let Ok(mut stream) = stream.into_std() {
        let _ = stream.write_all(line);
    }
}
