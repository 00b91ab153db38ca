//! Tests of the demo's data: every message is whole and can be read.

use std::collections::HashSet;

use message::{Limits, parse};
use note::TimeDate;

use super::compose::{Setting, compose};
use super::people::{self, DemoPerson};
use super::script::{Script, file, scripts};

/// 2026-05-04 10:00:00 UTC.
const NOW: TimeDate = TimeDate(1_777_888_800_000_000);

fn composed() -> Vec<(Script, Vec<u8>)> {
    let setting = Setting { domain: "demo.test", now: NOW };
    let all = scripts().unwrap();
    let one = |script: &Script| {
        let parent = all.iter().filter(|one| Some(one.id) == script.reply).collect::<Vec<_>>();
        (script.clone(), compose(&setting, script, &parent))
    };
    all.iter().map(one).collect()
}

#[test]
fn there_are_twelve_people_and_nested_groups() {
    let all: Vec<DemoPerson> = people::people().collect();
    assert_eq!(all.len(), 13);
    let shorts: HashSet<&str> = all.iter().map(|person| person.short).collect();
    assert_eq!(shorts.len(), 13);
    let mut everybody = Vec::new();
    people::expand("everybody", &mut everybody);
    assert_eq!(everybody.len(), 13);
    for group in people::groups() {
        for member in people::members(group.members) {
            assert!(people::person(member).is_some() || people::group(member).is_some());
        }
    }
}

#[test]
fn every_name_in_a_message_is_somebody() {
    let all = scripts().unwrap();
    assert!(all.len() >= 50, "{}", all.len());
    let ids: HashSet<&str> = all.iter().map(|script| script.id).collect();
    assert_eq!(ids.len(), all.len());
    for script in &all {
        let names = script.to.iter().chain(&script.cc).chain(std::iter::once(&script.from));
        for name in names {
            let known = people::person(name).is_some() || people::group(name).is_some();
            assert!(known || name.contains('@'), "{}: {name}", script.id);
        }
        assert!(script.reply.is_none_or(|id| ids.contains(id)), "{}", script.id);
        for name in script.attach.iter().chain(&script.invite) {
            assert!(file(name).is_some(), "{}: {name}", script.id);
        }
        for mark in &script.marks {
            assert!(mark.who == "*" || people::person(mark.who).is_some(), "{}", script.id);
        }
        assert!(!script.subject.is_empty() && !script.body.is_empty(), "{}", script.id);
    }
}

#[test]
fn every_message_parses_without_defects() {
    for (script, bytes) in composed() {
        let parsed = parse(&bytes, &Limits::default());
        assert!(parsed.defects.is_empty(), "{}: {:?}", script.id, parsed.defects);
        assert!(parsed.envelope.sent.is_some(), "{}", script.id);
        let raw = parsed.envelope.subject.clone().unwrap();
        assert_eq!(message::decode_words(&raw), script.subject);
        let attached = parsed.parts.iter().filter(|part| part.is_attachment()).count();
        let expected = script.attach.len() + usize::from(script.invite.is_some());
        assert_eq!(attached, expected, "{}", script.id);
        let long = bytes.split(|byte| *byte == b'\n').map(<[u8]>::len).max();
        assert!(long.unwrap_or(0) <= 200, "{}: a line of {long:?}", script.id);
        assert!(bytes.is_ascii(), "{}", script.id);
    }
}

#[test]
fn texts_come_back_as_written() {
    for (script, bytes) in composed() {
        let parsed = parse(&bytes, &Limits::default());
        let part = parsed.parts.iter().find(|part| part.is("text", "plain")).unwrap();
        let body = &bytes[part.body.start as usize..part.body.end as usize];
        let text = message::decode_text(body, &part.encoding, part.charset());
        let written: Vec<&str> = script.body.trim_end().lines().collect();
        let read: Vec<&str> = text.trim_end().lines().collect();
        assert_eq!(read, written, "{}", script.id);
    }
}

#[test]
fn dates_lie_in_the_past_few_weeks() {
    let setting = Setting { domain: "demo.test", now: NOW };
    for script in scripts().unwrap() {
        let age = NOW.unix_seconds() - setting.sent(script.age).unix_seconds();
        assert!((0..=29 * 86_400).contains(&age), "{}: {age}", script.id);
    }
}

#[test]
fn the_demo_has_what_a_newcomer_should_see() {
    let all = scripts().unwrap();
    assert!(all.iter().any(|script| script.html));
    assert!(all.iter().any(|script| script.invite.is_some()));
    assert!(all.iter().filter(|script| !script.subject.is_ascii()).count() >= 8);
    let plans = all.iter().filter(|script| script.attach.contains(&"basin-plan.png"));
    assert!(plans.count() >= 3);
    let replies = all.iter().filter(|script| script.reply.is_some()).count();
    assert!(replies >= 15);
    let text = composed().into_iter().find(|(script, _)| script.invite.is_some()).unwrap().1;
    let parsed = parse(&text, &Limits::default());
    assert!(parsed.parts.iter().any(|part| part.is("text", "calendar")));
}
