use super::*;
use crate::{Limits, corpus, parse};

fn items(message: &[u8]) -> Vec<Item> {
    note_items(&parse(message, &Limits::default()), message)
}

fn get<'a>(items: &'a [Item], name: &str) -> Option<&'a ItemValue> {
    items.iter().find(|item| item.name == name).map(|item| &item.value)
}

#[test]
fn items_of_a_message() {
    let message = "From: =?utf-8?q?Zo=C3=AB?= <zoe@example.test>\r\nTo: a@b.c, Group: d@e.f;\r\n\
        Cc: x@y.z\r\n\
        Subject: =?utf-8?q?caf=C3=A9?=\r\nDate: Tue, 03 Mar 2026 09:15:00 +0000\r\n\
        Message-ID: <1@b.c>\r\n\
        In-Reply-To: <0@b.c>\r\nReferences: <a@b.c> <0@b.c>\r\nUser-Agent: Test 1\r\n\
        X-Priority: 1 (High)\r\n\
        \r\nthe text\r\n";
    let items = items(message.as_bytes());
    let text = |text: &str| ItemValue::Text(text.to_owned());
    let list = |texts: [&str; 2]| ItemValue::TextList(texts.map(str::to_owned).to_vec());
    let wanted = [
        ("Form", text("Memo")),
        ("From", text("Zoë <zoe@example.test>")),
        ("SendTo", list(["a@b.c", "d@e.f"])),
        ("CopyTo", text("x@y.z")),
        ("Subject", text("café")),
        ("PostedDate", ItemValue::Time(TimeDate(1_772_529_300_000_000))),
        ("$MessageID", text("<1@b.c>")),
        ("In_Reply_To", text("<0@b.c>")),
        ("References", list(["<a@b.c>", "<0@b.c>"])),
        ("$Mailer", text("Test 1")),
        ("Importance", text("1")),
        ("$Abstract", text("the text")),
    ];
    let names: Vec<_> = items.iter().map(|item| item.name.as_str()).collect();
    assert_eq!(names, wanted.each_ref().map(|w| w.0));
    for (name, value) in &wanted {
        assert_eq!(get(&items, name), Some(value), "{name}");
    }
}

#[test]
fn items_are_bounded_and_free_of_controls() {
    for (name, message) in corpus::all().iter().chain(&corpus::from_the_field()) {
        for item in items(message) {
            let texts = match item.value {
                ItemValue::Text(text) => vec![text],
                ItemValue::TextList(texts) => texts,
                _ => vec![],
            };
            assert!(texts.len() <= LIST_MAX, "{name}");
            for text in texts {
                assert!(text.len() <= TEXT_BYTES_MAX, "{name}: {}", item.name);
                assert!(!text.contains(['\r', '\n']), "{name}: {}", item.name);
            }
        }
    }
    assert_eq!(get(&items(b""), "Subject"), Some(&ItemValue::Text(String::new())));
}
