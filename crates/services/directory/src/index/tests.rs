use note::{Note, TimeDate};

use super::*;
use crate::document::{self, PersonItems};
use crate::types::Group;

fn unid(number: u8) -> Unid {
    Unid([number; 16])
}

fn put_person(index: &mut Index, number: u8, full_name: &str, short_name: &str, aliases: &[&str]) {
    let person = Person {
        unid: unid(number),
        full_name: full_name.to_owned(),
        short_name: short_name.to_owned(),
        internet_address: format!("{short_name}@demo.test"),
        aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
        mail_file: format!("mail/{short_name}.nsf"),
        forward: None,
        admin: false,
        disabled: false,
    };
    let items = PersonItems {
        person,
        server: "CN=mail1/O=Demo".to_owned(),
        domain: "demo.test".to_owned(),
        credential: None,
    };
    let mut note = document::new_note(unid(number), TimeDate(1));
    items.write(&mut note);
    put(index, &note);
}

fn put_group(index: &mut Index, number: u8, name: &str, address: &str, members: &[&str]) {
    let group = Group {
        unid: unid(number),
        name: name.to_owned(),
        internet_address: address.to_owned(),
        members: members.iter().map(|member| (*member).to_owned()).collect(),
        mail: true,
    };
    let mut note = document::new_note(group.unid, TimeDate(1));
    document::write_group(&mut note, &group);
    put(index, &note);
}

fn put(index: &mut Index, note: &Note) {
    index.put(note.oid.unid, document::entry(note).unwrap());
}

fn index() -> Index {
    let mut index = Index::default();
    let mut server = document::new_note(unid(100), TimeDate(1));
    document::write_server(&mut server, "CN=mail1/O=Demo", "demo.test");
    server.set("Administrator", vec!["Ada Lovelace/Demo".to_owned(), "Admins".to_owned()]);
    put(&mut index, &server);
    let mut every = document::new_note(unid(101), TimeDate(1));
    document::write_configuration(&mut every, "*");
    every.set(DOMAINS_SETTING, vec!["Demo.Test".to_owned(), "bücher.test".to_owned()]);
    every.set("MaxHops", "25");
    put(&mut index, &every);
    let mut own = document::new_note(unid(102), TimeDate(1));
    document::write_configuration(&mut own, "mail1/Demo");
    own.set("MaxHops", "30");
    put(&mut index, &own);
    put_person(&mut index, 1, "CN=Ada Lovelace/O=Demo", "ada", &["lady", "countess@demo.test"]);
    put_person(&mut index, 2, "CN=Bob Smith/OU=Sales/O=Demo", "bob", &[]);
    put_person(&mut index, 3, "CN=Bob Smith/OU=Lab/O=Demo", "smith", &["Robert Smith"]);
    put_person(&mut index, 4, "CN=Elif Yılmaz/O=Demo", "elif", &[]);
    put_group(&mut index, 50, "Admins", "", &["bob", "Ring"]);
    put_group(&mut index, 51, "Ring", "ring@demo.test", &["Admins", "elif@demo.test"]);
    index.settle();
    index
}

fn found(index: &Index, name: &str) -> String {
    let title = |entry: &Arc<Entry>| match &**entry {
        Entry::Person(found) => found.person.short_name.clone(),
        Entry::Group(found) => found.group.name.clone(),
        _ => "?".to_owned(),
    };
    match index.find(name) {
        Match::One(entry) => title(&entry),
        Match::Several(_) => "several".to_owned(),
        Match::None => "none".to_owned(),
    }
}

#[test]
fn every_name_form_leads_to_its_owner() {
    let cases = [
        ("CN=Ada Lovelace/O=Demo", "ada"),
        ("cn=ada lovelace/o=DEMO", "ada"),
        ("Ada Lovelace/Demo", "ada"),
        (" ada lovelace ", "ada"),
        ("ADA", "ada"),
        ("ada@demo.test", "ada"),
        ("ADA@Demo.TEST", "ada"),
        ("\"ada\"@demo.test", "ada"),
        ("lady", "ada"),
        ("lady@demo.test", "ada"),
        ("Countess@demo.test", "ada"),
        ("Bob Smith", "several"),
        ("Bob Smith/Sales/Demo", "bob"),
        ("CN=Bob Smith/OU=Lab/O=Demo", "smith"),
        ("robert smith", "smith"),
        ("smith", "smith"),
        ("elif yılmaz/demo", "elif"),
        ("Elif Yılmaz", "elif"),
        ("ring", "Ring"),
        ("RING@demo.test", "Ring"),
        ("admins@demo.test", "Admins"),
        ("ada@other.test", "none"),
        ("nobody", "none"),
        ("", "none"),
        ("Ada Lovelace/Other", "none"),
        ("@demo.test", "none"),
    ];
    let index = index();
    for (name, expected) in cases {
        assert_eq!(found(&index, name), expected, "{name:?}");
    }
}

