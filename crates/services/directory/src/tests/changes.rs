//! Renaming, changing groups, and telling all faults at once.

use super::*;

fn file_of(directory: &Directory, address: &str) -> String {
    match directory.resolve(&Mailbox::parse(address).unwrap()).unwrap() {
        Resolved::MailFile { path, .. } => path.to_string(),
        other => format!("{other:?}"),
    }
}

#[test]
fn a_renamed_person_gets_mail_under_old_names_and_stays_in_groups() {
    let place = place();
    let directory = &place.directory;
    directory.add_person(with_password("Ada Byron", "byron", "secret")).unwrap();
    directory.add_group(group("Team", &["Ada Byron/Demo", "byron@demo.test"])).unwrap();
    directory.set_administrators(vec!["Ada Byron/Demo".to_owned()]).unwrap();
    let new = NewName {
        full_name: Some("Ada Lovelace".to_owned()),
        short_name: Some("lovelace".to_owned()),
        ..NewName::default()
    };
    let ada = directory.rename_person("byron", new).unwrap();
    assert_eq!(ada.full_name, "CN=Ada Lovelace/O=Demo");
    assert_eq!(
        (ada.short_name.as_str(), ada.internet_address.as_str()),
        ("lovelace", "lovelace@demo.test")
    );
    assert_eq!(ada.aliases, ["CN=Ada Byron/O=Demo", "byron", "byron@demo.test"]);
    assert_eq!((ada.mail_file.as_str(), ada.admin), ("mail/byron.nsf", true));
    for address in ["byron@demo.test", "lovelace@demo.test", "byron+x@demo.test"] {
        assert_eq!(file_of(directory, address), "mail/byron.nsf");
    }
    for name in ["byron", "Ada Byron/Demo", "lovelace", "ada lovelace", "byron@demo.test"] {
        assert!(directory.sign_in(name, b"secret").unwrap().is_some(), "{name}");
    }
    let members = directory.groups().unwrap().remove(0).members;
    assert_eq!(members, ["CN=Ada Lovelace/O=Demo", "byron@demo.test"]);
    // And back again: no name is an alias of itself.
    let back = NewName {
        full_name: Some("Ada Byron".to_owned()),
        short_name: Some("byron".to_owned()),
        ..NewName::default()
    };
    let ada = directory.rename_person("lovelace", back).unwrap();
    assert_eq!(ada.aliases, ["CN=Ada Lovelace/O=Demo", "lovelace", "lovelace@demo.test"]);
    // Old names are hers: nobody else gets them.
    let taken = refusal(directory.add_person(person("Other", "lovelace")));
    assert!(taken.contains("lovelace belongs to CN=Ada Byron/O=Demo"), "{taken}");
}

#[test]
fn an_address_of_another_make_stays_when_the_short_name_changes() {
    let place = place();
    let directory = &place.directory;
    let address = Some("ada.byron@demo.test".to_owned());
    directory.add_person(NewPerson { internet_address: address, ..person("Ada", "ada") }).unwrap();
    let new = NewName { short_name: Some("countess".to_owned()), ..NewName::default() };
    let ada = directory.rename_person("ada", new).unwrap();
    assert_eq!(ada.internet_address, "ada.byron@demo.test");
    assert_eq!(ada.aliases, ["ada"]);
}

#[test]
fn all_faults_are_told_at_once() {
    let place = place();
    let directory = &place.directory;
    directory.add_person(person("Ada Lovelace", "ada")).unwrap();
    let bad = NewPerson {
        full_name: "A@B".to_owned(),
        short_name: "no good".to_owned(),
        internet_address: Some("x@far.test".to_owned()),
        aliases: vec!["y@far.test".to_owned(), "\u{7}".to_owned(), "fine".to_owned()],
        mail_file: Some("../x.nsf".to_owned()),
        forward: Some("nowhere".to_owned()),
        password: Some(NewPassword::Plain(Vec::new())),
    };
    let text = refusal(directory.add_person(bad));
    for part in [
        "full name",
        "short name",
        "x@far.test is not at",
        "y@far.test is not at",
        "alias",
        "../x.nsf",
        "\"nowhere\" is not an internet",
        "password is empty",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let taken = NewPerson {
        internet_address: Some("ada@demo.test".to_owned()),
        aliases: vec!["Ada".to_owned()],
        ..person("Ada Lovelace", "new")
    };
    let text = refusal(directory.add_person(taken));
    for part in ["ada lovelace/demo belongs", "ada belongs", "ada@demo.test belongs"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let both = vec![person("One", "x y"), person("Two", "ada")];
    let text = refusal(directory.add_people(both));
    assert!(text.contains("\"x y\" is not a short name") && text.contains("ada belongs"), "{text}");
    let change = PersonChange {
        internet_address: Some("a b".to_owned()),
        forward: Some(Some("c d".to_owned())),
        ..PersonChange::default()
    };
    let text = refusal(directory.change_person("ada", change));
    assert!(text.contains("\"a b\"") && text.contains("\"c d\""), "{text}");
    let members: Vec<String> = vec!["\u{7}".to_owned()];
    let bad = NewGroup { name: "a@b".to_owned(), members, ..NewGroup::default() };
    let text = refusal(directory.add_group(bad));
    assert!(text.contains("name of a group") && text.contains("member of a group"), "{text}");
}

#[test]
fn a_removed_group_or_person_leaves_nothing_for_those_who_get_the_name_later() {
    let place = place();
    let directory = &place.directory;
    let aliases = vec!["countess".to_owned()];
    directory.add_person(NewPerson { aliases, ..person("Ada", "ada") }).unwrap();
    let members = ["Ada/Demo", "ada", "COUNTESS", "ada@demo.test", "Bob/Demo", "Inner"];
    directory.add_group(group("Team", &members)).unwrap();
    directory.add_group(group("Inner", &[])).unwrap();
    directory.remove_person("ada").unwrap();
    directory.remove_group("inner").unwrap();
    assert_eq!(directory.groups().unwrap()[0].members, ["Bob/Demo"]);
}

#[test]
fn groups_change_kind_address_and_members() {
    let place = place();
    let directory = &place.directory;
    directory.add_group(group("Team", &["ada"])).unwrap();
    let change = GroupChange {
        internet_address: Some("all@demo.test".to_owned()),
        members: Some(vec!["bob".to_owned()]),
        kind: Some(GroupKind::Mail),
    };
    let team = directory.set_group("team", change).unwrap();
    assert_eq!(directory.find("all@demo.test").unwrap(), Found::Group(team.clone()));
    assert_eq!((team.members, team.kind), (vec!["bob".to_owned()], GroupKind::Mail));
    let none = GroupChange { internet_address: Some(String::new()), ..GroupChange::default() };
    let team = directory.set_group("team", none).unwrap();
    assert_eq!((team.internet_address.as_str(), team.kind), ("", GroupKind::Mail));
    assert_eq!(directory.find("all@demo.test").unwrap(), Found::Unknown);
    for kind in GroupKind::ALL {
        assert_eq!(GroupKind::parse(kind.name()), Some(kind));
    }
    assert_eq!(GroupKind::parse("5"), None);
}
