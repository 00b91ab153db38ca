//! A disk in memory that can lose power.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::Dice;
use crate::{Disk, DiskFile};

/// What a disk writes whole or not at all.
const SECTOR_BYTES: u64 = 512;

/// A disk in memory. Clones are the same disk.
///
/// It knows which writes and names a sync has covered; [`MemoryDisk::crash`] keeps those and
/// keeps, drops or tears the others.
#[derive(Clone, Default)]
pub struct MemoryDisk {
    world: Arc<Mutex<World>>,
}

#[derive(Default)]
struct World {
    files: BTreeMap<u64, Body>,
    names: BTreeMap<PathBuf, u64>,
    durable_names: BTreeMap<PathBuf, u64>,
    unsynced_names: Vec<NameChange>,
    dirs: BTreeSet<PathBuf>,
    last_file: u64,
    capacity: Option<u64>,
    operations: u64,
    power_ends_at: Option<u64>,
}

#[derive(Clone, Default)]
struct Body {
    live: Vec<u8>,
    durable: Vec<u8>,
    unsynced: Vec<Edit>,
}

#[derive(Clone)]
enum Edit {
    Write { offset: u64, bytes: Vec<u8> },
    Length(u64),
}

/// One atomic change of directories: a name goes, a name comes, or both (a rename).
#[derive(Clone)]
struct NameChange {
    gone: Option<PathBuf>,
    come: Option<(PathBuf, u64)>,
}

impl MemoryDisk {
    /// An empty disk.
    pub fn new() -> MemoryDisk {
        MemoryDisk::default()
    }

    /// The disk as it might be found after a loss of power: what no sync covered is kept, dropped
    /// or torn at sector borders, as `seed` decides. This disk goes on as if nothing had happened.
    pub fn crash(&self, seed: u64) -> MemoryDisk {
        let world = self.world.lock().crash(&mut Dice::new(seed));
        MemoryDisk { world: Arc::new(Mutex::new(world)) }
    }

    /// The disk as the next process finds it when this one is killed: nothing is lost, but what no
    /// sync covered still is not durable. This disk goes on as if nothing had happened.
    pub fn kill(&self) -> MemoryDisk {
        let world = self.world.lock();
        let copy = World {
            files: world.files.clone(),
            names: world.names.clone(),
            durable_names: world.durable_names.clone(),
            unsynced_names: world.unsynced_names.clone(),
            dirs: world.dirs.clone(),
            last_file: world.last_file,
            ..World::default()
        };
        MemoryDisk { world: Arc::new(Mutex::new(copy)) }
    }

    /// Bounds the bytes of all files; `None` lifts the bound.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.world.lock().capacity = bytes;
    }

    /// Operations so far that changed something or made it durable.
    pub fn operations(&self) -> u64 {
        self.world.lock().operations
    }

    /// Lets `operations` more such operations pass; then everything fails.
    pub fn power_off_after(&self, operations: u64) {
        let mut world = self.world.lock();
        world.power_ends_at = Some(world.operations + operations);
    }

    /// Inverts bits of a stored byte, durably and unnoticed. Fails when there is no such byte.
    pub fn flip(&self, path: &Path, offset: u64, mask: u8) -> io::Result<()> {
        let mut world = self.world.lock();
        let id = world.find(path)?;
        let body = world.body(id)?;
        let at = usize::try_from(offset).map_err(io::Error::other)?;
        *body.live.get_mut(at).ok_or(ErrorKind::UnexpectedEof)? ^= mask;
        if let Some(byte) = body.durable.get_mut(at) {
            *byte ^= mask;
        }
        Ok(())
    }
}

