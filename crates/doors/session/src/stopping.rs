//! The signal that a server stops.

use tokio::sync::watch;

/// Gives the signal.
#[derive(Debug)]
pub struct Stopper(watch::Sender<bool>);

/// Receives the signal; clone one for each task.
#[derive(Clone, Debug)]
pub struct Stopping(watch::Receiver<bool>);

/// A signal that was not given yet.
pub fn stopping() -> (Stopper, Stopping) {
    let (give, take) = watch::channel(false);
    (Stopper(give), Stopping(take))
}

impl Stopper {
    /// Gives the signal; again does nothing.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Stopping {
    /// Whether the signal was given. A [`Stopper`] that is gone counts as given.
    pub fn is_requested(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }

    /// Waits for the signal.
    pub async fn requested(&mut self) {
        // An error means that the stopper is gone, which counts as the signal.
        let _ = self.0.wait_for(|stop| *stop).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_signal_reaches_every_clone() {
        let (stopper, first) = stopping();
        let mut second = first.clone();
        assert!(!first.is_requested());
        stopper.stop();
        second.requested().await;
        assert!(first.is_requested());
    }

    #[tokio::test]
    async fn a_lost_stopper_stops() {
        let (stopper, mut waiting) = stopping();
        drop(stopper);
        waiting.requested().await;
        assert!(waiting.is_requested());
    }
}
