use super::*;

#[test]
fn databases_are_found_by_path_after_a_clean_stop_and_after_a_crash() {
    let bench = Bench::new();
    let ada = create(&bench.store, "mail/ada.nsf");
    let (dbiid, replica_id) = (ada.dbiid(), ada.replica_id());
    put(&bench.store, &ada, 1, "text");
    drop(ada);
    let (bench, recovery) = bench.crash().open();
    assert_eq!((recovery.databases, recovery.sections_replayed), (1, 1));
    assert_eq!(recovery.fenced, []);
    let ada = bench.store.database("mail/ada.nsf").unwrap();
    assert_eq!((ada.dbiid(), ada.replica_id()), (dbiid, replica_id));
    assert_eq!((ada.title(), ada.path()), ("mail/ada.nsf".into(), "mail/ada.nsf".into()));
    assert_eq!(text_of(&bench.store, &ada, 1).unwrap(), "text");
    let (bench, recovery) = bench.close().open();
    assert_eq!((recovery.databases, recovery.sections_replayed), (1, 0));
    assert_eq!(bench.store.paths(), ["mail/ada.nsf"]);
    let ada = bench.store.database("mail/ada.nsf").unwrap();
    assert_eq!(text_of(&bench.store, &ada, 1).unwrap(), "text");
}

#[test]
fn bad_paths_are_refused() {
    let bench = Bench::new();
    let long = format!("{}.nsf", "a".repeat(600));
    let bad = [
        "",
        "ada",
        "../ada.nsf",
        "/ada.nsf",
        "mail/../ada.nsf",
        "mail//ada.nsf",
        ".ada.nsf",
        "mail/.x/ada.nsf",
        "a\0.nsf",
        "ada.nsf/",
        "ada.txt",
        ".nsf",
        "mail\\ada.nsf",
        &long,
    ];
    for path in bad {
        let result = bench.store.create(path, NewDatabase::titled("x"));
        assert!(matches!(result, Err(StoreError::BadPath { .. })), "{path:?}");
    }
    create(&bench.store, "mail.box");
    let again = bench.store.create("mail.box", NewDatabase::titled("x"));
    assert!(matches!(again, Err(StoreError::Exists { .. })));
    assert!(matches!(bench.store.database("none.nsf"), Err(StoreError::NotFound { .. })));
}

#[test]
fn a_deleted_database_stays_deleted() {
    let bench = Bench::new();
    let ada = create(&bench.store, "ada.nsf");
    let pin = bench.store.objects().put(&[7; 5_000]).unwrap();
    let put = |writer: &mut crate::Writer<'_>| writer.put_note(&ada, &note(1, "x", &[pin.ticket]));
    bench.store.write::<_, StoreError>(&[&ada], put).unwrap();
    bench.store.delete("ada.nsf").unwrap();
    assert!(!bench.file("ada.nsf").exists());
    let read = bench.store.read(&ada, |_| Ok(()));
    assert!(matches!(read, Err(StoreError::NotFound { .. })));
    assert_eq!(bench.store.objects().references(&pin.ticket.hash).unwrap(), 0);
    drop((ada, pin));
    let (bench, recovery) = bench.crash().open();
    assert_eq!((recovery.databases, recovery.fenced.len()), (0, 0));
    let again = create(&bench.store, "ada.nsf");
    assert_eq!(text_of(&bench.store, &again, 1), None);
    assert_counts_agree(&bench.store);
}

#[test]
fn the_file_of_a_database_whose_deletion_was_cut_short_is_set_aside() {
    let bench = Bench::new();
    create(&bench.store, "ada.nsf");
    bench.store.flush().unwrap();
    let copy = std::fs::read(bench.file("ada.nsf")).unwrap();
    bench.store.delete("ada.nsf").unwrap();
    let closed = bench.crash();
    std::fs::write(closed.file("ada.nsf"), copy).unwrap();
    let (bench, recovery) = closed.open();
    assert_eq!((recovery.databases, recovery.adopted.len()), (0, 0));
    assert!(!bench.file("ada.nsf").exists());
    assert!(bench.file("ada.nsf.deleted").exists());
}

#[test]
fn a_renamed_database_keeps_what_it_holds() {
    let bench = Bench::new();
    let ada = create(&bench.store, "ada.nsf");
    put(&bench.store, &ada, 1, "text");
    bench.store.rename("ada.nsf", "mail/old/ada.nsf").unwrap();
    assert_eq!(text_of(&bench.store, &ada, 1).unwrap(), "text");
    assert_eq!(ada.path(), "mail/old/ada.nsf");
    put(&bench.store, &ada, 2, "more");
    drop(ada);
    let (bench, recovery) = bench.crash().open();
    assert_eq!((recovery.moved.len(), recovery.adopted.len()), (0, 0));
    let ada = bench.store.database("mail/old/ada.nsf").unwrap();
    assert_eq!(text_of(&bench.store, &ada, 2).unwrap(), "more");
    let taken = create(&bench.store, "ada.nsf");
    let refused = bench.store.rename("mail/old/ada.nsf", "ada.nsf");
    assert!(matches!(refused, Err(StoreError::Exists { .. })));
    drop(taken);
}

