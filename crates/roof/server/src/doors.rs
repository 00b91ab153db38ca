//! The doors of a running server as tasks: each can be closed, opened again and restarted.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use parking_lot::Mutex;
use session::{Stopper, Stopping, stopping};

use crate::listen::{self, Listener};
use crate::request::chain;
use crate::server::Running;

/// The doors that are tasks, by the names of the field.
pub(crate) const NAMES: &[&str] = &["SMTP", "IMAP", "POP3"];

/// Time that listeners of a door get to end.
const CLOSE_WAIT: Duration = Duration::from_secs(2);

/// Which doors are open.
#[derive(Default)]
pub(crate) struct Doors(Mutex<Vec<Open>>);

struct Open {
    name: &'static str,
    stopper: Stopper,
    /// Disconnected once its listeners have given their sockets back.
    ended: Receiver<()>,
}

impl Doors {
    /// Whether a door is open.
    pub(crate) fn is_open(&self, name: &str) -> bool {
        self.0.lock().iter().any(|door| door.name == name)
    }

    /// Notes that a door is open; its listeners and sessions end with the signal, and each
    /// listener keeps a sender until then.
    fn enter(&self, name: &'static str) -> (Stopping, Sender<()>) {
        let ((stopper, signal), (sender, ended)) = (stopping(), channel());
        self.0.lock().push(Open { name, stopper, ended });
        (signal, sender)
    }

    /// Closes a door: nobody comes in any more, its sessions are told to end, and its ports are
    /// free when this returns. Whether there was one to close. Not for a network thread.
    pub(crate) fn close(&self, name: &str) -> bool {
        let mut open = self.0.lock();
        let Some(at) = open.iter().position(|door| door.name == name) else { return false };
        let door = open.remove(at);
        drop(open);
        door.stopper.stop();
        if door.ended.recv_timeout(CLOSE_WAIT) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!("the listeners of {name} did not end in time");
        }
        true
    }

    /// Tells every door to close.
    pub(crate) fn close_all(&self) {
        self.0.lock().drain(..).for_each(|door| door.stopper.stop());
    }
}

/// Lets people in at listeners of any doors.
pub(crate) fn serve(running: &Arc<Running>, listeners: Vec<Listener>) {
    let mut signals: Vec<(&'static str, Stopping, Sender<()>)> = Vec::new();
    for listener in listeners {
        let task = listener.task;
        if !signals.iter().any(|known| known.0 == task) {
            let (signal, sender) = running.doors.enter(task);
            signals.push((task, signal, sender));
        }
        let Some((_, signal, sender)) = signals.iter().find(|known| known.0 == task) else {
            continue;
        };
        tracing::info!("{} listens on {}", listener.name, listener.address);
        let (signal, sender) = (signal.clone(), sender.clone());
        let accepting = listen::accept(listener, running.clone(), signal);
        running.listeners.spawn(async move {
            accepting.await;
            drop(sender);
        });
    }
}

/// Opens a door that is closed.
pub(crate) fn open(running: &Arc<Running>, name: &'static str) -> Result<String, String> {
    if running.doors.is_open(name) {
        return Err(format!("{name} is running already"));
    }
    let entered = running.listeners.enter();
    let listeners = listen::open_again(name, &running.addresses);
    drop(entered);
    let listeners = listeners.map_err(|error| chain(&error))?;
    if listeners.is_empty() {
        return Err(format!("{name} has no address to listen on; see the listen settings"));
    }
    let count = listeners.len();
    serve(running, listeners);
    Ok(format!("{name} started with {count} listeners"))
}
