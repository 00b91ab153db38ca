use note::{Note, TimeDate};
use store::{PreparedNote, Store, StoreError, StoreOptions};

use super::*;
use crate::document::{self, DOMAINS_SETTING, PersonItems};
use crate::types::Group;
use crate::{DIRECTORY_PATH, Found as Answer, NewMailIn, Options};

struct House {
    directory: Arc<Directory>,
    store: Arc<Store>,
    _dir: tempfile::TempDir,
}

fn unid(number: u8) -> Unid {
    Unid([number; 16])
}

impl House {
    fn put(&self, note: &Note) {
        let db = self.store.database(DIRECTORY_PATH).unwrap();
        let prepared = PreparedNote::new(note, 0, TimeDate(1));
        self.store.write::<_, StoreError>(&[&db], |w| w.put_note(&db, &prepared)).unwrap();
    }

    fn put_person(&self, number: u8, full_name: &str, short_name: &str, aliases: &[&str]) {
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
            message_bytes_max: 0,
        };
        let (server, domain) = ("CN=mail1/O=Demo".to_owned(), "demo.test".to_owned());
        let items = PersonItems { person, server, domain, credential: None };
        let mut note = document::new_note(unid(number), TimeDate(1));
        items.write(&mut note);
        self.put(&note);
    }

    fn put_group(&self, number: u8, (name, address): (&str, &str), kind: &str, members: &[&str]) {
        let group = Group {
            unid: unid(number),
            name: name.to_owned(),
            internet_address: address.to_owned(),
            members: members.iter().map(|member| (*member).to_owned()).collect(),
            kind: GroupKind::parse(kind).unwrap(),
        };
        let mut note = document::new_note(group.unid, TimeDate(1));
        document::write_group(&mut note, &group);
        self.put(&note);
    }

    fn found(&self, name: &str) -> String {
        match self.directory.find(name).unwrap() {
            Answer::Person(person) => person.short_name,
            Answer::Group(group) => group.name,
            Answer::MailIn(mail_in) => mail_in.name,
            Answer::Ambiguous(_) => "several".to_owned(),
            Answer::Unknown => "none".to_owned(),
        }
    }

    fn resolved(&self, address: &str) -> String {
        match self.directory.resolve(&Mailbox::parse(address).unwrap()).unwrap() {
            Resolved::MailFile { path, .. } => format!("file {path}"),
            Resolved::Group(group) => format!("group {}", group.name),
            Resolved::Forward(to) => format!("forward {to}"),
            Resolved::OtherDomain => "other domain".to_owned(),
            Resolved::Unknown => "unknown".to_owned(),
            Resolved::Ambiguous => "ambiguous".to_owned(),
        }
    }

    fn by_name(&self, name: &str) -> Resolved {
        self.directory.resolve_name(name).unwrap()
    }
}

fn house() -> House {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(StoreOptions::small(dir.path())).unwrap();
    let directory = Directory::create(store.clone(), "demo.test", "mail1/Demo").unwrap();
    directory.set_administrators(vec!["Ada Lovelace/Demo".into(), "Admins".into()]).unwrap();
    let house = House { directory, store, _dir: dir };
    let every = house.directory.lookup().unwrap().state.document_of("*", true).unwrap();
    let mut every = house.directory.note(&every).unwrap();
    every.set(DOMAINS_SETTING, vec!["Demo.Test".to_owned(), "bücher.test".to_owned()]);
    every.set("MaxHops", "25");
    house.put(&every);
    let mut own = document::new_note(unid(102), TimeDate(1));
    document::write_configuration(&mut own, "mail1/Demo");
    own.set("MaxHops", "30");
    house.put(&own);
    house.put_person(1, "CN=Ada Lovelace/O=Demo", "ada", &["lady", "countess@demo.test"]);
    house.put_person(2, "CN=Bob Smith/OU=Sales/O=Demo", "bob", &[]);
    house.put_person(3, "CN=Bob Smith/OU=Lab/O=Demo", "smith", &["Robert Smith"]);
    house.put_person(4, "CN=Elif Yılmaz/O=Demo", "elif", &[]);
    house.put_group(50, ("Admins", ""), "0", &["bob", "Ring"]);
    house.put_group(51, ("Ring", "ring@demo.test"), "0", &["Admins", "elif@demo.test"]);
    house
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
    let house = house();
    for (name, expected) in cases {
        assert_eq!(house.found(name), expected, "{name:?}");
    }
    let Answer::Ambiguous(names) = house.directory.find("bob smith").unwrap() else { panic!() };
    assert_eq!(names, ["CN=Bob Smith/OU=Lab/O=Demo", "CN=Bob Smith/OU=Sales/O=Demo"]);
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
        ("ada+news@demo.test", file("ada")),
        ("ada+news+more@demo.test", file("ada")),
        ("lady+x@bücher.test", file("ada")),
        ("ring+x@demo.test", "group Ring".to_owned()),
        ("ghost+ada@demo.test", "unknown".to_owned()),
        ("+ada@demo.test", "unknown".to_owned()),
        ("postmaster", "group Postmaster".to_owned()),
        ("PostMaster@demo.test", "group Postmaster".to_owned()),
        ("postmaster@other.test", "other domain".to_owned()),
        ("ada@sub.demo.test", "other domain".to_owned()),
        ("ada@[127.0.0.1]", "other domain".to_owned()),
        ("ghost@demo.test", "unknown".to_owned()),
    ];
    let house = house();
    for (address, expected) in cases {
        assert_eq!(house.resolved(address), expected, "{address}");
    }
}