#[test]
fn a_rename_that_was_cut_short_is_finished() {
    let bench = Bench::new();
    let ada = create(&bench.store, "ada.nsf");
    put(&bench.store, &ada, 1, "text");
    bench.store.rename("ada.nsf", "eve.nsf").unwrap();
    drop(ada);
    let closed = bench.crash();
    crate::life::move_files(&closed.file("eve.nsf"), &closed.file("ada.nsf")).unwrap();
    let (bench, recovery) = closed.open();
    assert_eq!((recovery.moved.len(), recovery.fenced.len()), (0, 0));
    let eve = bench.store.database("eve.nsf").unwrap();
    assert_eq!(text_of(&bench.store, &eve, 1).unwrap(), "text");
}

#[test]
fn a_file_moved_while_the_server_was_down_is_a_logged_rename() {
    let bench = Bench::new();
    let ada = create(&bench.store, "ada.nsf");
    put(&bench.store, &ada, 1, "text");
    drop(ada);
    let closed = bench.close();
    std::fs::create_dir(closed.file("mail")).unwrap();
    crate::life::move_files(&closed.file("ada.nsf"), &closed.file("mail/ada.nsf")).unwrap();
    let (bench, recovery) = closed.open();
    assert_eq!(recovery.moved, [("ada.nsf".to_owned(), "mail/ada.nsf".to_owned())]);
    let (bench, recovery) = bench.crash().open();
    assert_eq!(recovery.moved, []);
    let ada = bench.store.database("mail/ada.nsf").unwrap();
    assert_eq!(text_of(&bench.store, &ada, 1).unwrap(), "text");
}

#[test]
fn a_copy_of_a_database_becomes_one_of_its_own() {
    let bench = Bench::new();
    let ada = create(&bench.store, "ada.nsf");
    let pin = bench.store.objects().put(&[7; 5_000]).unwrap();
    let make = |writer: &mut crate::Writer<'_>| {
        writer.put_note(&ada, &note(1, "text", &[pin.ticket, pin.ticket]))?;
        writer.create_folder(&ada, "INBOX", None)
    };
    let inbox = bench.store.write::<_, StoreError>(&[&ada], make).unwrap().value;
    let dbiid = ada.dbiid();
    drop((ada, pin));
    bench.store.flush().unwrap();
    let closed = bench.close();
    std::fs::copy(closed.file("ada.nsf"), closed.file("copy.nsf")).unwrap();
    let (bench, recovery) = closed.open();
    assert_eq!(recovery.adopted, ["copy.nsf"]);
    let copy = bench.store.database("copy.nsf").unwrap();
    assert_ne!(copy.dbiid(), dbiid);
    let folder = bench.store.read(&copy, |reader| reader.folder_by_name("INBOX")).unwrap().value;
    assert!(folder.unwrap().uidvalidity > inbox.uidvalidity);
    assert_counts_agree(&bench.store);
    put(&bench.store, &copy, 2, "only here");
    drop(copy);
    let (bench, recovery) = bench.crash().open();
    assert_eq!((recovery.adopted.len(), recovery.fenced.len(), recovery.databases), (0, 0, 2));
    let copy = bench.store.database("copy.nsf").unwrap();
    assert_eq!(text_of(&bench.store, &copy, 2).unwrap(), "only here");
    let ada = bench.store.database("ada.nsf").unwrap();
    assert_eq!(text_of(&bench.store, &ada, 2), None);
    assert_counts_agree(&bench.store);
}

#[test]
fn a_file_from_another_server_is_taken_in_unless_it_needs_objects_that_are_not_here() {
    let elsewhere = Bench::new();
    let with = create(&elsewhere.store, "with.nsf");
    let without = create(&elsewhere.store, "without.nsf");
    let pin = elsewhere.store.objects().put(&[7; 5_000]).unwrap();
    let fill = |writer: &mut crate::Writer<'_>| {
        writer.put_note(&with, &note(1, "with", &[pin.ticket]))?;
        writer.put_note(&without, &note(1, "without", &[]))
    };
    elsewhere.store.write::<_, StoreError>(&[&with, &without], fill).unwrap();
    drop((with, without, pin));
    elsewhere.store.flush().unwrap();
    let elsewhere = elsewhere.close();
    let here = Bench::new().close();
    for path in ["with.nsf", "without.nsf"] {
        std::fs::copy(elsewhere.file(path), here.file(path)).unwrap();
    }
    std::fs::write(here.file("junk.nsf"), b"not a database").unwrap();
    let (bench, recovery) = here.open();
    assert_eq!(recovery.adopted, ["without.nsf"]);
    let fenced: Vec<&str> = recovery.fenced.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(fenced, ["junk.nsf", "with.nsf"]);
    let without = bench.store.database("without.nsf").unwrap();
    assert_eq!(text_of(&bench.store, &without, 1).unwrap(), "without");
    assert_eq!(bench.store.paths(), ["without.nsf"]);
}

#[test]
fn titles_can_be_changed_and_survive() {
    let bench = Bench::new();
    let ada = create(&bench.store, "ada.nsf");
    let set = |writer: &mut crate::Writer<'_>| writer.set_title(&ada, "Ada's mail");
    bench.store.write::<_, StoreError>(&[&ada], set).unwrap();
    assert_eq!(ada.title(), "Ada's mail");
    drop(ada);
    let (bench, _) = bench.crash().open();
    assert_eq!(bench.store.database("ada.nsf").unwrap().title(), "Ada's mail");
    let (bench, _) = bench.close().open();
    assert_eq!(bench.store.list()[0].title, "Ada's mail");
}
