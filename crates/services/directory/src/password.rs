//! Passwords: Argon2id hashes, how many run at once, and sign-ins remembered against a revision.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use hmac::{Hmac, KeyInit, Mac};
use note::{OriginatorId, TimeDate, Unid};
use parking_lot::{Condvar, Mutex};
use sha2::Sha256;

/// Memory of one hash in KiB: 19 MiB.
const MEMORY_KIB: u32 = 19 * 1024;
/// Passes over the memory.
const PASSES: u32 = 2;
/// Lanes.
const LANES: u32 = 1;
/// Longest password accepted, in bytes.
pub(crate) const PASSWORD_BYTES_MAX: usize = 1_024;
/// Most sign-ins that wait for a hash to begin.
const HASHES_WAITING_MAX: usize = 64;
/// Most sign-ins that are remembered; the older half is forgotten when it is full.
const REMEMBERED_MAX: usize = 32_768;
/// How long a sign-in is remembered, in seconds.
const REMEMBERED_S: i64 = 3_600;

/// Why no hash was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoHash {
    /// Too many wait already.
    Busy,
    /// The hash function refused its input or found no randomness.
    Failed,
}

/// Makes and verifies hashes, a bounded number at once.
pub(crate) struct Hasher {
    argon2: Argon2<'static>,
    running_max: usize,
    load: Mutex<Load>,
    freed: Condvar,
    /// Hashes computed since the start.
    made: AtomicU64,
    /// Verified in place of the hash of somebody who does not exist.
    dummy: String,
}

#[derive(Default)]
struct Load {
    running: usize,
    waiting: usize,
}

impl Hasher {
    /// `running_max` hashes at once (each takes 19 MiB and a core for about 20 ms).
    pub(crate) fn new(running_max: usize) -> Result<Hasher, NoHash> {
        let params = Params::new(MEMORY_KIB, PASSES, LANES, None).map_err(|_| NoHash::Failed)?;
        let mut hasher = Hasher {
            argon2: Argon2::new(Algorithm::Argon2id, Version::V0x13, params),
            running_max: running_max.max(1),
            load: Mutex::new(Load::default()),
            freed: Condvar::new(),
            made: AtomicU64::new(0),
            dummy: String::new(),
        };
        hasher.dummy = hasher.hash(&random::<16>().ok_or(NoHash::Failed)?)?;
        Ok(hasher)
    }

    /// The PHC string of a password with a random salt.
    pub(crate) fn hash(&self, password: &[u8]) -> Result<String, NoHash> {
        let _turn = self.turn()?;
        let hash: PasswordHash = self.argon2.hash_password(password).map_err(|_| NoHash::Failed)?;
        Ok(hash.to_string())
    }

    /// Whether the password is the one of this PHC string.
    pub(crate) fn verify(&self, password: &[u8], phc: &str) -> Result<bool, NoHash> {
        let hash = PasswordHash::new(phc).map_err(|_| NoHash::Failed)?;
        let _turn = self.turn()?;
        Ok(self.argon2.verify_password(password, &hash).is_ok())
    }

    /// Works as long as [`Hasher::verify`] does, for nobody.
    pub(crate) fn verify_nobody(&self, password: &[u8]) -> Result<(), NoHash> {
        self.verify(password, &self.dummy).map(|_| ())
    }

    /// Hashes computed since the start.
    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    fn turn(&self) -> Result<Turn<'_>, NoHash> {
        let mut load = self.load.lock();
        if load.running >= self.running_max {
            if load.waiting >= HASHES_WAITING_MAX {
                return Err(NoHash::Busy);
            }
            load.waiting += 1;
            self.freed.wait_while(&mut load, |load| load.running >= self.running_max);
            load.waiting -= 1;
        }
        load.running += 1;
        self.made.fetch_add(1, Ordering::Relaxed);
        Ok(Turn { hasher: self })
    }
}

/// Whether a text is a PHC string that can be verified here.
pub(crate) fn is_phc(text: &str) -> bool {
    text.starts_with("$argon2") && PasswordHash::new(text).is_ok()
}

struct Turn<'a> {
    hasher: &'a Hasher,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.hasher.load.lock().running -= 1;
        self.hasher.freed.notify_one();
    }
}

/// Sign-ins that were verified: per person the HMAC of the password under a key of this process.
pub(crate) struct Remembered {
    key: [u8; 32],
    known: Mutex<Generations>,
}

#[derive(Default)]
struct Generations {
    young: HashMap<Unid, Proof>,
    old: HashMap<Unid, Proof>,
}

#[derive(Clone, Copy)]
struct Proof {
    version: OriginatorId,
    tag: [u8; 32],
    until: TimeDate,
}

impl Remembered {
    pub(crate) fn new() -> Result<Remembered, NoHash> {
        let key = random::<32>().ok_or(NoHash::Failed)?;
        Ok(Remembered { key, known: Mutex::new(Generations::default()) })
    }

    /// Whether this password was verified for this very revision not long ago.
    pub(crate) fn knows(&self, version: &OriginatorId, password: &[u8], now: TimeDate) -> bool {
        let proof = {
            let known = self.known.lock();
            let found = known.young.get(&version.unid).or_else(|| known.old.get(&version.unid));
            found.copied()
        };
        let Some(proof) = proof.filter(|p| p.version == *version && now < p.until) else {
            return false;
        };
        self.mac(version, password).is_some_and(|mac| mac.verify_slice(&proof.tag).is_ok())
    }

    /// Remembers a verified password.
    pub(crate) fn remember(&self, version: &OriginatorId, password: &[u8], now: TimeDate) {
        let Some(mac) = self.mac(version, password) else {
            return;
        };
        let tag = mac.finalize().into_bytes().into();
        let proof = Proof { version: *version, tag, until: now.plus_seconds(REMEMBERED_S) };
        let mut known = self.known.lock();
        if known.young.len() >= REMEMBERED_MAX / 2 {
            known.old = std::mem::take(&mut known.young);
        }
        known.young.insert(version.unid, proof);
    }

    fn mac(&self, version: &OriginatorId, password: &[u8]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).ok()?;
        mac.update(&version.unid.0);
        mac.update(&version.sequence.to_le_bytes());
        mac.update(&version.sequence_time.0.to_le_bytes());
        mac.update(password);
        Some(mac)
    }
}

fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes)
}
