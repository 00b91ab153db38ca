//! Measures what the changes of a working day cost in a mail file, the log not waited for.
//!
//! `cargo run --release -p mailfile --example changes KIND [COUNT [DIRECTORY]]`, KIND being
//! deliver, seen, append, expunge, poll or mark. `mark` sets \Seen of COUNT messages at once.
//! With COUNT twice as large the difference of instructions (`perf stat -e instructions:u`) is
//! that of the changes alone.

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use mailfile::rules::Verdict;
use mailfile::{FlagChange, FlagMode, INBOX, MailFile, MailFiles, Marks, create, deliver};
use note::{Note, NoteClass, TimeDate};
use store::{EntryFlags, FolderId, PreparedNote, Store, StoreError, StoreOptions};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Mail files that the changes are spread over.
const FILES: usize = 100;
/// Messages in each at the beginning.
const MESSAGES: u64 = 50;
/// Changes between two ticks.
const TICK: u64 = 1_000;

struct Bench {
    store: Arc<Store>,
    files: Vec<(MailFile, FolderId)>,
}

fn open(dir: &PathBuf, count: usize) -> Outcome<Bench> {
    drop(std::fs::remove_dir_all(dir));
    let store = Store::open(StoreOptions::new(dir))?.0;
    let shared = MailFiles::new(store.clone());
    let mut files = Vec::new();
    for number in 0..count {
        let path = format!("mail/u{number}.nsf");
        create(&store, &path, "mail")?;
        let file = shared.open(&path)?;
        let inbox = file.open_folder(INBOX)?.value.folder.id;
        files.push((file, inbox));
    }
    Ok(Bench { store, files })
}

fn prepared(store: &Store, number: u64) -> PreparedNote {
    let mut note = Note::new(store.new_unid(), NoteClass::DOCUMENT, TimeDate(number as i64));
    note.set("Subject", &*"what is said in a subject ".repeat(40));
    PreparedNote::new(&note, 1_000, TimeDate(number as i64))
}

impl Bench {
    fn deliver(&self, number: u64) -> Outcome {
        let (file, _) = &self.files[number as usize % self.files.len()];
        let db = file.database();
        let note = prepared(&self.store, number);
        let verdict = Verdict::default();
        self.store.write::<_, StoreError>(&[db], |w| deliver(w, db, &note, &verdict))?;
        Ok(())
    }

    fn mark(&self, number: u64, flags: EntryFlags) -> Outcome<u32> {
        let (file, inbox) = &self.files[number as usize % self.files.len()];
        let marks = Marks { flags, keywords: Vec::new() };
        let uid = 1 + (number / self.files.len() as u64 % MESSAGES) as u32;
        let mode = if (number / 100 / MESSAGES).is_multiple_of(2) {
            FlagMode::Add
        } else {
            FlagMode::Remove
        };
        file.change_flags(*inbox, &[uid], &FlagChange::new(mode, marks))?;
        Ok(uid)
    }

    fn append(&self, number: u64) -> Outcome {
        let (file, _) = &self.files[number as usize % self.files.len()];
        let message = format!(
            "From: ada@example.org\r\nTo: bob@example.org\r\nSubject: number {number}\r\n\r\n{}",
            "a line of the message that is sent\r\n".repeat(30)
        );
        let marks = Marks { flags: EntryFlags::SEEN, keywords: Vec::new() };
        file.append("Sent", message.as_bytes(), None, &marks)?;
        Ok(())
    }

    fn expunge(&self, number: u64) -> Outcome {
        self.deliver(number)?;
        self.deliver(number)?;
        let (file, inbox) = &self.files[number as usize % self.files.len()];
        let uids = file.open_folder(INBOX)?.value.uids;
        let first: Vec<u32> = uids.slice(0..2).collect();
        let marks = Marks { flags: EntryFlags::DELETED, keywords: Vec::new() };
        file.change_flags(*inbox, &first, &FlagChange::new(FlagMode::Add, marks))?;
        file.expunge(*inbox, Some(&first))?;
        Ok(())
    }

    fn poll(&self, number: u64) -> Outcome {
        let (file, inbox) = &self.files[number as usize % self.files.len()];
        file.poll(*inbox, 1, 40)?;
        Ok(())
    }
}

/// Sets \Seen of many messages of one mail file.
fn mark_many(dir: &PathBuf, count: u64) -> Outcome {
    let bench = open(dir, 1)?;
    for number in 0..count {
        bench.deliver(number)?;
    }
    let (file, inbox) = &bench.files[0];
    let uids: Vec<u32> = (1..=count as u32).collect();
    let marks = Marks { flags: EntryFlags::SEEN, keywords: Vec::new() };
    let begun = Instant::now();
    file.change_flags(*inbox, &uids, &FlagChange::new(FlagMode::Add, marks))?;
    let marked = begun.elapsed();
    let begun = Instant::now();
    file.copy_entries(*inbox, &uids, "Archive")?;
    let copied = begun.elapsed();
    let begun = Instant::now();
    file.remove_entries(*inbox, &uids)?;
    let removed = begun.elapsed();
    writeln!(std::io::stdout(), "{count}: {marked:?} copied {copied:?} removed {removed:?}")?;
    bench.store.close()?;
    Ok(())
}

fn main() -> Outcome {
    let mut words = std::env::args().skip(1);
    let kind = words.next().unwrap_or_default();
    let count: u64 = words.next().map_or(Ok(20_000), |word| word.parse())?;
    let dir = words.next().map_or_else(std::env::temp_dir, PathBuf::from).join("mailfile-changes");
    if kind == "mark" {
        return mark_many(&dir, count);
    }
    let bench = open(&dir, FILES)?;
    for number in 0..FILES as u64 * MESSAGES {
        bench.deliver(number)?;
    }
    let begun = Instant::now();
    for number in 0..count {
        match kind.as_str() {
            "deliver" => bench.deliver(number)?,
            "seen" => drop(bench.mark(number, EntryFlags::SEEN)?),
            "append" => bench.append(number)?,
            "expunge" => bench.expunge(number)?,
            "poll" => bench.poll(number)?,
            other => return Err(format!("no such kind: {other:?}").into()),
        }
        if number % TICK == TICK - 1 {
            bench.store.tick()?;
        }
    }
    let each = begun.elapsed().as_secs_f64() * 1e6 / count as f64;
    writeln!(std::io::stdout(), "{kind}: {each:.1} us each")?;
    bench.store.close()?;
    drop(std::fs::remove_dir_all(&dir));
    Ok(())
}
