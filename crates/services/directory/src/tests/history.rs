//! Lookups after any history are those of a search through all documents; the feed loses nothing.

use std::collections::BTreeMap;

use note::{Note, TimeDate, Unid};
use store::{PreparedNote, Stub};

use super::*;
use crate::document::PersonItems;

/// Pseudo-random numbers (xorshift).
fn dice(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move |bound| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize % bound.max(1)
    }
}

fn note(unid: Unid, short: &str, common: &str, aliases: &[&str]) -> Note {
    let person = Person {
        unid,
        full_name: format!("CN={common}/OU={short}/O=Demo"),
        short_name: short.to_owned(),
        internet_address: format!("{short}@demo.test"),
        aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
        mail_file: format!("mail/{short}.nsf"),
        forward: None,
        admin: false,
        disabled: false,
        message_bytes_max: 0,
    };
    let (server, domain) = ("CN=mail1/O=Demo".to_owned(), "demo.test".to_owned());
    let items = PersonItems { person, server, domain, credential: None };
    let mut note = document::new_note(unid, TimeDate(1));
    items.write(&mut note);
    note
}

fn put(store: &Store, notes: &[Note]) {
    let db = store.database(DIRECTORY_PATH).unwrap();
    let write = |w: &mut store::Writer<'_>| {
        notes.iter().try_for_each(|note| {
            w.put_note(&db, &PreparedNote::new(note, 0, TimeDate(1))).map(|_| ())
        })
    };
    store.write::<_, StoreError>(&[&db], write).unwrap();
}

fn unid(number: usize) -> Unid {
    let mut bytes = [7; 16];
    bytes[..8].copy_from_slice(&(number as u64).to_be_bytes());
    Unid(bytes)
}

#[test]
fn changes_of_many_documents_come_whole() {
    let place = place();
    let mut next = 0;
    for count in [700, 255, 1_100, 3, 512, 513] {
        let notes: Vec<Note> = (next..next + count)
            .map(|n| note(unid(n), &format!("u{n}"), &format!("User {n}"), &[]))
            .collect();
        put(&place.store, &notes);
        next += count;
    }
    let again = Directory::open(place.store.clone()).unwrap();
    for directory in [&place.directory, &again] {
        for n in 0..next {
            let found = directory.find(&format!("u{n}@demo.test")).unwrap();
            assert!(matches!(found, Found::Person(_)), "{n}");
        }
        assert_eq!(directory.people().unwrap().len(), next);
    }
}

#[test]
fn the_cache_is_bounded_and_answers_stay_right() {
    let place = place();
    let directory = &place.directory;
    let notes: Vec<Note> =
        (0..2_000).map(|n| note(unid(n), &format!("u{n}"), &format!("User {n}"), &[])).collect();
    notes.chunks(500).for_each(|notes| put(&place.store, notes));
    directory.set_options(Options { cache_bytes: 100_000, ..Options::default() });
    let mut roll = dice(5);
    for _ in 0..4_000 {
        let n = roll(2_000);
        let Found::Person(person) = directory.find(&format!("u{n}")).unwrap() else { panic!() };
        assert_eq!(person.short_name, format!("u{n}"));
        assert!(directory.cache.size().1 <= 100_000);
    }
    let rows: BTreeMap<_, _> = directory.rows().unwrap().into_iter().collect();
    assert!(rows["Database.NAMELookupCachePool.Used"] > 20_000);
    assert!(rows["Database.NAMELookupCacheMisses"] > 1_000);
    assert!(rows["Database.NAMELookupTotal"] >= 4_000);
    let misses = rows["Database.NAMELookupCacheMisses"];
    assert_eq!(directory.find("nobody at all").unwrap(), Found::Unknown);
    let rows: BTreeMap<_, _> = directory.rows().unwrap().into_iter().collect();
    assert_eq!(rows["Database.NAMELookupCacheMisses"], misses, "no document is read for it");
    assert_eq!(rows["Database.NAMELookupCacheNoHitHits"], 1);
    directory.reset_cache();
    assert_eq!(directory.cache.size().0, 0);
}

struct Somebody {
    short: String,
    common: String,
    alias: String,
}