#[test]
fn the_separator_of_subaddresses_is_a_setting() {
    let house = house();
    house.put_person(5, "CN=Own Plus/O=Demo", "own+plus", &[]);
    assert_eq!(house.resolved("own+plus@demo.test"), "file mail/own+plus.nsf");
    let options = Options { subaddress: "--".to_owned(), ..Options::default() };
    house.directory.set_options(options);
    assert_eq!(house.resolved("ada--news@demo.test"), "file mail/ada.nsf");
    assert_eq!(house.resolved("ada+news@demo.test"), "unknown");
    house.directory.set_options(Options { subaddress: String::new(), ..Options::default() });
    assert_eq!(house.resolved("ada--news@demo.test"), "unknown");
}

#[test]
fn a_catch_all_takes_what_nobody_has_at_its_domain() {
    let house = house();
    let directory = &house.directory;
    directory.set_catch_all("Demo.test", Some("ring")).unwrap();
    assert_eq!(house.resolved("ghost@demo.test"), "group Ring");
    assert_eq!(house.resolved("ada@demo.test"), "file mail/ada.nsf");
    assert_eq!(house.resolved("\"bob smith\"@demo.test"), "ambiguous");
    assert_eq!(house.resolved("ghost@bücher.test"), "unknown");
    assert_eq!(house.resolved("postmaster@demo.test"), "group Postmaster");
    directory.set_catch_all("bücher.test", Some("bob")).unwrap();
    assert_eq!(house.resolved("ghost@bücher.test"), "file mail/bob.nsf");
    assert_eq!(directory.catch_alls().unwrap().len(), 2);
    for (domain, name) in [("far.test", "bob"), ("demo.test", "nobody"), ("demo.test", "bob smith")]
    {
        assert!(directory.set_catch_all(domain, Some(name)).is_err(), "{domain} {name}");
    }
    directory.set_catch_all("demo.test", None).unwrap();
    assert_eq!(house.resolved("ghost@demo.test"), "unknown");
    assert_eq!(house.found("ghost@demo.test"), "none", "it is for mail, not for names");
}

#[test]
fn members_resolve_by_name_and_address() {
    let house = house();
    let ada = house.by_name("ada@demo.test");
    for name in ["CN=Ada Lovelace/O=Demo", "Ada Lovelace/Demo@DEMO", "ada", "Ada Lovelace"] {
        assert_eq!(house.by_name(name), ada, "{name}");
    }
    assert_eq!(house.by_name("me@far.test"), Resolved::OtherDomain);
    assert_eq!(house.by_name("Bob Smith"), Resolved::Ambiguous);
    assert_eq!(house.by_name("a b@demo.test"), Resolved::Unknown);
}

#[test]
fn administrators_are_found_through_nested_groups_that_loop() {
    let house = house();
    let people = house.directory.people().unwrap();
    let admins: Vec<_> = people.iter().filter(|p| p.admin).map(|p| p.short_name.as_str()).collect();
    assert_eq!(admins, ["ada", "bob", "elif"]);
}

#[test]
fn members_of_deny_groups_are_found_through_nested_groups_that_loop() {
    let house = house();
    house.put_group(60, ("Gone", ""), "deny", &["Bob Smith/Lab/Demo", "Inner", "Nobody/Demo"]);
    house.put_group(61, ("Inner", ""), "0", &["countess@demo.test", "Gone"]);
    let denied = |name: &str| {
        let lookup = house.directory.lookup().unwrap();
        let Match::One(document) = lookup.find(name).unwrap() else { panic!("{name}") };
        lookup.is_denied(&document).unwrap()
    };
    assert!(denied("smith") && denied("ada"));
    assert!(!denied("bob") && !denied("elif"));
    assert_eq!(house.by_name("gone"), Resolved::Unknown, "it takes no mail");
    assert_eq!(house.resolved("ada@demo.test"), "file mail/ada.nsf", "mail is not denied");
    house.put_group(60, ("Gone", ""), "acl", &["Bob Smith/Lab/Demo", "Inner"]);
    assert!(!denied("smith") && !denied("ada"));
}