#[test]
fn addresses_resolve() {
    let file = |short: &str| format!("file mail/{short}.nsf");
    let cases = [
        ("ada@demo.test", file("ada")),
        ("\"Ada\"@DEMO.test", file("ada")),
        ("ada@demo.test.", file("ada")),
        ("\"Ada Lovelace\"@demo.test", file("ada")),
        ("\"bob smith\"@demo.test", "ambiguous".to_owned()),
        ("elif@BÜCHER.test", file("elif")),
        ("ring@demo.test", "group Ring".to_owned()),
        ("postmaster", "group Postmaster".to_owned()),
        ("PostMaster@demo.test", "group Postmaster".to_owned()),
        ("postmaster@other.test", "other domain".to_owned()),
        ("ada@sub.demo.test", "other domain".to_owned()),
        ("ada@[127.0.0.1]", "other domain".to_owned()),
        ("ghost@demo.test", "unknown".to_owned()),
    ];
    let index = index();
    for (address, expected) in cases {
        let resolved = match index.resolve(&Mailbox::parse(address).unwrap()) {
            Resolved::MailFile { path, .. } => format!("file {path}"),
            Resolved::Group(group) => format!("group {}", group.name),
            Resolved::Forward(to) => format!("forward {to}"),
            Resolved::OtherDomain => "other domain".to_owned(),
            Resolved::Unknown => "unknown".to_owned(),
            Resolved::Ambiguous => "ambiguous".to_owned(),
        };
        assert_eq!(resolved, expected, "{address}");
    }
}

#[test]
fn members_resolve_by_name_and_address() {
    let index = index();
    let ada = index.resolve_name("ada@demo.test");
    for name in ["CN=Ada Lovelace/O=Demo", "Ada Lovelace/Demo@DEMO", "ada", "Ada Lovelace"] {
        assert_eq!(index.resolve_name(name), ada, "{name}");
    }
    assert_eq!(index.resolve_name("me@far.test"), Resolved::OtherDomain);
    assert_eq!(index.resolve_name("Bob Smith"), Resolved::Ambiguous);
    assert_eq!(index.resolve_name("a b@demo.test"), Resolved::Unknown);
}

#[test]
fn administrators_are_found_through_nested_groups_that_loop() {
    let index = index();
    let admins: Vec<&str> = ["ada", "bob", "smith", "elif"]
        .into_iter()
        .filter(|name| match index.find(name) {
            Match::One(entry) => match &*entry {
                Entry::Person(found) => index.person(found).admin,
                _ => false,
            },
            _ => false,
        })
        .collect();
    assert_eq!(admins, ["ada", "bob", "elif"]);
}

#[test]
fn settings_of_this_server_win() {
    let settings = index().settings();
    assert_eq!(settings["MaxHops"], ["30"]);
    assert_eq!(settings[DOMAINS_SETTING], ["Demo.Test", "bücher.test"]);
    assert_eq!(settings.len(), 2);
}

#[test]
fn a_removed_or_renamed_document_leaves_no_names_behind() {
    let mut index = index();
    put_person(&mut index, 1, "CN=Ada King/O=Demo", "king", &[]);
    index.settle();
    for name in ["ada", "lady", "Ada Lovelace/Demo", "countess@demo.test", "ada@demo.test"] {
        assert_eq!(found(&index, name), "none", "{name}");
    }
    assert_eq!(found(&index, "ada king"), "king");
    for number in [1, 2, 3, 4, 50, 51] {
        index.remove(&unid(number));
    }
    index.settle();
    assert!(index.names.is_empty() && index.addresses.is_empty() && index.admins.is_empty());
}

#[test]
fn a_group_that_is_not_for_mail_gets_none() {
    let mut index = index();
    let mut note = document::new_note(unid(60), TimeDate(1));
    note.set("Type", "Group");
    note.set("ListName", "Deny");
    note.set("GroupType", "3");
    note.set("Members", "ada");
    put(&mut index, &note);
    assert_eq!(index.resolve_name("deny"), Resolved::Unknown);
}

#[test]
fn a_person_without_a_mail_file_or_with_a_forward() {
    let mut index = index();
    let mut note = document::new_note(unid(61), TimeDate(1));
    note.set("Type", "Person");
    note.set("FullName", "CN=Zoe/O=Demo");
    note.set("ShortName", "zoe");
    put(&mut index, &note);
    assert_eq!(index.resolve_name("zoe@demo.test"), Resolved::Unknown);
    note.set("MailFile", "mail\\zoe");
    put(&mut index, &note);
    let zoe = Resolved::MailFile { path: "mail/zoe.nsf".into(), name: "CN=Zoe/O=Demo".into() };
    assert_eq!(index.resolve_name("zoe@demo.test"), zoe);
    note.set("MailAddress", "zoe@far.test");
    put(&mut index, &note);
    let away = Resolved::Forward("zoe@far.test".to_owned());
    assert_eq!(index.resolve_name("zoe@demo.test"), away);
}