/// The best answer that a search through all people gives.
fn searched(people: &BTreeMap<usize, Somebody>, name: &str) -> Vec<usize> {
    let ranks: [fn(&Somebody, &str) -> bool; 3] = [
        |somebody, name| somebody.short == name,
        |somebody, name| somebody.alias == name,
        |somebody, name| somebody.common.to_lowercase() == name,
    ];
    for has in ranks {
        let found = people.iter().filter(|(_, somebody)| has(somebody, name));
        let found: Vec<usize> = found.map(|(number, _)| *number).collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

#[test]
fn answers_are_those_of_a_search_after_any_history() {
    for seed in 1..=4 {
        let place = place();
        let db = place.store.database(DIRECTORY_PATH).unwrap();
        let options = Options { cache_bytes: 40_000, ..Options::default() };
        place.directory.set_options(options);
        let mut roll = dice(seed);
        let mut people = BTreeMap::new();
        for step in 0..300 {
            let n = roll(40);
            if roll(4) == 0 && people.remove(&n).is_some() {
                let delete = |w: &mut store::Writer<'_>| {
                    let meta = w.reader(&db)?.note_by_unid(&unid(n))?.unwrap();
                    w.delete_note(&db, meta.id, Stub::Keep)
                };
                place.store.write::<_, StoreError>(&[&db], delete).unwrap();
            } else {
                let short = format!("n{}", roll(50));
                let common = format!("Name {}", roll(10));
                let alias = format!("n{}", roll(50));
                put(&place.store, &[note(unid(n), &short, &common, &[&alias])]);
                people.insert(n, Somebody { short, common, alias });
            }
            for _ in 0..5 {
                let name = match roll(2) {
                    0 => format!("n{}", roll(50)),
                    _ => format!("name {}", roll(10)),
                };
                let found = match place.directory.find(&name).unwrap() {
                    Found::Person(person) => vec![person.unid],
                    Found::Ambiguous(names) => vec![unid(usize::MAX); names.len()],
                    Found::Unknown => Vec::new(),
                    other => panic!("{other:?}"),
                };
                let wanted: Vec<Unid> = searched(&people, &name).into_iter().map(unid).collect();
                match wanted.len() {
                    0 | 1 => assert_eq!(found, wanted, "seed {seed}, step {step}: {name}"),
                    many => assert_eq!(found.len(), many, "seed {seed}, step {step}: {name}"),
                }
            }
        }
    }
}

#[test]
fn a_table_full_of_old_names_is_made_anew() {
    let place = place();
    let directory = &place.directory;
    for round in 0..9 {
        let notes: Vec<Note> = (0..300)
            .map(|n| note(unid(n), &format!("r{round}u{n}"), &format!("User {n}"), &[]))
            .collect();
        put(&place.store, &notes);
        assert!(matches!(directory.find(&format!("r{round}u7")).unwrap(), Found::Person(_)));
        assert!(directory.lookup().unwrap().state.table.len() < 5 * 2_600);
    }
    assert!(directory.lookup().unwrap().state.table.outdated() < 2_000);
    assert_eq!(directory.find("r0u7").unwrap(), Found::Unknown);
    assert!(matches!(directory.find("r8u299@demo.test").unwrap(), Found::Person(_)));
}

#[test]
fn the_order_in_which_documents_changed_does_not_make_a_new_table_old() {
    let place = place();
    let all = |round: usize| (0..3_000).map(move |n| (n, format!("r{round}u{n}")));
    let notes = |round| all(round).map(|(n, short)| note(unid(n), &short, "User", &[]));
    let first: Vec<Note> = notes(0).collect();
    first.chunks(500).for_each(|notes| put(&place.store, notes));
    let mut second: Vec<Note> = notes(1).collect();
    second.reverse();
    second.chunks(500).for_each(|notes| put(&place.store, notes));
    let again = Directory::open(place.store.clone()).unwrap();
    let outdated = || again.lookup().unwrap().state.table.outdated();
    assert_eq!(outdated(), 0);
    put(&place.store, &[note(unid(7), "r2u7", "User", &[])]);
    assert_eq!(outdated(), 1, "one change does not read everything again");
    assert_eq!(again.lookup().unwrap().state.table.documents(), 3_002);
    assert!(matches!(again.find("r2u7").unwrap(), Found::Person(_)));
    assert_eq!(again.find("r1u7").unwrap(), Found::Unknown);
}
