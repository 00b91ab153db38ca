//! Tests of commands on a data directory without a server.

use std::ops::ControlFlow;

use serde_json::Value;

use crate::layout::DataDir;
use crate::progress::{Progress, Unheard};
use crate::request::{Care, QueueOrder, Reply, Request, RuleText, Secret, UserAdd, UserSet};
use crate::settings::{Key, Settings};
use crate::site::Site;

pub(super) fn site(dir: &tempfile::TempDir) -> Site {
    let data = DataDir::new(dir.path().join("server"));
    data.make().unwrap();
    let mut settings = Settings::default();
    settings.set(Key::ServerName, "mail1/Example").unwrap();
    settings.set(Key::Domain, "example.test").unwrap();
    Site::create(&data, &settings).unwrap()
}

fn perform(site: &Site, request: Request) -> Reply {
    super::perform(site, request, &mut Unheard)
}

pub(super) fn done(site: &Site, request: Request) -> Value {
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

pub(super) fn add(full_name: &str, short_name: &str) -> Request {
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
    let size = |bytes| UserSet {
        name: "ada".into(),
        message_bytes_max: Some(bytes),
        ..UserSet::default()
    };
    assert_eq!(done(&site, Request::UserSet(size(5 << 20)))["message_bytes_max"], 5 << 20);
    assert_eq!(done(&site, Request::UserSet(size(0)))["message_bytes_max"], 0);
    let rename = Request::UserRename { name: "ada".into(), full_name: "Ada King".into() };
    let renamed = done(&site, rename);
    assert_eq!(renamed["full_name"], "CN=Ada King/O=Example");
    assert_eq!(renamed["admin"], true);
    let empty = Request::UserPasswd { name: "ada".into(), password: Secret(String::new()) };
    assert!(refused(&site, empty).contains("empty"));
    assert_eq!(done(&site, Request::UserList).as_array().unwrap().len(), 1);
    let unlock = |name: &str| Request::UserUnlock { name: Some(name.into()) };
    assert!(done(&site, unlock("ada")).as_str().unwrap().contains("was not locked out"));
    assert!(refused(&site, unlock("nobody")).contains("no person named nobody"));
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
        kind: None,
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
    assert!(group["unknown_members"].is_null(), "{group}");
    let strangers = ["nobody", "no-such@example.test", "you@example.org", "*/Other", "ada"];
    let group = done(&site, change(&strangers, &[]));
    let unknown = serde_json::json!(["nobody", "no-such@example.test"]);
    assert_eq!(group["unknown_members"], unknown, "{group}");
    assert!(refused(&site, change(&[" ENGINES "], &[])).contains("member of itself"));
    let own = Request::GroupAdd {
        name: "Loop".into(),
        address: Some("loop@example.test".into()),
        kind: Some("mail".into()),
        members: vec!["ada".into(), "LOOP@example.test".into()],
    };
    assert!(refused(&site, own).contains("member of itself"));
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
    for (path, count) in [("docs", 1), ("mail/", 1), (".", 3), ("docs/a.nsf", 1)] {
        let rows = done(&site, Request::DbInfo { path: Some(path.into()) });
        assert_eq!(rows.as_array().unwrap().len(), count, "{path}: {rows}");
    }
    assert!(refused(&site, Request::DbInfo { path: Some("doc".into()) }).contains("neither"));
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
    let (data, settings) = (site.dir.clone(), site.settings());
    site.close().unwrap();
    drop(site);
    let mut bytes = std::fs::read(data.data().join("ada.nsf")).unwrap();
    bytes[..4096].fill(0);
    std::fs::write(data.data().join("ada.nsf"), bytes).unwrap();
    let words = ["ada.nsf".to_owned()];
    let reply = super::care_for(&data, &settings, Care::Compact, &words, &mut Unheard).unwrap();
    let Reply::Finding { value } = reply else { panic!("{reply:?}") };
    assert!(value[0]["error"].as_str().unwrap().contains("fenced"), "{value}");
    let reply = super::care_for(&data, &settings, Care::Fixup, &words, &mut Unheard).unwrap();
    let Reply::Finding { value } = reply else { panic!("{reply:?}") };
    assert_eq!((&value[0]["state"], &value[0]["lost"]), (&"saved".into(), &0.into()));
    assert_eq!(value[0]["damaged_file"], "ada.nsf.damaged");
    let reply = super::care_for(&data, &settings, Care::Fixup, &words, &mut Unheard).unwrap();
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
    done(&site, add("Ada Lovelace", "ada"));
    let remove = Request::DbRemove { path: "mail/ada.nsf".to_owned() };
    assert!(refused(&site, remove).contains("is the mail file of CN=Ada Lovelace"));
    refused(&site, copy("none.nsf", "x.nsf"));
    refused(&site, copy("names.nsf", "mail/a/ada.nsf"));
}

#[test]
fn quotas_rules_and_blocked_senders_belong_to_a_person() {
    let dir = tempfile::tempdir().unwrap();
    let site = site(&dir);
    done(&site, add("Ada Lovelace", "ada"));
    let set = |quota, warn| {
        let set = UserSet {
            name: "ada".into(),
            quota_bytes: quota,
            warn_bytes: warn,
            ..UserSet::default()
        };
        Request::UserSet(set)
    };
    let ada = done(&site, set(Some(1000), Some(900)));
    assert_eq!((&ada["quota_bytes"], &ada["warn_bytes"]), (&1000.into(), &900.into()));
    assert!(refused(&site, set(Some(800), None)).contains("above the quota"));
    assert_eq!(done(&site, set(None, Some(0)))["quota_bytes"], 1000);
    let rule = |name: &str, conditions: &[&str], actions: &[&str]| RuleText {
        name: name.into(),
        enabled: true,
        any: false,
        conditions: conditions.iter().map(|text| (*text).to_owned()).collect(),
        actions: actions.iter().map(|text| (*text).to_owned()).collect(),
    };
    let add = |rule, first| Request::UserRuleAdd { name: "ada".into(), rule, first };
    done(&site, add(rule("Lists", &["sender contains list@"], &["move Lists"]), false));
    let rules = done(&site, add(rule("First", &[], &["flag"]), true));
    assert_eq!((&rules[0]["name"], &rules[1]["name"]), (&"First".into(), &"Lists".into()));
    let rules = done(&site, add(rule("lists", &["size over 9"], &["copy Big", "stop"]), false));
    assert_eq!(rules[1]["then"], "copy Big; stop", "{rules}");
    let file = mailfile::MailFiles::new(site.store.clone()).open("mail/ada.nsf").unwrap();
    let folders = file.folders().unwrap().value;
    assert!(["Lists", "Big"].iter().all(|name| folders.iter().any(|folder| folder.name == *name)));
    let wrong = refused(&site, add(rule("Bad", &["sender dances"], &["explode"]), false));
    assert!(wrong.contains("sender dances") && wrong.contains("explode"), "{wrong}");
    let gone = Request::UserRuleRemove { name: "ada".into(), rule: "FIRST".into() };
    assert_eq!(done(&site, gone.clone()).as_array().unwrap().len(), 1);
    assert!(refused(&site, gone).contains("no rule named"));
    let block = |add: &[&str], remove: &[&str]| Request::UserBlock {
        name: "ada".into(),
        add: add.iter().map(|text| (*text).to_owned()).collect(),
        remove: remove.iter().map(|text| (*text).to_owned()).collect(),
    };
    let blocked = done(&site, block(&["x@example.org", "y@example.org"], &[]));
    assert_eq!(blocked["blocked"].as_array().unwrap().len(), 2, "{blocked}");
    assert!(refused(&site, block(&[], &["z@example.org"])).contains("not blocked"));
    for wrong in ["nonsense", "x@", "a b@example.org", ""] {
        assert!(
            refused(&site, block(&["@example.net", wrong], &[])).contains("@domain"),
            "{wrong}"
        );
    }
    assert_eq!(done(&site, block(&[], &["x@example.org"]))["blocked"][0], "y@example.org");
    let nobody = Request::UserRules { name: "nobody".into() };
    assert!(refused(&site, nobody).contains("nobody"));
    assert_eq!(done(&site, Request::UserUnlock { name: None }), "0 names may sign in again");
    site.close().unwrap();
}

#[test]
fn mail_may_be_for_no_person() {
    let dir = tempfile::tempdir().unwrap();
    let site = site(&dir);
    done(&site, add("Ada Lovelace", "ada"));
    let new = Request::MailInAdd {
        name: "Orders".into(),
        path: "orders.nsf".into(),
        address: Some("orders@example.test".into()),
        aliases: Vec::new(),
    };
    assert_eq!(done(&site, new.clone())["path"], "orders.nsf");
    refused(&site, new);
    assert_eq!(done(&site, Request::MailInList)[0]["internet_address"], "orders@example.test");
    let remove = Request::DbRemove { path: "orders.nsf".into() };
    assert!(refused(&site, remove).contains("takes the mail of Orders"));
    done(&site, Request::MailInRemove { name: "orders".into() });
    assert_eq!(done(&site, Request::MailInList), serde_json::json!([]));
    let all = |name: Option<&str>| Request::CatchAllSet {
        domain: "example.test".into(),
        name: name.map(str::to_owned),
    };
    assert_eq!(done(&site, all(Some("ada")))[0]["domain"], "example.test");
    assert_eq!(done(&site, all(None)), serde_json::json!([]));
    let kind = |kind: &str| Request::GroupSet {
        name: "Engines".into(),
        address: None,
        kind: Some(kind.into()),
    };
    let new = Request::GroupAdd {
        name: "Engines".into(),
        address: None,
        kind: Some("mail".into()),
        members: vec!["ada@example.test".into()],
    };
    assert_eq!(done(&site, new)["type"], "mail");
    for name in super::GROUP_TYPES {
        done(&site, kind(name));
    }
    assert!(refused(&site, kind("club")).contains("one of"));
    site.close().unwrap();
}

#[test]
fn databases_go_into_files_and_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let site = site(&dir);
    done(&site, add("Ada Lovelace", "ada"));
    let file = dir.path().join("backup.nsf");
    let export = |file: &std::path::Path| Request::DbExport {
        path: "names.nsf".into(),
        file: file.to_owned(),
    };
    let import =
        |file: &std::path::Path| Request::DbImport { file: file.to_owned(), to: "none.nsf".into() };
    assert!(refused(&site, import(&file)).contains("no such file"));
    let text = dir.path().join("text");
    for content in ["", "root:x:0:0:root:/root:/bin/bash"] {
        std::fs::write(&text, content).unwrap();
        assert!(refused(&site, import(&text)).contains("not the copy of a database"));
    }
    let inside = site.dir.data().join("mail/copy.nsf");
    assert!(refused(&site, export(&inside)).contains("outside of"));
    let nowhere = dir.path().join("gone/copy.nsf");
    assert!(refused(&site, export(&nowhere)).contains("folder is not there"));
    let exported = done(&site, export(&file));
    assert!(exported["notes"].as_u64().unwrap() > 1, "{exported}");
    assert_ne!(perform(&site, export(&file)).exit_code(), 0, "the file is there");
    let import = Request::DbImport { file, to: "old/names.nsf".into() };
    assert_eq!(done(&site, import)["path"], "old/names.nsf");
    let rows = done(&site, Request::DbCat { path: "old/names.nsf".into(), note: None });
    let unid = rows[0]["unid"].as_str().unwrap().to_owned();
    let new = Request::DbCreate { path: "some.nsf".into(), title: "Some".into(), mail: false };
    done(&site, new);
    let copy = |unids: &[&str]| Request::DbCopyNotes {
        from: "old/names.nsf".into(),
        to: "some.nsf".into(),
        unids: unids.iter().map(|unid| (*unid).to_owned()).collect(),
    };
    assert_eq!(done(&site, copy(&[&unid]))["copied"], 1);
    let missing = perform(&site, copy(&["00000000000000000000000000000001"]));
    assert_eq!(missing.exit_code(), 1, "{missing:?}");
    assert!(refused(&site, copy(&["x"])).contains('x'));
    site.close().unwrap();
}

