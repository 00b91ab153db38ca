//! Tests of commands on a data directory without a server.

use serde_json::Value;

use super::perform;
use crate::layout::DataDir;
use crate::request::{Care, Reply, Request, Secret, UserAdd, UserSet};
use crate::settings::{Key, Settings};
use crate::site::Site;

fn site(dir: &tempfile::TempDir) -> Site {
    let data = DataDir::new(dir.path().join("server"));
    data.make().unwrap();
    let mut settings = Settings::default();
    settings.set(Key::ServerName, "mail1/Example").unwrap();
    settings.set(Key::Domain, "example.test").unwrap();
    Site::create(&data, &settings).unwrap()
}

fn done(site: &Site, request: Request) -> Value {
    match perform(site, request.clone()) {
        Reply::Done { value } => value,
        other => panic!("{request:?}: {other:?}"),
    }
}

fn refused(site: &Site, request: Request) -> String {
    match perform(site, request.clone()) {
        Reply::Refused { reason } => reason,
        other => panic!("{request:?}: {other:?}"),
    }
}

fn add(full_name: &str, short_name: &str) -> Request {
    Request::UserAdd(UserAdd {
        full_name: full_name.to_owned(),
        short_name: short_name.to_owned(),
        password: Some(Secret("pw".to_owned())),
        ..UserAdd::default()
    })
}

#[test]
fn people_come_change_and_go() {
    let dir = tempfile::tempdir().unwrap();
    let site = site(&dir);
    let ada = done(&site, add("Ada Lovelace", "ada"));
    assert_eq!(ada["full_name"], "CN=Ada Lovelace/O=Example");
    assert_eq!(ada["internet_address"], "ada@example.test");
    assert_eq!(ada["mail_file"], "mail/ada.nsf");
    assert!(refused(&site, add("Ada Lovelace", "ada")).contains("ada"));
    let set = UserSet { name: "ada".into(), admin: Some(true), ..UserSet::default() };
    assert_eq!(done(&site, Request::UserSet(set))["admin"], true);
    let rename = Request::UserRename { name: "ada".into(), full_name: "Ada King".into() };
    let renamed = done(&site, rename);
    assert_eq!(renamed["full_name"], "CN=Ada King/O=Example");
    assert_eq!(renamed["admin"], true);
    let empty = Request::UserPasswd { name: "ada".into(), password: Secret(String::new()) };
    assert!(refused(&site, empty).contains("empty"));
    assert_eq!(done(&site, Request::UserList).as_array().unwrap().len(), 1);
    let remove = Request::UserRemove { name: "ada".into(), with_mail: true };
    done(&site, remove.clone());
    refused(&site, remove);
    refused(&site, Request::DbInfo { path: Some("mail/ada.nsf".into()) });
    site.close().unwrap();
}

#[test]
fn groups_keep_their_members() {
    let dir = tempfile::tempdir().unwrap();
    let site = site(&dir);
    done(&site, add("Ada Lovelace", "ada"));
    let new = Request::GroupAdd {
        name: "Engines".into(),
        address: None,
        members: vec!["ada@example.test".into()],
    };
    done(&site, new);
    let change = |add: &[&str], remove: &[&str]| Request::GroupMembers {
        name: "Engines".into(),
        add: add.iter().map(|name| (*name).to_owned()).collect(),
        remove: remove.iter().map(|name| (*name).to_owned()).collect(),
    };
    let group = done(&site, change(&["x@example.org", "ADA@example.test"], &[]));
    assert_eq!(group["members"].as_array().unwrap().len(), 2, "{group}");
    let group = done(&site, change(&[], &["Ada@Example.Test"]));
    assert_eq!(group["members"], serde_json::json!(["x@example.org"]));
    assert!(refused(&site, change(&[], &["nobody"])).contains("nobody"));
    let list = done(&site, Request::GroupList);
    assert_eq!(list.as_array().unwrap().len(), 1, "{list}");
    done(&site, Request::GroupRemove { name: "engines".into() });
    site.close().unwrap();
}

#[test]
fn databases_and_stores_are_shown_with_the_agreed_fields() {
    let dir = tempfile::tempdir().unwrap();
    let site = site(&dir);
    let create =
        |path: &str, mail| Request::DbCreate { path: path.into(), title: "T".into(), mail };
    done(&site, create("docs/a.nsf", false));
    done(&site, create("mail/b.nsf", true));
    refused(&site, create("docs/a.nsf", false));
    refused(&site, create("../outside.nsf", false));
    let info = done(&site, Request::DbInfo { path: Some("docs/a.nsf".into()) });
    let row = &info.as_array().unwrap()[0];
    for field in [
        "path",
        "title",
        "replica_id",
        "dbiid",
        "ods",
        "notes",
        "deleted",
        "size_bytes",
        "logical_bytes",
        "checkpointed_lsn",
        "applied_lsn",
    ] {
        assert!(!row[field].is_null(), "{field} in {row}");
    }
    let objects = done(&site, Request::ObjectsStatus);
    for field in
        ["objects", "references", "unreferenced", "logical_bytes", "stored_bytes", "segments"]
    {
        assert!(objects[field].is_number(), "{field} in {objects}");
    }
    let log = done(&site, Request::LogStatus);
    for field in ["style", "extents", "bytes", "durable_lsn", "oldest_needed_lsn"] {
        assert!(!log[field].is_null(), "{field} in {log}");
    }
    let names = done(&site, Request::DbCat { path: "names.nsf".into(), note: None });
    let first = &names.as_array().unwrap()[0];
    let unid = first["unid"].as_str().unwrap().to_owned();
    let note = done(&site, Request::DbCat { path: "names.nsf".into(), note: Some(unid) });
    assert!(!note["items"].as_array().unwrap().is_empty(), "{note}");
    refused(&site, Request::DbCat { path: "names.nsf".into(), note: Some("x".into()) });
    assert_eq!(perform(&site, Request::ObjectsVerify).exit_code(), 0);
    assert_eq!(perform(&site, Request::ObjectsResync).exit_code(), 0);
    assert!(refused(&site, Request::Stop).contains("serve"));
    site.close().unwrap();
}

