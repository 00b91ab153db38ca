//! The change feed of `names.nsf`: how the state and the cache stay right.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use store::{Change, Database, Reader, Store, StoreError, Watch};

use crate::document::Document;
use crate::lookup::Lookup;
use crate::state::{News, State};
use crate::{DIRECTORY_PATH, Directory, DirectoryError};

/// Changes read from the feed at a time, about.
const CHANGES_AT_ONCE: usize = 512;

/// What one reading of the feed brought.
struct Batch {
    news: Vec<News>,
    /// Everything up to this change is in it.
    change_seq: u64,
    is_last: bool,
}

/// The database that the directory is read from, and the latest change that its feed told of.
pub(crate) struct Source {
    pub database: Database,
    latest: Arc<AtomicU64>,
    _watch: Watch,
}

impl Source {
    /// The database that lies at the directory's path now.
    pub(crate) fn open(store: &Store) -> Result<Arc<Source>, StoreError> {
        let database = store.database(DIRECTORY_PATH)?;
        let latest = Arc::new(AtomicU64::new(0));
        let told = latest.clone();
        let watch = database.on_change(Box::new(move |changed| {
            told.fetch_max(changed.change_seq, Ordering::AcqRel);
        }));
        let seq = store.read(&database, |reader| Ok(reader.change_seq()))?.value;
        latest.fetch_max(seq, Ordering::AcqRel);
        Ok(Arc::new(Source { database, latest, _watch: watch }))
    }

    /// Whether the state holds every change the feed told of.
    fn is_shown(&self, state: &State) -> bool {
        state.dbiid == Some(self.database.dbiid())
            && state.change_seq >= self.latest.load(Ordering::Acquire)
    }
}

impl Directory {
    /// The database as it was last looked at.
    pub(crate) fn database(&self) -> Database {
        self.source.read().database.clone()
    }

    /// The source, unless another database has taken its place (a repair makes a new one).
    fn current_source(&self) -> Result<Option<Arc<Source>>, StoreError> {
        let now = self.store.database(DIRECTORY_PATH)?;
        let source = self.source.read().clone();
        Ok(Some(source).filter(|source| source.database.dbiid() == now.dbiid()))
    }

    /// The state, up to date with every change the feed told of.
    pub(crate) fn lookup(&self) -> Result<Lookup<'_>, DirectoryError> {
        if let Some(source) = self.current_source()? {
            let state = self.state.read();
            if source.is_shown(&state) {
                return Ok(Lookup { directory: self, source, state });
            }
        }
        self.refresh()?;
        let source = self.source.read().clone();
        Ok(Lookup { directory: self, source, state: self.state.read() })
    }

    /// Reads the changes since the last time. They are shown when they are durable.
    pub(crate) fn refresh(&self) -> Result<(), DirectoryError> {
        let _one = self.refreshing.lock();
        let source = match self.current_source()? {
            Some(source) => source,
            None => {
                let source = Source::open(&self.store)?;
                *self.source.write() = source.clone();
                source
            }
        };
        let (mut since, is_usable) = {
            let state = self.state.read();
            if source.is_shown(&state) {
                return Ok(());
            }
            let same = state.dbiid == Some(source.database.dbiid());
            (state.change_seq, same && !state.is_outdated())
        };
        if !is_usable {
            return self.start_anew(&source);
        }
        loop {
            let batch = self.next_batch(&source, since)?;
            since = batch.change_seq;
            let is_last = batch.is_last;
            let mut state = self.state.write();
            self.take(&mut state, batch);
            if is_last {
                return Ok(());
            }
        }
    }

    /// Goes through all documents. Lookups see what was known before until that is done.
    fn start_anew(&self, source: &Source) -> Result<(), DirectoryError> {
        let mut state = State::of(source.database.dbiid());
        let mut since = 0;
        loop {
            let batch = self.next_batch(source, since)?;
            since = batch.change_seq;
            let is_last = batch.is_last;
            for news in batch.news {
                // What was deleted before the beginning is not in the table.
                if !matches!(news, News::Gone(_)) {
                    state.take(news);
                }
            }
            state.change_seq = since;
            if is_last {
                break;
            }
        }
        state.begin();
        state.settle();
        let mut shown = self.state.write();
        *shown = state;
        self.cache.clear();
        Ok(())
    }

    fn take(&self, state: &mut State, batch: Batch) {
        let mut gone = HashSet::new();
        for news in batch.news {
            match &news {
                News::Gone(unid) | News::Damaged(unid, _) => {
                    gone.insert(*unid);
                }
                News::Put(id, ..) => {
                    u32::try_from(id.0).into_iter().for_each(|id| self.cache.remove(id));
                }
            }
            state.take(news);
        }
        if !gone.is_empty() {
            self.cache.remove_unids(&gone);
        }
        state.settle();
        state.change_seq = batch.change_seq;
    }

    /// Reads on in the feed behind a change, and waits until that is durable.
    fn next_batch(&self, source: &Source, since: u64) -> Result<Batch, DirectoryError> {
        let read = self.store.read(&source.database, |rows| batch(rows, since))?;
        self.store.durable(read.lsn).wait().map_err(StoreError::from)?;
        Ok(read.value)
    }
}

/// Whole changes from the feed: one write may have changed many notes, and they come together.
fn batch(rows: &Reader<'_>, since: u64) -> Result<Batch, StoreError> {
    let changes = rows.changes(since, CHANGES_AT_ONCE)?;
    let is_last = changes.len() < CHANGES_AT_ONCE;
    let mut news = Vec::with_capacity(changes.len());
    for change in &changes {
        news.push(match change {
            Change::Note(meta) if meta.deleted.is_none() => match rows.note(meta.id) {
                Ok(note) => {
                    let document = note.as_ref().and_then(Document::of).map(Box::new);
                    News::Put(meta.id, meta.unid, document)
                }
                Err(StoreError::Damage { what, .. }) => News::Damaged(meta.unid, what),
                Err(StoreError::Decode(error)) => News::Damaged(meta.unid, error.to_string()),
                Err(error) => return Err(error),
            },
            Change::Note(meta) => News::Gone(meta.unid),
            Change::Stub(stub) => News::Gone(stub.unid),
        });
    }
    let change_seq = match is_last {
        true => rows.change_seq(),
        false => changes.last().map_or(since, Change::change_seq),
    };
    Ok(Batch { news, change_seq, is_last })
}
