//! What the process may use: thousands of connections need as many open files.

/// Files that the driver needs beside the connections of its people.
const SPARE_FILES: u64 = 256;

/// Raises the limit of open files as far as it may be raised, and tells how many people with
/// `connections` connections each it is enough for.
#[must_use]
pub fn raise_open_files(connections: u64) -> u64 {
    let files = raise(libc::RLIMIT_NOFILE);
    files.saturating_sub(SPARE_FILES) / connections.max(1)
}

#[allow(unsafe_code)]
fn raise(resource: libc::__rlimit_resource_t) -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid rlimit for the time of both calls.
    unsafe {
        if libc::getrlimit(resource, &raw mut limit) != 0 {
            return 1024;
        }
        let soft = limit.rlim_cur;
        limit.rlim_cur = limit.rlim_max;
        if libc::setrlimit(resource, &raw const limit) == 0 { limit.rlim_cur } else { soft }
    }
}