fn care(site: &Site, care: Care, paths: &[&str]) -> Reply {
    let paths = paths.iter().map(|path| (*path).to_owned()).collect();
    perform(site, Request::DbCare { care, paths })
}

fn paths_of(reply: Reply) -> Vec<String> {
    let Reply::Done { value } = reply else { panic!("{reply:?}") };
    let rows = value.as_array().unwrap().iter();
    rows.map(|row| row["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn databases_are_cared_for_one_by_one_by_directory_and_by_list() {
    let dir = tempfile::tempdir().unwrap();
    let site = site(&dir);
    for path in ["mail/ada.nsf", "mail/ben.nsf", "mailing.nsf"] {
        let (path, title) = (path.to_owned(), "x".to_owned());
        done(&site, Request::DbCreate { path, title, mail: false });
    }
    std::fs::write(site.dir.data().join("some.ind"), "mailing.nsf\n\n mail\\ben.nsf \n").unwrap();
    let cases: [(&[&str], &[&str]); 5] = [
        (&["mail/ada.nsf"], &["mail/ada.nsf"]),
        (&["mail"], &["mail/ada.nsf", "mail/ben.nsf"]),
        (&["some.ind", "mail/"], &["mail/ada.nsf", "mail/ben.nsf", "mailing.nsf"]),
        (&["some.ind"], &["mail/ben.nsf", "mailing.nsf"]),
        (&[], &["mail/ada.nsf", "mail/ben.nsf", "mailing.nsf", "names.nsf"]),
    ];
    for kind in [Care::Compact, Care::Fixup, Care::Updall] {
        for (words, expected) in &cases {
            assert_eq!(paths_of(care(&site, kind, words)), *expected, "{kind:?} {words:?}");
        }
    }
    for wrong in ["none.nsf", "mai", "none.ind"] {
        assert!(matches!(care(&site, Care::Fixup, &[wrong]), Reply::Refused { .. }), "{wrong}");
    }
}

#[test]
fn what_was_lost_is_a_finding() {
    let dir = tempfile::tempdir().unwrap();
    let site = site(&dir);
    let (path, title) = ("ada.nsf".to_owned(), "x".to_owned());
    done(&site, Request::DbCreate { path, title, mail: true });
    site.store.flush().unwrap();
    let (data, settings) = (site.dir.clone(), site.settings.clone());
    site.close().unwrap();
    drop(site);
    let mut bytes = std::fs::read(data.data().join("ada.nsf")).unwrap();
    bytes[..4096].fill(0);
    std::fs::write(data.data().join("ada.nsf"), bytes).unwrap();
    let words = ["ada.nsf".to_owned()];
    let reply = super::care_for(&data, &settings, Care::Compact, &words).unwrap();
    let Reply::Finding { value } = reply else { panic!("{reply:?}") };
    assert!(value[0]["error"].as_str().unwrap().contains("fenced"), "{value}");
    let reply = super::care_for(&data, &settings, Care::Fixup, &words).unwrap();
    let Reply::Finding { value } = reply else { panic!("{reply:?}") };
    assert_eq!((&value[0]["state"], &value[0]["lost"]), (&"saved".into(), &0.into()));
    assert_eq!(value[0]["damaged_file"], "ada.nsf.damaged");
    let reply = super::care_for(&data, &settings, Care::Fixup, &words).unwrap();
    let Reply::Done { value } = reply else { panic!("{reply:?}") };
    assert_eq!(value[0]["state"], "clean");
}

#[test]
fn databases_are_copied_moved_and_removed() {
    let dir = tempfile::tempdir().unwrap();
    let site = site(&dir);
    let (path, title) = ("ada.nsf".to_owned(), "Ada".to_owned());
    done(&site, Request::DbCreate { path, title, mail: true });
    let copy = |from: &str, to: &str| Request::DbCopy {
        from: from.to_owned(),
        to: to.to_owned(),
        new_replica: false,
    };
    let rename =
        |from: &str, to: &str| Request::DbMove { from: from.to_owned(), to: to.to_owned() };
    let copied = done(&site, copy("ada.nsf", "old/ada.nsf"));
    assert_eq!((&copied["path"], &copied["title"]), (&"old/ada.nsf".into(), &"Ada".into()));
    let moved = done(&site, rename("ada.nsf", "mail/a/ada.nsf"));
    assert_eq!(moved["path"], "mail/a/ada.nsf");
    assert_eq!(moved["replica_id"], copied["replica_id"]);
    assert_ne!(moved["dbiid"], copied["dbiid"]);
    let removed = done(&site, Request::DbRemove { path: "old/ada.nsf".to_owned() });
    assert_eq!(removed["path"], "old/ada.nsf");
    assert_eq!(site.store.paths(), ["mail/a/ada.nsf", "names.nsf"]);
    for fixed in ["names.nsf", "mail.box", "mail2.box"] {
        assert!(refused(&site, rename(fixed, "x.nsf")).contains("belongs to the server"));
        let remove = Request::DbRemove { path: fixed.to_owned() };
        assert!(refused(&site, remove).contains("belongs to the server"));
    }
    refused(&site, copy("none.nsf", "x.nsf"));
    refused(&site, copy("names.nsf", "mail/a/ada.nsf"));
}