impl World {
    fn find(&self, path: &Path) -> io::Result<u64> {
        self.names.get(path).copied().ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn body(&mut self, id: u64) -> io::Result<&mut Body> {
        self.files.get_mut(&id).ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn has_power(&self) -> io::Result<()> {
        match self.power_ends_at {
            Some(end) if self.operations >= end => Err(io::Error::other("the power is off")),
            _ => Ok(()),
        }
    }

    fn operate(&mut self) -> io::Result<()> {
        self.has_power()?;
        self.operations += 1;
        Ok(())
    }

    fn change_names(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.unsynced_names.push(change);
    }

    /// Makes the changes that touch `dir` durable, and the earlier ones of the same names.
    fn sync_dir(&mut self, dir: &Path) {
        let mut wanted: BTreeSet<PathBuf> = BTreeSet::new();
        let mut left = Vec::new();
        let mut covered = Vec::new();
        for change in self.unsynced_names.drain(..).rev() {
            let touches = change.paths().any(|path| path.parent() == Some(dir))
                || change.paths().any(|path| wanted.contains(path));
            if touches {
                wanted.extend(change.paths().cloned());
                covered.push(change);
            } else {
                left.push(change);
            }
        }
        covered.iter().rev().for_each(|change| change.apply(&mut self.durable_names));
        left.reverse();
        self.unsynced_names = left;
    }

    /// Is there room to make a file of `old` bytes `new` bytes long?
    fn check_room(&self, old: u64, new: u64) -> io::Result<()> {
        let Some(capacity) = self.capacity else { return Ok(()) };
        let named = self.names.values().filter_map(|id| self.files.get(id));
        let used: u64 = named.map(|body| body.live.len() as u64).sum();
        if new > old && used + (new - old) > capacity {
            return Err(ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    fn crash(&self, dice: &mut Dice) -> World {
        let keep_percent = [0, 10, 50, 90, 100][dice.below(5) as usize];
        let mut names = self.durable_names.clone();
        for change in &self.unsynced_names {
            if dice.chance(keep_percent) {
                change.apply(&mut names);
            }
        }
        let mut world =
            World { dirs: self.dirs.clone(), last_file: self.last_file, ..World::default() };
        for id in names.values() {
            if let Some(body) = self.files.get(id) {
                world.files.insert(*id, body.crash(dice, keep_percent));
            }
        }
        world.durable_names = names.clone();
        world.names = names;
        world
    }
}

impl NameChange {
    fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.gone.iter().chain(self.come.iter().map(|(path, _)| path))
    }

    fn apply(&self, names: &mut BTreeMap<PathBuf, u64>) {
        if let Some(path) = &self.gone {
            names.remove(path);
        }
        if let Some((path, id)) = &self.come {
            // A file has one name: an earlier rename that was lost does not leave it with two.
            names.retain(|_, other| other != id);
            names.insert(path.clone(), *id);
        }
    }
}

impl Edit {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Edit::Length(len) => bytes.resize(*len as usize, 0),
            Edit::Write { offset, bytes: new } => put(bytes, *offset, new),
        }
    }

    /// Applies the sectors that the dice keep.
    fn tear(&self, bytes: &mut Vec<u8>, dice: &mut Dice, keep_percent: u64) {
        let Edit::Write { offset, bytes: new } = self else {
            if dice.chance(keep_percent) {
                self.apply(bytes);
            }
            return;
        };
        let mut at = 0;
        while at < new.len() {
            let place = offset + at as u64;
            let sector_left = (SECTOR_BYTES - place % SECTOR_BYTES) as usize;
            let end = new.len().min(at + sector_left);
            if dice.chance(keep_percent) {
                put(bytes, place, &new[at..end]);
            }
            at = end;
        }
    }
}

fn put(bytes: &mut Vec<u8>, offset: u64, new: &[u8]) {
    let start = offset as usize;
    if bytes.len() < start + new.len() {
        bytes.resize(start + new.len(), 0);
    }
    bytes[start..start + new.len()].copy_from_slice(new);
}

impl Body {
    fn edit(&mut self, edit: Edit) {
        edit.apply(&mut self.live);
        self.unsynced.push(edit);
    }

    fn sync(&mut self) {
        for edit in self.unsynced.drain(..) {
            edit.apply(&mut self.durable);
        }
    }

    fn crash(&self, dice: &mut Dice, keep_percent: u64) -> Body {
        let mut durable = self.durable.clone();
        for edit in &self.unsynced {
            edit.tear(&mut durable, dice, keep_percent);
        }
        Body { live: durable.clone(), durable, unsynced: Vec::new() }
    }
}

impl MemoryDisk {
    fn file(&self, id: u64) -> Arc<dyn DiskFile> {
        Arc::new(MemoryFile { world: Arc::clone(&self.world), id })
    }
}

impl Disk for MemoryDisk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let world = self.world.lock();
        world.has_power()?;
        world.find(path).map(|id| self.file(id))
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let mut world = self.world.lock();
        world.operate()?;
        if let Ok(id) = world.find(path) {
            world.body(id)?.edit(Edit::Length(0));
            return Ok(self.file(id));
        }
        if !path.parent().is_some_and(|dir| world.dirs.contains(dir)) {
            return Err(ErrorKind::NotFound.into());
        }
        world.last_file += 1;
        let id = world.last_file;
        world.files.insert(id, Body::default());
        world.change_names(NameChange { gone: None, come: Some((path.to_owned(), id)) });
        Ok(self.file(id))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut world = self.world.lock();
        world.operate()?;
        let id = world.find(from)?;
        if !to.parent().is_some_and(|dir| world.dirs.contains(dir)) {
            return Err(ErrorKind::NotFound.into());
        }
        let change = NameChange { gone: Some(from.to_owned()), come: Some((to.to_owned(), id)) };
        world.change_names(change);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut world = self.world.lock();
        world.operate()?;
        world.find(path)?;
        world.change_names(NameChange { gone: Some(path.to_owned()), come: None });
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let world = self.world.lock();
        world.has_power()?;
        if !world.dirs.contains(dir) {
            return Err(ErrorKind::NotFound.into());
        }
        let inside = world.names.keys().filter(|path| path.parent() == Some(dir));
        let names = inside.filter_map(|path| path.file_name()?.to_str().map(str::to_owned));
        Ok(names.collect())
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        let mut world = self.world.lock();
        world.has_power()?;
        world.dirs.extend(dir.ancestors().map(Path::to_owned));
        Ok(())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut world = self.world.lock();
        world.operate()?;
        world.sync_dir(dir);
        Ok(())
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        let world = self.world.lock();
        world.has_power()?;
        Ok(world.names.contains_key(path) || world.dirs.contains(path))
    }
}

