use std::collections::BTreeMap;
use std::sync::Mutex;

use super::*;

/// A server with settings: value, whether it is the default, whether it takes a restart.
#[derive(Default)]
struct Server {
    settings: Mutex<BTreeMap<String, (String, bool, bool)>>,
    blocked: Mutex<BTreeMap<String, Vec<String>>>,
    /// The person whose list cannot be changed.
    stubborn: Option<String>,
}

impl Server {
    fn with(settings: &[(&str, &str, bool)]) -> Self {
        let server = Self::default();
        for (name, value, restart) in settings {
            let setting = ((*value).to_owned(), true, *restart);
            server.settings.lock().unwrap().insert((*name).to_owned(), setting);
        }
        server
    }

    fn value(&self, name: &str) -> (String, bool) {
        let (value, is_default, _) = self.settings.lock().unwrap()[name].clone();
        (value, is_default)
    }
}

impl Console for Server {
    fn command(&self, line: &str) -> Result<String, String> {
        let mut settings = self.settings.lock().unwrap();
        if let Some(name) = line.strip_prefix("show config ") {
            let Some((value, is_default, restart)) = settings.get(name) else {
                return Ok("no setting".into());
            };
            let from = if *is_default { "default" } else { "file" };
            let effect = if *restart { "restart: then 7" } else { "live" };
            return Ok(format!(
                "setting  value  from  range  takes effect\n\
                 {name}  {value}  {from}  1 to 9  {effect}"
            ));
        }
        let (name, value) = line.strip_prefix("set config ").unwrap().split_once('=').unwrap();
        let setting = settings.get_mut(name).ok_or("no such setting")?;
        *setting = match value {
            "" => ("2".to_owned(), true, setting.2),
            value => (value.to_owned(), false, setting.2),
        };
        Ok(String::new())
    }

    fn block(&self, person: &str, senders: &[String], way: Blocking) -> Result<(), String> {
        if self.stubborn.as_deref() == Some(person) {
            return Err("no".into());
        }
        let mut blocked = self.blocked.lock().unwrap();
        let list = blocked.entry(person.to_owned()).or_default();
        match way {
            Blocking::Add => list.extend_from_slice(senders),
            Blocking::Remove => list.retain(|sender| !senders.contains(sender)),
        }
        Ok(())
    }
}

fn people(count: u32) -> People {
    let (before, after) = ("u".to_owned(), "@bench.test".to_owned());
    People { before, digits: 4, after, password: "secret".into(), count }
}

fn states(applied: &Applied) -> Vec<State> {
    applied.records.iter().map(|record| record.state).collect()
}

#[test]
fn live_settings_are_set_and_put_back() {
    let server = Server::with(&[("router.mailboxes", "2", false)]);
    let variant = Variant::parse("mailboxes=5,replicas=20%").unwrap();
    let mut applied = apply(&variant, Some(&server), &people(3));
    assert_eq!(states(&applied), [State::Set, State::Driver]);
    assert_eq!(server.value("router.mailboxes"), ("5".to_owned(), false));
    applied.put_back(Some(&server), &people(3));
    assert_eq!(server.value("router.mailboxes"), ("2".to_owned(), true));
    assert_eq!(applied.records[0].put_back.as_deref(), Some(""));
    assert_eq!(applied.records[1].put_back, None);
}

#[test]
fn a_value_from_the_file_is_put_back_as_a_value() {
    let server = Server::with(&[("router.mailboxes", "2", false)]);
    server.command("set config router.mailboxes=3").unwrap();
    let mut applied = apply(&Variant::parse("mailboxes=5").unwrap(), Some(&server), &people(1));
    applied.put_back(Some(&server), &people(1));
    assert_eq!(server.value("router.mailboxes"), ("3".to_owned(), false));
}

#[test]
fn what_is_so_already_is_left_alone() {
    let settings = [("router.mailboxes", "2", false), ("objects.dedupe_bytes_min", "65536", true)];
    let server = Server::with(&settings);
    let variant = Variant::parse("mailboxes=2,dedupe=on").unwrap();
    let applied = apply(&variant, Some(&server), &people(1));
    assert_eq!(states(&applied), [State::Already, State::Already]);
    assert!(applied.complete());
}

#[test]
fn what_cannot_be_done_is_said() {
    let server = Server::with(&[("objects.dedupe_bytes_min", "65536", true)]);
    let text = "journaling,dedupe=off,compression=off,scan,trash=2/15min";
    let variant = Variant::parse(text).unwrap();
    let mut applied = apply(&variant, Some(&server), &people(1));
    assert_eq!(states(&applied), [State::NotPossible; 5]);
    assert!(applied.records[1].how.contains("objects.dedupe_bytes_min = 1073741824"));
    assert!(!applied.complete());
    applied.put_back(Some(&server), &people(1));
    assert!(applied.records.iter().all(|record| record.put_back.is_none()));
    let without = apply(&Variant::parse("mailboxes=2").unwrap(), None, &people(1));
    assert_eq!(states(&without), [State::NotPossible]);
}

#[test]
fn everybody_blocks_and_unblocks() {
    let server = Server::default();
    let variant = Variant::parse("block-rules=10").unwrap();
    let mut applied = apply(&variant, Some(&server), &people(3));
    assert_eq!(states(&applied), [State::Set]);
    assert!(server.blocked.lock().unwrap().values().all(|list| list.len() == 10));
    assert_eq!(server.blocked.lock().unwrap().len(), 3);
    applied.put_back(Some(&server), &people(3));
    assert!(server.blocked.lock().unwrap().values().all(Vec::is_empty));
}

#[test]
fn a_half_done_block_is_undone() {
    let server = Server { stubborn: Some("u0003@bench.test".into()), ..Server::default() };
    let variant = Variant::parse("block-rules=10").unwrap();
    let applied = apply(&variant, Some(&server), &people(3));
    assert_eq!(states(&applied), [State::NotPossible]);
    assert!(server.blocked.lock().unwrap().values().all(Vec::is_empty));
}
