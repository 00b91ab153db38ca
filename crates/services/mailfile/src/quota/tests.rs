use std::collections::HashMap;
use std::sync::Arc;

use note::TimeDate;
use proptest::prelude::*;
use store::NoteId;
use txlog::ManualClock;

use super::*;
use crate::fixture::Fixture;
use crate::rules::Verdict;
use crate::{INBOX, Marks, Outcome, trash};

const LETTER: &[u8] = b"Subject: x\r\n\r\nhello\r\n";
const DAY_MICROS: i64 = 86_400_000_000;

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(TimeDate::from_unix_seconds(1_700_000_000)))
}

fn used(fixture: &Fixture) -> u64 {
    fixture.file.usage().unwrap().value.used_bytes
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let fixture = Fixture::new();
    let size = LETTER.len() as u64;
    fixture.set_quota(2 * size, 0);
    let deliver = || fixture.deliver(&fixture.prepared(LETTER));
    assert_eq!(deliver(), Outcome::Delivered { uid: 1, warn: None });
    assert_eq!(deliver(), Outcome::Delivered { uid: 2, warn: None });
    let full =
        Usage { used_bytes: 2 * size, quota: Quota { limit_bytes: 2 * size, warn_bytes: 0 } };
    assert_eq!(deliver(), Outcome::OverQuota(full));
    let refused = fixture.file.append(INBOX, LETTER, None, &Marks::default());
    assert!(matches!(refused, Err(MailError::OverQuota(usage)) if usage == full));
    assert_eq!(fixture.uids(INBOX), [1, 2]);
    // Room is made by those who move with COPY too.
    let inbox = fixture.folder(INBOX);
    fixture.file.copy_entries(inbox, &[1], "Trash").unwrap();
    fixture.file.move_entries(inbox, &[2], "Trash").unwrap();
    assert_eq!(used(&fixture), 2 * size);
    fixture.delete(fixture.folder("Trash"), &[2]);
    assert_eq!(deliver(), Outcome::Delivered { uid: 3, warn: None });
    let deleted = fixture.file.deleted(1).unwrap().value[0].unid;
    assert!(matches!(fixture.file.restore(&deleted, None), Err(MailError::OverQuota(_))));
    let report = Verdict { beyond_quota: true, ..Verdict::default() };
    let outcome = fixture.deliver_as(&fixture.prepared(LETTER), &report);
    assert_eq!(outcome, Outcome::Delivered { uid: 4, warn: None });
    fixture.set_quota(0, 0);
    assert_eq!(deliver(), Outcome::Delivered { uid: 5, warn: None });
}

#[test]
fn the_owner_is_warned_once_a_day() {
    let clock = clock();
    let fixture = Fixture::at(&clock);
    let size = LETTER.len() as u64;
    fixture.set_quota(100 * size, size);
    let warned = || match fixture.deliver(&fixture.prepared(LETTER)) {
        Outcome::Delivered { warn, .. } => warn.map(|usage| usage.used_bytes),
        other => panic!("{other:?}"),
    };
    assert_eq!(warned(), None, "the first one just reaches the warning");
    assert_eq!(warned(), Some(2 * size));
    assert_eq!(warned(), None);
    clock.advance(DAY_MICROS - 1);
    assert_eq!(warned(), None);
    clock.advance(1);
    assert_eq!(warned(), Some(5 * size));
    assert_eq!(used(&fixture), 5 * size, "remembering takes no room");
    fixture.delete(fixture.folder(INBOX), &[1, 2, 3, 4, 5]);
    clock.advance(DAY_MICROS);
    assert_eq!(warned(), None);
}

/// What a random history does.
#[derive(Clone, Debug)]
enum Act {
    Deliver(u16, u8),
    Append(u16, u8),
    Copy(u8, u8, u8),
    Move(u8, u8, u8),
    Expunge(u8, u8),
    Restore(u8),
    Rename(u8),
    DeleteFolder(u8),
    Expire(u8),
    Discard(u16),
    SetRules,
    Reopen,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let size = 0..5_000_u16;
    let one = prop_oneof![
        4 => (size.clone(), any::<u8>()).prop_map(|(size, folder)| Act::Deliver(size, folder)),
        3 => (size.clone(), any::<u8>()).prop_map(|(size, folder)| Act::Append(size, folder)),
        3 => any::<(u8, u8, u8)>().prop_map(|(from, uid, to)| Act::Copy(from, uid, to)),
        3 => any::<(u8, u8, u8)>().prop_map(|(from, uid, to)| Act::Move(from, uid, to)),
        4 => any::<(u8, u8)>().prop_map(|(folder, uid)| Act::Expunge(folder, uid)),
        2 => any::<u8>().prop_map(Act::Restore),
        1 => any::<u8>().prop_map(Act::Rename),
        1 => any::<u8>().prop_map(Act::DeleteFolder),
        1 => any::<u8>().prop_map(Act::Expire),
        1 => size.prop_map(Act::Discard),
        1 => Just(Act::SetRules),
        1 => Just(Act::Reopen),
    ];
    proptest::collection::vec(one, 1..60)
}

