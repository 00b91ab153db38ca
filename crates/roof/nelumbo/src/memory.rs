//! Giving memory back. The allocator returns what was freed only when it is called again, so that
//! an idle server would keep what its last sign-ins took (19 MiB for each password checked).

use std::io;
use std::time::Duration;

/// Time between two rounds.
const EVERY: Duration = Duration::from_secs(5);

/// Starts the thread that gives memory back as long as the process lives.
pub(crate) fn give_back() -> io::Result<()> {
    let builder = std::thread::Builder::new().name("memory".to_owned());
    builder.spawn(|| {
        loop {
            std::thread::sleep(EVERY);
            collect();
        }
    })?;
    Ok(())
}

#[allow(unsafe_code)]
fn collect() {
    // SAFETY: this is how the allocator that is linked in declares the function.
    unsafe extern "C" {
        fn mi_collect(force: bool);
    }
    // SAFETY: the function takes no pointer, and any thread may call it at any time. It returns
    // what has been free for a while.
    unsafe { mi_collect(false) }
}
