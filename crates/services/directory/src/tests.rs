use std::sync::Arc;

use store::{PreparedNote, Store, StoreOptions};

use super::*;

mod changes;
mod history;
mod locked;

struct Place {
    directory: Arc<Directory>,
    store: Arc<Store>,
    dir: tempfile::TempDir,
}

fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(StoreOptions::small(dir.path())).unwrap();
    let directory = Directory::create(store.clone(), "Demo.Test", "mail1/Demo").unwrap();
    Place { directory, store, dir }
}

fn person(full_name: &str, short_name: &str) -> NewPerson {
    NewPerson {
        full_name: full_name.to_owned(),
        short_name: short_name.to_owned(),
        ..NewPerson::default()
    }
}

fn with_password(full_name: &str, short_name: &str, password: &str) -> NewPerson {
    let password = Some(NewPassword::Plain(password.as_bytes().to_vec()));
    NewPerson { password, ..person(full_name, short_name) }
}

fn group(name: &str, members: &[&str]) -> NewGroup {
    NewGroup {
        name: name.to_owned(),
        internet_address: None,
        members: members.iter().map(|member| (*member).to_owned()).collect(),
        ..NewGroup::default()
    }
}

fn hashes(directory: &Directory) -> u64 {
    directory.hasher.made()
}

