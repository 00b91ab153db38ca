use std::ops::ControlFlow;

use mailfile::{MailFile, MailFiles, Marks};
use note::TimeDate;
use store::{Store, StoreOptions};

use super::*;

/// A mail file in a directory of its own, for the tests of every source and sink.
pub(crate) struct Bench {
    pub file: MailFile,
    pub dir: tempfile::TempDir,
}

/// A message as it is in a mail file: folder, bytes, date in seconds, flags, keywords.
pub(crate) type Row = (String, String, i64, u16, Vec<String>);

impl Bench {
    pub(crate) fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(StoreOptions::small(dir.path().join("site"))).unwrap();
        mailfile::create(&store, "mail/ada.nsf", "Ada").unwrap();
        let file = MailFiles::new(store).open("mail/ada.nsf").unwrap();
        Bench { file, dir }
    }

    /// Ends as a kill does, and starts again.
    pub(crate) fn crash(self) -> Bench {
        let Bench { file, dir } = self;
        drop(file);
        let (store, _) = Store::open(StoreOptions::small(dir.path().join("site"))).unwrap();
        let file = MailFiles::new(store).open("mail/ada.nsf").unwrap();
        Bench { file, dir }
    }

    pub(crate) fn import(&self, source: &mut dyn Source) -> Report {
        let options = ImportOptions::default();
        import(&self.file, source, &options, &mut |_, _, _| ControlFlow::Continue(())).unwrap()
    }

    /// Every message, by folder and uid.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for folder in self.file.folders().unwrap().value {
            let opened = self.file.open_folder(&folder.name).unwrap().value;
            let uids: Vec<u32> = opened.uids.iter().collect();
            let loaded = self.file.load(folder.id, &uids, usize::MAX).unwrap().value.0;
            for message in loaded {
                let (entry, mut bytes) = (&message.entry, Vec::new());
                let pieces = message.open().unwrap().content().unwrap();
                self.file.read_content(&pieces, 0..u64::MAX, &mut bytes).unwrap();
                let text = String::from_utf8(bytes).unwrap();
                let date = entry.date.unix_seconds();
                let keywords = entry.keywords.clone();
                rows.push((folder.name.clone(), text, date, entry.flags.0, keywords));
            }
        }
        rows
    }

    /// Folder and subject of every message, sorted.
    pub(crate) fn subjects(&self) -> Vec<String> {
        let subject = |text: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix("Subject: "));
            line.unwrap_or("-").to_owned()
        };
        let rows = self.rows();
        let mut found: Vec<String> =
            rows.iter().map(|row| format!("{} {}", row.0, subject(&row.1))).collect();
        found.sort();
        found
    }
}

/// Gives numbered messages, some of them equal.
struct Numbered {
    count: u64,
    /// Breaks off with an error before this one.
    fails_at: Option<u64>,
}

fn letter(number: u64) -> Vec<u8> {
    // Every tenth is the same again.
    let number = if number.is_multiple_of(10) { 0 } else { number };
    format!("Subject: {number}\r\nDate: Tue, 03 Mar 2026 09:50:00 +0000\r\n\r\nhi\r\n").into_bytes()
}

impl Source for Numbered {
    fn run(&mut self, taker: &mut dyn Taker) -> Result<(), MigrateError> {
        for number in 0..self.count {
            if self.fails_at == Some(number) {
                return Err(MigrateError::Unfit("it broke off".to_owned()));
            }
            taker.folder(if number % 200 < 100 { "INBOX" } else { "Old/2025" })?;
            let (bytes, marks) = (letter(number), Marks::default());
            taker.message(Found { identity: Identity::Content, bytes, date: None, marks })?;
            taker.progress(number, self.count)?;
        }
        Ok(())
    }
}

#[test]
fn everything_is_brought_in_once_however_often_it_breaks_off() {
    let mut bench = Bench::new();
    // Equal messages count in their folder, whose stretches follow one another.
    let all = Bench::new();
    let whole = all.import(&mut Numbered { count: 100, fails_at: None });
    assert_eq!((whole.messages, whole.already), (100, 0));
    for fails_at in [0, 1, 37, 64, 99] {
        let mut source = Numbered { count: 100, fails_at: Some(fails_at) };
        let options = ImportOptions::default();
        let broken =
            import(&bench.file, &mut source, &options, &mut |_, _, _| ControlFlow::Continue(()));
        assert!(broken.is_err());
        bench = bench.crash();
        assert_eq!(bench.rows().len() as u64, fails_at);
    }
    let rest = bench.import(&mut Numbered { count: 100, fails_at: None });
    assert_eq!((rest.messages, rest.already), (1, 99));
    assert_eq!(bench.rows(), all.rows());
    let again = bench.import(&mut Numbered { count: 100, fails_at: None });
    assert_eq!((again.messages, again.already), (0, 100));
}

#[test]
fn a_stop_is_told_and_what_was_done_stays() {
    let bench = Bench::new();
    let mut source = Numbered { count: 300, fails_at: None };
    let report = import(&bench.file, &mut source, &ImportOptions::default(), &mut |_, done, _| {
        if done == 150 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap();
    assert!(report.stopped);
    assert_eq!(report.messages, 151);
    let log = bench.file.store().log();
    assert!(log.durable_lsn() >= log.appended(), "what is told is not durable");
    assert_eq!(bench.rows().len(), 151);
}

#[test]
fn folders_are_made_and_subscribed_to_and_dates_come_from_the_message() {
    let bench = Bench::new();
    let options = ImportOptions { into: Some("From elsewhere".to_owned()), ..Default::default() };
    let mut source = Numbered { count: 101, fails_at: None };
    let report =
        import(&bench.file, &mut source, &options, &mut |_, _, _| ControlFlow::Continue(()));
    assert_eq!(report.unwrap().folders, 2);
    let folders = bench.file.folders().unwrap().value;
    let made = folders.iter().find(|folder| folder.name == "From elsewhere/Old/2025").unwrap();
    assert!(made.subscribed);
    assert_eq!(made.messages, 1);
    assert!(bench.rows().iter().all(|row| row.2 == 1_772_531_400));
}

#[test]
fn the_date_of_the_newest_trace_counts() {
    let date = |text: &str| date_in(text.as_bytes()).map(TimeDate::unix_seconds);
    let received = "Received: from a by b; Tue, 03 Mar 2026 09:50:01 +0000\r\n";
    let own = "Date: Tue, 03 Mar 2026 09:50:00 +0000\r\n";
    assert_eq!(date(&format!("{received}{own}\r\n")), Some(1_772_531_401));
    assert_eq!(date(&format!("{own}\r\nReceived: x; y")), Some(1_772_531_400));
    assert_eq!(date(&format!("Received: nonsense\r\n{own}\r\n")), Some(1_772_531_400));
    assert_eq!(date("Subject: x\r\n\r\n"), None);
}