#[test]
fn a_mail_file_that_is_gone_makes_room_for_its_copy() {
    let dir = tempfile::tempdir().unwrap();
    let site = site(&dir);
    done(&site, add("Ada Lovelace", "ada"));
    let (path, file) = ("mail/ada.nsf".to_owned(), dir.path().join("ada.nsf"));
    done(&site, Request::DbExport { path: path.clone(), file: file.clone() });
    let remove = Request::DbRemove { path: path.clone() };
    assert!(refused(&site, remove.clone()).contains("is the mail file of"));
    let (data, settings) = (site.dir.clone(), site.settings());
    site.close().unwrap();
    std::fs::remove_file(data.data().join(&path)).unwrap();
    let (site, recovery) = Site::open(&data, &settings).unwrap();
    assert_eq!(recovery.fenced.len(), 1);
    let Reply::Finding { value } = care(&site, Care::Fixup, &["mail"]) else { panic!("mended") };
    assert!(value[0]["error"].as_str().unwrap().contains("put the file back"), "{value}");
    done(&site, remove);
    done(&site, Request::DbImport { file, to: path.clone() });
    assert!(done(&site, Request::DbInfo { path: Some(path) })[0]["fenced"].is_null());
    site.close().unwrap();
}

#[test]
fn objects_and_the_queue_are_looked_at_without_a_server() {
    let dir = tempfile::tempdir().unwrap();
    let site = site(&dir);
    let list =
        |after: Option<&str>| Request::ObjectsList { after: after.map(str::to_owned), limit: 10 };
    assert_eq!(done(&site, list(None))["objects"], serde_json::json!([]));
    assert!(refused(&site, list(Some("x"))).contains("--after"));
    let prune = Request::ObjectsPrune { defer_s: Some(0), dry_run: false };
    assert_eq!(done(&site, prune)["objects"], 0);
    let estimate = Request::ObjectsEstimate { thresholds: vec![4096, 65_536] };
    assert_eq!(done(&site, estimate)["thresholds"].as_array().unwrap().len(), 2);
    assert!(refused(&site, Request::LogArchive).contains("log.archive_path"));
    let waiting = QueueOrder::List { state: None, text: String::new(), limit: 10 };
    assert_eq!(done(&site, Request::Queue(waiting)), serde_json::json!([]));
    let wrong = QueueOrder::List { state: Some("asleep".into()), text: String::new(), limit: 10 };
    assert!(refused(&site, Request::Queue(wrong)).contains("held or dead"));
    site.close().unwrap();
}

/// Stops the work at its second step.
struct Hasty(usize);

impl Progress for Hasty {
    fn step(&mut self, _: &str, _: u64, _: u64) -> ControlFlow<()> {
        self.0 += 1;
        if self.0 > 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn long_work_stops_in_order_when_it_is_asked_to() {
    let dir = tempfile::tempdir().unwrap();
    let site = site(&dir);
    done(&site, add("Ada Lovelace", "ada"));
    for care in [Care::Compact, Care::Updall, Care::Fixup] {
        let request = Request::DbCare { care, paths: Vec::new() };
        let Reply::Finding { value } = super::perform(&site, request, &mut Hasty(0)) else {
            panic!("{care:?} went on")
        };
        let last = value.as_array().unwrap().last().unwrap();
        assert!(last["error"].as_str().unwrap().contains("stopped"), "{value}");
    }
    let Reply::Trouble { reason } = super::perform(&site, Request::ObjectsResync, &mut Hasty(0))
    else {
        panic!("the references were counted")
    };
    assert!(reason.contains("stopped"), "{reason}");
    site.close().unwrap();
}