struct MemoryFile {
    world: Arc<Mutex<World>>,
    id: u64,
}

impl MemoryFile {
    fn sync(&self) -> io::Result<()> {
        let mut world = self.world.lock();
        world.operate()?;
        world.body(self.id)?.sync();
        Ok(())
    }
}

impl DiskFile for MemoryFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut world = self.world.lock();
        world.has_power()?;
        let live = &world.body(self.id)?.live;
        let start = live.len().min(usize::try_from(offset).unwrap_or(usize::MAX));
        let count = buf.len().min(live.len() - start);
        buf[..count].copy_from_slice(&live[start..start + count]);
        Ok(count)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let mut world = self.world.lock();
        world.operate()?;
        let old = world.body(self.id)?.live.len() as u64;
        world.check_room(old, offset + buf.len() as u64)?;
        world.body(self.id)?.edit(Edit::Write { offset, bytes: buf.to_vec() });
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.sync()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync()
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        let mut world = self.world.lock();
        world.operate()?;
        let old = world.body(self.id)?.live.len() as u64;
        world.check_room(old, len)?;
        if old < len {
            world.body(self.id)?.edit(Edit::Length(len));
        }
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        let mut world = self.world.lock();
        world.has_power()?;
        Ok(world.body(self.id)?.live.len() as u64)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut world = self.world.lock();
        world.operate()?;
        let old = world.body(self.id)?.live.len() as u64;
        world.check_room(old, len)?;
        world.body(self.id)?.edit(Edit::Length(len));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
