//! The directory below a test, which goes when nothing is written into it any more.

use std::sync::Arc;

use store::Store;

/// Closes the store, whoever still holds it, and then removes its directory.
pub struct Ground {
    store: Arc<Store>,
    dir: Option<tempfile::TempDir>,
}

impl Ground {
    pub fn new(store: Arc<Store>, dir: tempfile::TempDir) -> Ground {
        Ground { store, dir: Some(dir) }
    }

    /// Gives the directory back and closes nothing, as a crash does.
    #[allow(dead_code)]
    pub fn leave(mut self) -> tempfile::TempDir {
        self.dir.take().unwrap()
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        if self.dir.is_some() {
            // A test that lets the log fail has no orderly end.
            let _ = self.store.close();
        }
    }
}