fn refusal<T: std::fmt::Debug>(result: Result<T, DirectoryError>) -> String {
    match result.unwrap_err() {
        DirectoryError::Refused(text) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_person_is_registered_with_a_mail_file() {
    let place = place();
    let ada = place.directory.add_person(person("Ada Lovelace", "ada")).unwrap();
    assert_eq!(ada.full_name, "CN=Ada Lovelace/O=Demo");
    assert_eq!(ada.internet_address, "ada@demo.test");
    assert_eq!(ada.mail_file, "mail/ada.nsf");
    assert!(place.store.database("mail/ada.nsf").is_ok());
    assert_eq!(place.directory.find("ada").unwrap(), Found::Person(ada.clone()));
    let address = Mailbox::parse("ADA@demo.test").unwrap();
    let file = Resolved::MailFile { path: "mail/ada.nsf".into(), name: ada.full_name.into() };
    assert_eq!(place.directory.resolve(&address).unwrap(), file);
    assert_eq!(place.directory.domains().unwrap(), ["demo.test"]);
}

#[test]
fn nobody_gets_the_mail_that_somebody_else_left_behind() {
    let place = place();
    let directory = &place.directory;
    directory.add_person(person("Ada Lovelace", "al")).unwrap();
    directory.remove_person("al").unwrap();
    let reason = refusal(directory.add_person(person("Alan Turing", "al")));
    assert!(reason.contains("mail/al.nsf holds the mail of \"Ada Lovelace\""), "{reason}");
    assert!(directory.add_person(person("Ada Lovelace", "al")).is_ok());
    directory.remove_person("al").unwrap();
    let path = Some("mail/al.nsf".to_owned());
    let asked_for = NewPerson { mail_file: path, ..person("Alan Turing", "at") };
    assert_eq!(directory.add_person(asked_for).unwrap().mail_file, "mail/al.nsf");
}

#[test]
fn everything_is_there_after_a_restart() {
    let Place { directory, store, dir } = place();
    directory.add_person(with_password("Ada Lovelace", "ada", "secret")).unwrap();
    directory.add_group(group("Team", &["ada", "Bob/Demo"])).unwrap();
    directory.set_administrators(vec!["Team".to_owned()]).unwrap();
    directory.set_setting("Mailboxes", Some(vec!["3".to_owned()])).unwrap();
    drop((directory, store));
    let (store, _) = Store::open(StoreOptions::small(dir.path())).unwrap();
    let directory = Directory::open(store.clone()).unwrap();
    assert_eq!(directory.server_name().unwrap(), "CN=mail1/O=Demo");
    assert!(directory.sign_in("ada", b"secret").unwrap().unwrap().admin);
    assert_eq!(directory.groups().unwrap()[0].members, ["ada", "Bob/Demo"]);
    assert_eq!(directory.settings().unwrap()["Mailboxes"], ["3"]);
    let again = Directory::create(store, "demo.test", "mail1/Demo");
    assert!(matches!(again.err(), Some(DirectoryError::Store(StoreError::Exists { .. }))));
}

#[test]
fn sign_in_by_every_name_costs_one_hash() {
    let place = place();
    let directory = &place.directory;
    directory.add_person(with_password("Ada Lovelace", "ada", "secret")).unwrap();
    let before = hashes(directory);
    for name in ["ada", "ADA@demo.test", "Ada Lovelace/Demo", "CN=Ada Lovelace/O=Demo"] {
        let person = directory.sign_in(name, b"secret").unwrap().unwrap();
        assert_eq!(person.short_name, "ada");
    }
    assert_eq!(hashes(directory), before + 1, "a verified password is remembered");
    assert_eq!(directory.sign_in("ada", b"Secret").unwrap(), None);
    assert_eq!(directory.sign_in("ada", b"secret2").unwrap(), None);
    assert_eq!(hashes(directory), before + 3, "a wrong one is hashed each time");
}

#[test]
fn names_of_nobody_cost_the_same_hash() {
    let place = place();
    let directory = &place.directory;
    directory.add_person(person("No Password", "nopass")).unwrap();
    let mut locked = with_password("Locked Out", "locked", "secret");
    locked.aliases = vec!["lo".to_owned()];
    directory.add_person(locked).unwrap();
    let change = PersonChange { disabled: Some(true), ..PersonChange::default() };
    assert!(directory.change_person("lo", change).unwrap().disabled);
    for name in ["ghost", "ghost@demo.test", "nopass", "locked", "", "ghost/Demo"] {
        let before = hashes(directory);
        assert_eq!(directory.sign_in(name, b"secret").unwrap(), None, "{name}");
        assert_eq!(hashes(directory), before + 1, "{name}");
    }
    let before = hashes(directory);
    assert_eq!(directory.sign_in("ghost", b"").unwrap(), None);
    assert_eq!(
        directory.sign_in("ghost", &[b'x'; password::PASSWORD_BYTES_MAX + 1]).unwrap(),
        None
    );
    assert_eq!(hashes(directory), before);
}

#[test]
fn a_changed_password_or_person_counts_at_once() {
    let place = place();
    let directory = &place.directory;
    directory.add_person(with_password("Ada Lovelace", "ada", "old")).unwrap();
    assert!(directory.sign_in("ada", b"old").unwrap().is_some());
    directory.set_password("ada", NewPassword::Plain(b"new".to_vec())).unwrap();
    assert_eq!(directory.sign_in("ada", b"old").unwrap(), None);
    assert!(directory.sign_in("ada", b"new").unwrap().is_some());
    let disabled = |on| PersonChange { disabled: Some(on), ..PersonChange::default() };
    directory.change_person("ada", disabled(true)).unwrap();
    assert_eq!(directory.sign_in("ada", b"new").unwrap(), None);
    directory.change_person("ada", disabled(false)).unwrap();
    assert!(directory.sign_in("ada", b"new").unwrap().is_some());
    directory.remove_person("ada").unwrap();
    assert_eq!(directory.sign_in("ada", b"new").unwrap(), None);
    assert!(place.store.database("mail/ada.nsf").is_ok(), "the mail file stays");
}

#[test]
fn a_password_is_remembered_for_this_revision_alone() {
    let place = place();
    let directory = &place.directory;
    directory.add_person(with_password("Ada Lovelace", "ada", "secret")).unwrap();
    assert_eq!(directory.remembered("ada", b"secret").unwrap(), None);
    let ada = directory.sign_in("ada", b"secret").unwrap();
    let before = hashes(directory);
    assert_eq!(directory.remembered("Ada Lovelace", b"secret").unwrap(), ada);
    assert_eq!(directory.remembered("ada", b"wrong").unwrap(), None);
    assert_eq!(directory.remembered("ghost", b"secret").unwrap(), None);
    assert_eq!(hashes(directory), before);
    directory.set_password("ada", NewPassword::Plain(b"new".to_vec())).unwrap();
    assert_eq!(directory.remembered("ada", b"secret").unwrap(), None);
}

#[test]
fn one_hash_serves_many_people() {
    let place = place();
    let directory = &place.directory;
    let hash = directory.hash_password(b"demo").unwrap();
    let before = hashes(directory);
    let many = (0..20).map(|n| NewPerson {
        password: Some(hash.clone()),
        ..person(&format!("User {n}"), &format!("u{n:04}"))
    });
    assert_eq!(directory.add_people(many.collect()).unwrap().len(), 20);
    assert_eq!(hashes(directory), before);
    assert!(directory.sign_in("u0007", b"demo").unwrap().is_some());
    assert_eq!(directory.people().unwrap().len(), 20);
}

#[test]
fn what_cannot_be_is_refused_with_a_reason() {
    let place = place();
    let directory = &place.directory;
    let mut first = person("Ada Lovelace", "ada");
    first.aliases = vec!["countess".to_owned(), "ada.l@demo.test".to_owned()];
    directory.add_person(first).unwrap();
    directory.add_group(group("Team", &[])).unwrap();
    let address = |address: &str| NewPerson {
        internet_address: Some(address.to_owned()),
        ..person("New One", "new")
    };
    let file = |path: &str| NewPerson { mail_file: Some(path.to_owned()), ..person("New", "new") };
    let forward = |to: &str| NewPerson { forward: Some(to.to_owned()), ..person("New", "new") };
    let cases = [
        (person("Ada Lovelace", "ada2"), "ada lovelace/demo belongs to CN=Ada Lovelace/O=Demo"),
        (person("Ada Other", "ADA"), "ada belongs to"),
        (person("Ada Other", "countess"), "countess belongs to"),
        (person("Team", "team"), "team belongs to Team"),
        (person("", "new"), "full name"),
        (person("New@One", "new"), "full name"),
        (person("O=Demo", "new"), "no common name"),
        (person("New One", ""), "not a short name"),
        (person("New One", "new one"), "not a short name"),
        (person("New One", "../x"), "not a short name"),
        (address("new"), "not an internet address"),
        (address("a b@demo.test"), "not an internet address"),
        (address("new@other.test"), "not at a domain of this server (demo.test)"),
        (address("Ada.L@Demo.Test"), "ada.l@demo.test belongs to"),
        (file("../../etc/x.nsf"), "not a path"),
        (file("mail/x.txt"), "not a path"),
        (file("MAIL\\Ada.nsf"), "mail/ada.nsf belongs to"),
        (forward("nowhere"), "not an internet address"),
        (forward("NEW@demo.test"), "address of the same person"),
        (with_password("New One", "new", ""), "password is empty"),
        (
            NewPerson { password: Some(NewPassword::Hashed("x".into())), ..person("New", "new") },
            "not an Argon2 PHC string",
        ),
    ];
    for (new, expected) in cases {
        let text = refusal(directory.add_person(new.clone()));
        assert!(text.contains(expected), "{new:?}: {text}");
    }
    let twins = vec![person("One", "twin"), person("Two", "twin")];
    assert!(refusal(directory.add_people(twins)).contains("twin belongs to"));
    assert_eq!(directory.people().unwrap().len(), 1, "nobody of a refused batch is added");
    let text = refusal(directory.add_group(group("ada", &[])));
    assert!(text.contains("ada belongs to"), "{text}");
    assert!(
        refusal(directory.add_group(group("New", &["a b@x.test"]))).contains("not an internet")
    );
    assert!(refusal(directory.set_setting("not a name", None)).contains("name of a setting"));
}

#[test]
fn names_that_nobody_or_several_have_are_told_apart() {
    let place = place();
    let directory = &place.directory;
    directory.add_person(person("Bob Smith/Sales/Demo", "bob1")).unwrap();
    directory.add_person(person("Bob Smith/Lab/Demo", "bob2")).unwrap();
    let error = directory.remove_person("Bob Smith").unwrap_err();
    assert!(matches!(error, DirectoryError::Ambiguous { candidates, .. } if candidates.len() == 2));
    for error in [directory.remove_person("ghost").err(), directory.remove_group("bob1").err()] {
        assert!(matches!(error, Some(DirectoryError::NotFound { .. })));
    }
}

#[test]
fn groups_and_administrators_follow_names() {
    let place = place();
    let directory = &place.directory;
    directory.add_person(person("Ada Lovelace", "ada")).unwrap();
    directory.add_person(person("Bob", "bob")).unwrap();
    directory
        .add_group(group("Team", &["Ada Lovelace/Demo", "Bob/Demo", "ada@demo.test"]))
        .unwrap();
    directory.set_administrators(vec!["CN=Ada Lovelace/O=Demo".to_owned()]).unwrap();
    let change = PersonChange { full_name: Some("Ada King".to_owned()), ..PersonChange::default() };
    let ada = directory.change_person("ada", change).unwrap();
    assert!(ada.admin);
    assert_eq!(ada.full_name, "CN=Ada King/O=Demo");
    let members = ["CN=Ada King/O=Demo", "Bob/Demo", "ada@demo.test"];
    assert_eq!(directory.groups().unwrap()[0].members, members);
    directory.remove_person("ada king").unwrap();
    assert_eq!(directory.groups().unwrap()[0].members, ["Bob/Demo"], "her address goes too");
    assert_eq!(directory.administrators().unwrap(), Vec::<String>::new());
    directory.set_members("team", vec!["bob".to_owned(), "BOB".to_owned()]).unwrap();
    assert_eq!(directory.remove_group("Team").unwrap().members, ["bob"]);
    assert_eq!(directory.find("Team").unwrap(), Found::Unknown);
}

#[test]
fn changes_of_other_hands_are_seen() {
    let place = place();
    let ada = place.directory.add_person(person("Ada Lovelace", "ada")).unwrap();
    let names = place.store.database(DIRECTORY_PATH).unwrap();
    let read = place.store.read(&names, |reader| {
        let meta = reader.note_by_unid(&ada.unid)?.unwrap();
        Ok((meta.id, reader.note(meta.id)?.unwrap()))
    });
    let (id, mut note) = read.unwrap().value;
    note.touch(place.store.now());
    note.set("ShortName", "countess");
    let prepared = PreparedNote::new(&note, 0, place.store.now());
    place.store.write(&[&names], |writer| writer.put_note(&names, &prepared)).unwrap();
    assert_eq!(place.directory.find("ada").unwrap(), Found::Unknown);
    assert!(matches!(place.directory.find("countess").unwrap(), Found::Person(_)));
    let gone = |writer: &mut store::Writer<'_>| writer.delete_note(&names, id, store::Stub::Keep);
    place.store.write(&[&names], gone).unwrap();
    assert_eq!(place.directory.find("countess").unwrap(), Found::Unknown);
    assert_eq!(place.directory.people().unwrap(), []);
}

#[test]
fn a_directory_in_trouble_never_says_unknown() {
    let Place { directory, store, dir } = place();
    directory.add_person(person("Ada Lovelace", "ada")).unwrap();
    store.flush().unwrap();
    store.close().unwrap();
    drop((directory, store));
    std::fs::write(dir.path().join("data/names.nsf"), [0x55; 16_384]).unwrap();
    let (store, _) = Store::open(StoreOptions::small(dir.path())).unwrap();
    let error = Directory::open(store).err();
    assert!(
        matches!(error, Some(DirectoryError::Store(ref error)) if error.is_temporary()),
        "{error:?}"
    );
}

#[test]
fn a_flood_of_sign_ins_is_bounded() {
    let hasher = Hasher::new(1).unwrap();
    let phc = hasher.hash(b"secret").unwrap();
    assert!(phc.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{phc}");
    let answers = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..90).map(|_| scope.spawn(|| hasher.verify(b"secret", &phc))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(answers.iter().all(|answer| matches!(answer, Ok(true) | Err(password::NoHash::Busy))));
    assert!(answers.contains(&Ok(true)));
}

#[test]
fn with_a_damaged_document_nobody_is_unknown_and_the_others_are_served() {
    let Place { directory, store, dir } = place();
    directory.add_person(with_password("Ada Lovelace", "ada", "secret")).unwrap();
    let names = store.database(DIRECTORY_PATH).unwrap();
    let mut note = document::new_note(store.new_unid(), store.now());
    note.set("Type", "Person");
    note.set("FullName", "CN=Zz Spoiled/O=Demo");
    let put = |note: &note::Note| {
        let prepared = PreparedNote::new(note, 0, store.now());
        store.write::<_, StoreError>(&[&names], |w| w.put_note(&names, &prepared)).unwrap();
    };
    put(&note);
    store.flush().unwrap();
    store.close().unwrap();
    drop((directory, names));
    let path = dir.path().join("data/names.nsf");
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(10).position(|window| window == b"Zz Spoiled").unwrap();
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    drop(store);
    let (store, _) = Store::open(StoreOptions::small(dir.path())).unwrap();
    let directory = Directory::open(store.clone()).unwrap();
    assert!(directory.sign_in("ada", b"secret").unwrap().is_some());
    assert_eq!(directory.people().unwrap().len(), 1);
    let ghost = Mailbox::parse("ghost@demo.test").unwrap();
    let damage = |error: Option<DirectoryError>| {
        assert!(
            matches!(error, Some(DirectoryError::Store(StoreError::Damage { .. }))),
            "{error:?}"
        );
    };
    damage(directory.resolve(&ghost).err());
    damage(directory.resolve_name("ghost").err());
    damage(directory.find("ghost").err());
    damage(directory.sign_in("ghost", b"x").err());
    // Written again, it is whole.
    let names = store.database(DIRECTORY_PATH).unwrap();
    let prepared = PreparedNote::new(&note, 0, store.now());
    store.write::<_, StoreError>(&[&names], |w| w.put_note(&names, &prepared)).unwrap();
    assert_eq!(directory.resolve(&ghost).unwrap(), Resolved::Unknown);
    assert!(matches!(directory.find("zz spoiled").unwrap(), Found::Person(_)));
}

#[test]
fn a_directory_that_was_rebuilt_is_served_again_without_a_restart() {
    let place = place();
    let directory = &place.directory;
    directory.add_person(with_password("Ada Lovelace", "ada", "secret")).unwrap();
    let before = place.store.database(DIRECTORY_PATH).unwrap().dbiid();
    let names = place.store.database(DIRECTORY_PATH).unwrap();
    let mut note = document::new_note(place.store.new_unid(), place.store.now());
    note.set("Type", "Person");
    note.set("FullName", "CN=Zz Spoiled/O=Demo");
    let prepared = PreparedNote::new(&note, 0, place.store.now());
    let put = |w: &mut store::Writer<'_>| w.put_note(&names, &prepared);
    place.store.write::<_, StoreError>(&[&names], put).unwrap();
    place.store.flush().unwrap();
    let path = place.dir.path().join("data/names.nsf");
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(10).position(|window| window == b"Zz Spoiled").unwrap();
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let fixed = place.store.fixup(DIRECTORY_PATH, true).unwrap();
    assert_ne!(fixed.dbiid, None, "{fixed:?}");
    assert_ne!(place.store.database(DIRECTORY_PATH).unwrap().dbiid(), before);
    assert!(directory.sign_in("ada", b"secret").unwrap().is_some());
    assert_eq!(directory.people().unwrap().len(), 1);
    directory.add_person(person("Bob", "bob")).unwrap();
    assert!(matches!(directory.find("bob").unwrap(), Found::Person(_)));
}
