//! Long work on messages in slices of time, so that others get their turn, and so that it ends when
//! nobody wants the answer any more.

use std::time::Instant;

use mailfile::{MailError, MailFile};
use session::Weight;
use store::{FolderId, Read};
use txlog::Lsn;

use crate::reply::Fault;
use crate::session::Session;

/// One slice of work on the pool.
const SLICE_MS: u128 = 20;

/// Does one step for the first of these uids, and says how many it went through.
pub(crate) type Step<T> = fn(&MailFile, FolderId, &[u32], &mut T) -> Result<Read<usize>, MailError>;

/// Takes `state` through all the uids.
pub(crate) async fn slices<T: Send + 'static>(
    session: &mut Session,
    uids: Vec<u32>,
    state: T,
    step: Step<T>,
) -> Result<T, Fault> {
    let mut work = (uids, 0, state);
    while work.1 < work.0.len() {
        let selected = session.open()?;
        let (file, folder) = (selected.file.clone(), selected.folder);
        let job = move || {
            let (uids, mut at, mut state) = work;
            let (started, mut lsn) = (Instant::now(), Lsn::ZERO);
            while at < uids.len() && started.elapsed().as_millis() < SLICE_MS {
                let read = step(&file, folder, &uids[at..], &mut state)?;
                at += read.value.max(1);
                lsn = lsn.max(read.lsn);
            }
            Ok::<_, MailError>(((uids, at, state), lsn))
        };
        let (back, lsn) = session.run_work(Weight::Heavy, job).await??;
        session.out.saw(lsn);
        work = back;
        if work.1 < work.0.len() {
            session.still_wanted().await?;
        }
    }
    Ok(work.2)
}
