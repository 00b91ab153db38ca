use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::admin::{perform, tests};
use crate::progress::Unheard;
use crate::request::{
    ImapAccount, MailForm, MailOrigin, MailSecurity, MailWork, Reply, Request, Secret,
};
use crate::site::Site;

fn ask(site: &Site, work: MailWork) -> Reply {
    perform(site, Request::Mail(work), &mut Unheard)
}

fn files(form: MailForm, path: &Path) -> MailWork {
    let from = MailOrigin::Files { form, path: path.to_owned() };
    MailWork::Import { name: "ada".to_owned(), from, into: Some("Old".to_owned()) }
}

fn counts(value: &Value) -> (u64, u64, u64) {
    let count = |name: &str| value[name].as_u64().unwrap();
    (count("messages"), count("already"), count("left_out"))
}

#[test]
fn mail_comes_in_once_and_goes_out_again() {
    let dir = tempfile::tempdir().unwrap();
    let site = tests::site(&dir);
    tests::done(&site, tests::add("Ada Lovelace", "ada"));
    let tree = dir.path().join("eml");
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("1.eml"), "Subject: 1\n\nhi\n").unwrap();
    fs::write(tree.join("2.eml"), "Subject: 2\n\nhi\n").unwrap();
    for wanted in [(2, 0, 0), (0, 2, 0)] {
        let Reply::Done { value } = ask(&site, files(MailForm::Eml, &tree)) else { panic!() };
        assert_eq!(counts(&value), wanted);
        assert_eq!(value["mail_file"], "mail/ada.nsf");
    }
    let out = dir.path().join("out");
    let (name, path) = ("ada".to_owned(), out.clone());
    let (form, folders) = (MailForm::Mbox, vec!["Old".to_owned()]);
    let Reply::Done { value } = ask(&site, MailWork::Export { name, form, path, folders }) else {
        panic!()
    };
    assert_eq!(counts(&value), (2, 0, 0));
    assert!(fs::read_to_string(out.join("Old")).unwrap().contains("Subject: 2"));
}

#[test]
fn what_cannot_be_read_is_a_finding_and_what_is_wrong_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let site = tests::site(&dir);
    tests::done(&site, tests::add("Ada Lovelace", "ada"));
    let file = dir.path().join("notes");
    fs::write(&file, "no mail at all\n").unwrap();
    let Reply::Finding { value } = ask(&site, files(MailForm::Mbox, &file)) else { panic!() };
    assert_eq!(counts(&value), (0, 0, 1));
    assert!(value["problems"][0]["place"].as_str().unwrap().ends_with("notes"));
    for form in [MailForm::Mbox, MailForm::Maildir, MailForm::Eml] {
        let (name, path, folders) = ("ada".to_owned(), file.clone(), Vec::new());
        let export = MailWork::Export { name, form, path, folders };
        let Reply::Refused { reason } = ask(&site, export) else { panic!("{form:?}") };
        assert!(
            reason.ends_with("notes: a file of this name is there; give a directory"),
            "{reason}"
        );
    }
    let missing = dir.path().join("missing");
    for form in [MailForm::Mbox, MailForm::Maildir, MailForm::Eml] {
        assert!(matches!(ask(&site, files(form, &missing)), Reply::Refused { .. }), "{form:?}");
    }
    let from = MailOrigin::Files { form: MailForm::Eml, path: missing };
    let nobody = MailWork::Import { name: "nobody".to_owned(), from, into: None };
    assert!(matches!(ask(&site, nobody), Reply::Refused { .. }));
    // Not an address of this machine: nothing is sent without TLS.
    let account = ImapAccount {
        host: "192.0.2.1".to_owned(),
        port: None,
        user: "ada".to_owned(),
        password: Secret("pw".to_owned()),
        security: MailSecurity::Plain,
        ca_file: None,
        folders: Vec::new(),
    };
    let from = MailOrigin::Imap(account);
    let plain = MailWork::Import { name: "ada".to_owned(), from, into: None };
    let Reply::Trouble { reason } = ask(&site, plain) else { panic!() };
    assert!(reason.contains("without TLS only a server on this machine"), "{reason}");
    assert!(!reason.contains("times in a row"), "{reason}");
}
