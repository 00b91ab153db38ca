//! Descriptors, shared between connections and open databases by need.
//!
//! Connections come first: databases are closed for them, and opened again when they are used.
//! Only when no more can be closed are connections turned away, before the system has no
//! descriptor left.

use store::Store;

use crate::gate::Gate;
use crate::process;

/// Kept for the log, objects, listeners, commands, transfers, standard streams, and for databases
/// that are open for a moment beyond their number.
const KEPT: usize = 500;
/// Descriptors of an open database: its file and the -wal.
const EACH: usize = 2;
/// Databases that stay open beside any number of connections.
const DATABASES_MIN: usize = 16;
/// Most connections that may come before databases have to be closed for them.
const AHEAD_MAX: usize = 256;

/// What there is to be shared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Descriptors {
    /// Descriptors that are not kept for anything else.
    shared: usize,
}

impl Descriptors {
    /// Those that the system lets this process have.
    pub(crate) fn of_process() -> Self {
        Self::of(process::descriptors_max())
    }

    /// A share of `limit` descriptors.
    fn of(limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Self { shared: limit.saturating_sub(KEPT).max((DATABASES_MIN + 1) * EACH) }
    }

    /// Databases that may stay open beside so many connections; some more of those may come.
    pub(crate) fn databases_max(self, connections: usize) -> usize {
        let ahead = (self.shared / 32).clamp(1, AHEAD_MAX);
        (self.shared.saturating_sub(connections + ahead) / EACH).max(DATABASES_MIN)
    }

    /// Connections that may be open beside so many databases.
    fn connections_max(self, databases: usize) -> usize {
        self.shared.saturating_sub(databases.max(DATABASES_MIN) * EACH)
    }

    /// Tells the store how many databases may be open beside the connections there are, `wanted`
    /// at most, and the gate how many connections; true when one more has to wait for room.
    pub(crate) fn share(self, store: &Store, gate: &Gate, wanted: usize) -> bool {
        let connections = gate.open();
        store.set_open_databases_max(self.databases_max(connections).min(wanted));
        let room = self.connections_max(store.open_databases());
        gate.set_room(room);
        connections >= room
    }
}

#[cfg(test)]
mod tests {
    use store::{NewDatabase, StoreOptions};

    use super::*;

    #[test]
    fn connections_and_databases_share_what_there_is() {
        let cases = [
            (1_048_576, 10_000, 518_910),
            (20_000, 0, 9_622),
            (20_000, 6_000, 6_622),
            (20_000, 10_000, 4_622),
            (20_000, 20_000, 16),
            (1_024, 0, 254),
            (1_024, 400, 54),
            (64, 1, 16),
        ];
        for (limit, connections, databases) in cases {
            let shared = Descriptors::of(limit);
            assert_eq!(shared.databases_max(connections), databases, "{limit} {connections}");
        }
    }

    #[test]
    fn nobody_comes_in_without_a_descriptor() {
        for limit in [64, 1_024, 4_096, 20_000] {
            let descriptors = Descriptors::of(limit);
            for connections in 0..descriptors.shared {
                let databases = descriptors.databases_max(connections);
                let room = descriptors.connections_max(databases);
                assert!(room + databases * EACH <= descriptors.shared, "{limit} {connections}");
                let is_last = databases == DATABASES_MIN;
                assert!(room > connections || is_last, "{limit} {connections} {databases}");
            }
        }
    }

    #[test]
    fn databases_are_closed_for_connections_and_opened_again() {
        let dir = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(StoreOptions::small(dir.path())).unwrap();
        let gate = Gate::new(1_000, 1_000);
        let descriptors = Descriptors::of(KEPT as u64 + 100);
        for number in 0..40 {
            store.create(&format!("{number}.nsf"), NewDatabase::titled("T")).unwrap();
        }
        let use_all = || store.list().iter().for_each(|info| assert_eq!(info.fenced, None));
        use_all();
        assert!(!descriptors.share(&store, &gate, 1_000));
        assert_eq!(store.open_databases(), 40);

        let address = "127.0.0.1".parse().unwrap();
        let mut passes: Vec<_> = std::iter::from_fn(|| gate.enter(address)).collect();
        assert_eq!(passes.len(), 20, "40 databases take 80 of 100");
        assert!(descriptors.share(&store, &gate, 1_000), "the next has to wait for room");
        store.trim_open();
        assert!(!descriptors.share(&store, &gate, 1_000));
        assert!(store.open_databases() < 40);

        while passes.len() < 100 {
            store.trim_open();
            descriptors.share(&store, &gate, 1_000);
            match gate.enter(address) {
                Some(pass) => passes.push(pass),
                None => break,
            }
        }
        assert_eq!(passes.len(), 100 - DATABASES_MIN * EACH);
        use_all();
        assert!(store.open_databases() <= DATABASES_MIN);

        passes.clear();
        descriptors.share(&store, &gate, 1_000);
        use_all();
        assert_eq!(store.open_databases(), 40);
        store.close().unwrap();
    }
}