#[test]
fn settings_of_this_server_win() {
    let settings = house().directory.settings().unwrap();
    assert_eq!(settings["MaxHops"], ["30"]);
    assert_eq!(settings[DOMAINS_SETTING], ["Demo.Test", "bücher.test"]);
    assert_eq!(settings.len(), 2);
}

#[test]
fn a_removed_or_renamed_document_leaves_no_names_behind() {
    let house = house();
    assert_eq!(house.found("lady"), "ada");
    house.put_person(1, "CN=Ada King/O=Demo", "king", &[]);
    for name in ["ada", "lady", "Ada Lovelace/Demo", "countess@demo.test", "ada@demo.test"] {
        assert_eq!(house.found(name), "none", "{name}");
    }
    assert_eq!(house.found("ada king"), "king");
    let db = house.store.database(DIRECTORY_PATH).unwrap();
    for number in [1, 2, 3, 4, 50, 51] {
        let delete = |w: &mut store::Writer<'_>| {
            let meta = w.reader(&db)?.note_by_unid(&unid(number))?.unwrap();
            w.delete_note(&db, meta.id, store::Stub::Keep)
        };
        house.store.write::<_, StoreError>(&[&db], delete).unwrap();
    }
    for name in ["king", "ada king", "bob", "bob smith", "ring", "admins", "elif@demo.test"] {
        assert_eq!(house.found(name), "none", "{name}");
    }
    assert!(house.directory.people().unwrap().is_empty());
    assert!(house.directory.groups().unwrap().is_empty());
}

#[test]
fn groups_of_other_kinds_get_no_mail() {
    let house = house();
    for (number, kind) in ["multi-purpose", "1", "acl", "3", "Servers"].into_iter().enumerate() {
        house.put_group(70 + number as u8, (&format!("g{number}"), ""), kind, &["ada"]);
        let takes = matches!(house.by_name(&format!("g{number}")), Resolved::Group(_));
        assert_eq!(takes, number < 2, "{kind}");
    }
    let mut note = document::new_note(unid(80), TimeDate(1));
    note.set("Type", "Group");
    note.set("ListName", "Odd");
    note.set("GroupType", "17");
    house.put(&note);
    assert_eq!(house.by_name("odd"), Resolved::Unknown);
    note.set("GroupType", note::ItemValue::Number(3.0));
    house.put(&note);
    let Answer::Group(odd) = house.directory.find("odd").unwrap() else { panic!() };
    assert_eq!(odd.kind, GroupKind::Deny);
}

#[test]
fn mail_in_databases_get_mail_by_name_address_and_alias() {
    let house = house();
    let new = NewMailIn {
        name: "Orders 2026".to_owned(),
        path: "apps/orders.nsf".to_owned(),
        internet_address: Some("orders@demo.test".to_owned()),
        aliases: vec!["sales@demo.test".to_owned()],
    };
    let made = house.directory.add_mail_in(new.clone()).unwrap();
    assert_eq!(house.found("orders 2026"), "Orders 2026");
    for address in ["orders@demo.test", "SALES@demo.test", "orders+x@demo.test"] {
        assert_eq!(house.resolved(address), "file apps/orders.nsf", "{address}");
    }
    assert!(house.store.database("apps/orders.nsf").is_ok());
    assert_eq!(house.directory.mail_ins().unwrap(), [made]);
    let twice = house.directory.add_mail_in(new).unwrap_err().to_string();
    for part in ["orders 2026 belongs", "orders@demo.test belongs", "sales@demo.test belongs"] {
        assert!(twice.contains(part), "{twice}");
    }
    assert!(house.directory.sign_in("Orders 2026", b"x").unwrap().is_none());
    house.directory.remove_mail_in("sales@demo.test").unwrap();
    assert_eq!(house.resolved("orders@demo.test"), "unknown");
}

#[test]
fn a_person_without_a_mail_file_or_with_a_forward() {
    let house = house();
    let mut note = document::new_note(unid(61), TimeDate(1));
    note.set("Type", "Person");
    note.set("FullName", "CN=Zoe/O=Demo");
    note.set("ShortName", "zoe");
    house.put(&note);
    assert_eq!(house.by_name("zoe@demo.test"), Resolved::Unknown);
    note.set("MailFile", "mail\\zoe");
    house.put(&note);
    let zoe = Resolved::MailFile { path: "mail/zoe.nsf".into(), name: "CN=Zoe/O=Demo".into() };
    assert_eq!(house.by_name("zoe@demo.test"), zoe);
    note.set("MailAddress", "zoe@far.test");
    house.put(&note);
    let away = Resolved::Forward("zoe@far.test".to_owned());
    assert_eq!(house.by_name("zoe@demo.test"), away);
}
