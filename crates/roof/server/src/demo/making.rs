//! Tests of making the demo: once, again, and on a network.

use std::net::IpAddr;

use directory::Found;

use super::{DemoError, DemoOptions, check_place, make, settings};
use crate::layout::DataDir;
use crate::site::Site;

fn options(dir: &tempfile::TempDir) -> DemoOptions {
    DemoOptions {
        dir: dir.path().join("demo"),
        port_offset: 0,
        users: 3,
        bind: IpAddr::from([127, 0, 0, 1]),
        domain: "demo.test".to_owned(),
        password: None,
        mail: true,
    }
}

fn made(options: &DemoOptions) -> (Site, Vec<super::Credentials>) {
    make(options, settings(options).unwrap()).unwrap()
}

fn inbox(site: &Site, path: &str) -> (u32, u32) {
    let database = site.store.database(path).unwrap();
    let read = site.store.read(&database, |reader| reader.folder_by_name("INBOX")).unwrap();
    let folder = read.value.unwrap();
    (folder.messages, folder.unseen)
}

#[test]
fn people_find_mail_and_a_second_start_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let options = options(&dir);
    let (site, people) = made(&options);
    assert_eq!(people.len(), 14);
    assert!(people.iter().all(|person| person.password.as_deref() == Some("demo")));
    let ada = inbox(&site, "mail/ada.nsf");
    assert!(ada.0 >= 20 && ada.1 > 0 && ada.1 < ada.0, "{ada:?}");
    assert_eq!(inbox(&site, "mail/u0003.nsf"), (0, 0));
    assert!(site.directory.sign_in("ada", b"demo").unwrap().is_some());
    assert!(site.directory.sign_in("u0002", b"demo").unwrap().is_some());
    assert!(site.directory.sign_in("admin", b"demo").unwrap().unwrap().admin);
    let objects = site.store.objects().status().unwrap();
    assert!(objects.references > objects.objects as i64, "attachments are shared: {objects:?}");
    site.close().unwrap();

    let more = DemoOptions { users: 5, ..options };
    let (site, _) = made(&more);
    assert_eq!(inbox(&site, "mail/ada.nsf"), ada);
    assert!(matches!(site.directory.find("u0005").unwrap(), Found::Person(_)));
    site.close().unwrap();
}

#[test]
fn a_known_password_is_not_met_on_a_network() {
    let dir = tempfile::tempdir().unwrap();
    let local = DemoOptions { mail: false, users: 1, ..options(&dir) };
    made(&local).0.close().unwrap();
    let open = DemoOptions { bind: IpAddr::from([0, 0, 0, 0]), ..local.clone() };
    let (site, people) = made(&open);
    let ada = people.iter().find(|person| person.short_name == "ada").unwrap();
    let password = ada.password.clone().unwrap();
    assert_ne!(password, "demo");
    assert!(site.directory.sign_in("ada", b"demo").unwrap().is_none());
    assert!(site.directory.sign_in("u0001", b"demo").unwrap().is_none());
    assert!(site.directory.sign_in("ada", password.as_bytes()).unwrap().is_some());
    site.close().unwrap();
    let (site, people) = made(&open);
    assert!(people.iter().all(|person| person.password.is_none()), "printed once");
    assert!(site.directory.sign_in("ada", password.as_bytes()).unwrap().is_some());
    site.close().unwrap();
}

#[test]
fn other_directories_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let options = DemoOptions { mail: false, users: 0, ..options(&dir) };
    let data = DataDir::new(&options.dir);
    std::fs::create_dir_all(data.data()).unwrap();
    std::fs::write(data.data().join("precious"), "x").unwrap();
    assert!(matches!(check_place(&data), Err(DemoError::NotADemo(_))));
    let refused = make(&options, settings(&options).unwrap());
    assert!(matches!(refused, Err(DemoError::NotADemo(_))));
    assert!(data.data().join("precious").exists());
}

#[test]
fn an_interrupted_making_is_begun_anew() {
    let dir = tempfile::tempdir().unwrap();
    let options = DemoOptions { mail: false, users: 0, ..options(&dir) };
    let data = DataDir::new(&options.dir);
    data.make().unwrap();
    let record = r#"{"made":false,"domain":"demo.test","password":null}"#;
    std::fs::write(data.root().join("demo.json"), record).unwrap();
    std::fs::write(data.data().join("half"), "x").unwrap();
    check_place(&data).unwrap();
    let (site, people) = made(&options);
    assert_eq!(people.len(), 13);
    site.close().unwrap();
    let other = DemoOptions { domain: "other.test".to_owned(), ..options };
    let refused = make(&other, settings(&other).unwrap());
    assert!(matches!(refused, Err(DemoError::OtherDomain(_))));
}