struct History {
    fixture: Fixture,
    clock: Arc<ManualClock>,
    limit: u64,
}

impl History {
    fn message(size: u16) -> Vec<u8> {
        let mut message = b"Subject: random\r\n\r\n".to_vec();
        message.resize(message.len() + usize::from(size), b'x');
        message
    }

    fn name(&self, pick: u8) -> String {
        let names = self.fixture.names();
        names[usize::from(pick) % names.len()].clone()
    }

    fn uid(&self, folder: &str, pick: u8) -> Option<u32> {
        let uids = self.fixture.uids(folder);
        uids.get(usize::from(pick) % uids.len().max(1)).copied()
    }

    fn run(&mut self, act: &Act) {
        let file = &self.fixture.file;
        match act {
            Act::Deliver(size, folder) => {
                let folder = Some(self.name(*folder));
                let verdict = Verdict { folder, ..Verdict::default() };
                let prepared = self.fixture.prepared(&History::message(*size));
                let (before, size) = (used(&self.fixture), prepared.size());
                let outcome = self.fixture.deliver_as(&prepared, &verdict);
                let fits = before + size <= self.limit;
                assert_eq!(fits, matches!(outcome, Outcome::Delivered { .. }), "{outcome:?}");
            }
            Act::Append(size, folder) => {
                let (folder, message) = (self.name(*folder), History::message(*size));
                let fits = used(&self.fixture) + message.len() as u64 <= self.limit;
                let appended = file.append(&folder, &message, None, &Marks::default());
                assert_eq!(fits, appended.is_ok());
            }
            Act::Copy(from, uid, to) | Act::Move(from, uid, to) => {
                let (from, to) = (self.name(*from), self.name(*to));
                let Some(uid) = self.uid(&from, *uid) else { return };
                let from = self.fixture.folder(&from);
                match act {
                    Act::Copy(..) => file.copy_entries(from, &[uid], &to).unwrap(),
                    _ => file.move_entries(from, &[uid], &to).unwrap(),
                };
            }
            Act::Expunge(folder, uid) => {
                let folder = self.name(*folder);
                let Some(uid) = self.uid(&folder, *uid) else { return };
                self.fixture.delete(self.fixture.folder(&folder), &[uid]);
            }
            Act::Restore(pick) => {
                let deleted = file.deleted(100).unwrap().value;
                let Some(one) = deleted.get(usize::from(*pick) % deleted.len().max(1)) else {
                    return;
                };
                let fits = used(&self.fixture) + one.size <= self.limit;
                assert_eq!(fits, file.restore(&one.unid, None).is_ok());
            }
            Act::Rename(pick) => {
                let to = format!("renamed {pick} {}", self.fixture.names().len());
                let _ = file.rename_folder(&self.name(*pick), &to);
            }
            Act::DeleteFolder(pick) => {
                let _ = file.delete_folder(&self.name(*pick));
            }
            Act::Expire(hours) => {
                self.clock.advance(i64::from(*hours) * 60_000_000);
                let (store, db) = (file.store(), file.database());
                let before = store.now().plus_seconds(-3_600);
                trash::expire(store, db, before, 10).unwrap();
            }
            Act::Discard(size) => {
                let verdict = Verdict { discard: true, ..Verdict::default() };
                let prepared = self.fixture.prepared(&History::message(*size));
                assert_eq!(self.fixture.deliver_as(&prepared, &verdict), Outcome::Discarded);
            }
            Act::SetRules => {
                file.set_blocked_senders(&["x.test".to_owned()]).unwrap();
            }
            Act::Reopen => {
                file.store().updall(&file.database().path()).unwrap();
            }
        }
    }

    /// What the folders show, each note once.
    fn shown(&self) -> u64 {
        let mut sizes: HashMap<NoteId, u64> = HashMap::new();
        for name in self.fixture.names() {
            let uids = self.fixture.uids(&name);
            let entries = self.fixture.file.entries(self.fixture.folder(&name), &uids).unwrap();
            sizes.extend(entries.value.into_iter().map(|entry| (entry.note, entry.size)));
        }
        sizes.values().sum()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_usage_is_the_sum_of_what_the_folders_show_at_all_times(
        acts in acts(),
        limit in 3_000..40_000_u64,
    ) {
        let clock = clock();
        let fixture = Fixture::at(&clock);
        fixture.set_quota(limit, limit / 2);
        let mut history = History { fixture, clock, limit };
        for act in &acts {
            history.run(act);
            prop_assert_eq!(used(&history.fixture), history.shown(), "after {:?}", act);
        }
    }
}
