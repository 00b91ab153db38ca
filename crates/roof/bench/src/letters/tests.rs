use std::collections::HashSet;
use std::time::{Duration, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::*;

fn letters(seed: u64, profile: &str, options: PoolOptions) -> Letters {
    Letters::new(seed, "run-1", &Profile::named(profile).unwrap(), options).unwrap()
}

fn order<'a>(kind: Kind<'a>, to: &'a [String]) -> Order<'a> {
    let date = UNIX_EPOCH + Duration::from_secs(1_709_251_199);
    Order { kind, from: "u0001@x.test", to, date }
}

fn whole(letter: &Letter) -> Vec<u8> {
    letter.pieces.concat()
}

fn people(count: u32) -> Vec<String> {
    (1..=count).map(|n| format!("u{n:04}@x.test")).collect()
}

const KINDS: [Kind<'_>; 5] = [
    Kind::Memo,
    Kind::Reply { message_id: "<run-1.7@x.test>" },
    Kind::Appointment,
    Kind::Invitation,
    Kind::Rsvp { message_id: "<run-1.7@x.test>" },
];

/// Lines end with CRLF, fit, and need no dot of transport; sum, size and id are right.
#[test]
fn letters_are_well_formed() {
    for profile in ["n85", "help", "r5", "fixed:0", "fixed:1", "fixed:60", "fixed:77"] {
        let letters = letters(3, profile, PoolOptions::default());
        let to = people(30);
        let mut author = letters.author(5);
        for n in 0..60 {
            let letter = letters.letter(&mut author, &order(KINDS[n % 5], &to[..n % 31]));
            let octets = whole(&letter);
            assert_eq!(octets.len() as u64, letter.octets);
            assert_eq!(crc32fast::hash(&octets), letter.sum);
            let text = std::str::from_utf8(&octets).unwrap();
            assert!(text.ends_with("\r\n") && text.is_ascii());
            for line in text.split_terminator("\r\n") {
                assert!(line.len() <= 78 && !line.starts_with('.'), "{profile}: {line:?}");
                assert!(!line.contains(['\r', '\n']), "{profile}: {line:?}");
            }
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with(&format!("Message-ID: {}\r\n", letter.message_id())));
            assert!(body.lines().all(|line| line.len() <= words::COLUMNS_MAX), "{profile}");
            assert!(text.contains(&bare(letter.message_id())));
        }
    }
}

#[test]
fn sizes_follow_the_profile() {
    let letters = letters(7, "n85", PoolOptions::default());
    let mut author = letters.author(1);
    let mut counts = [0_u32; 5];
    let mut octets = 0;
    const LETTERS: u32 = 4000;
    for _ in 0..LETTERS {
        let letter = letters.letter(&mut author, &order(Kind::Memo, &[]));
        octets += letter.octets;
        let class = match letter.octets {
            0..2_000 => 0,
            2_000..20_000 => 1,
            20_000..100_000 => 2,
            700_000..900_000 => 3,
            100_000..200_000 => 4,
            other => panic!("a letter of {other} octets"),
        };
        counts[class] += 1;
    }
    for (count, class) in counts.iter().zip(&letters.profile().classes) {
        let percent = f64::from(*count) * 100.0 / f64::from(LETTERS);
        assert!((percent - class.percent).abs() < 2.5, "{percent} of {class:?}");
    }
    let mean = octets as f64 / f64::from(LETTERS);
    // 42,550 of text, and 55,125 of attachment in base64.
    assert!((108_000.0..130_000.0).contains(&mean), "{mean}");
}

#[test]
fn a_text_has_exactly_the_octets_that_were_asked_for() {
    for octets in [100, 101, 499, 500, 10_000, 50_000, 77_777] {
        let letters = letters(1, &format!("fixed:{octets}"), PoolOptions::default());
        let mut author = letters.author(1);
        for _ in 0..40 {
            let letter = whole(&letters.letter(&mut author, &order(Kind::Memo, &[])));
            let text = String::from_utf8(letter).unwrap();
            assert_eq!(text.split_once("\r\n\r\n").unwrap().1.len(), octets);
        }
    }
}

fn attachment(letter: &Letter) -> Option<Vec<u8>> {
    if letter.octets < 525_000 {
        return None;
    }
    let text = String::from_utf8(whole(letter)).unwrap();
    let encoded = text.split_once("filename=")?.1.split_once("\r\n\r\n")?.1;
    let encoded = encoded.split_once("--").unwrap().0.replace("\r\n", "");
    Some(STANDARD.decode(encoded).unwrap())
}

#[test]
fn attachments_repeat_as_told() {
    for (options, least, most) in [
        (PoolOptions { attachments: 5, repeat_share: 1.0 }, 5, 5),
        (PoolOptions { attachments: 5, repeat_share: 0.0 }, 40, 40),
        (PoolOptions { attachments: 0, repeat_share: 1.0 }, 40, 40),
        (PoolOptions { attachments: 1, repeat_share: 0.5 }, 10, 31),
    ] {
        let letters = letters(9, "n85", options);
        let mut author = letters.author(2);
        let mut seen = HashSet::new();
        let mut count = 0;
        while count < 40 {
            let letter = letters.letter(&mut author, &order(Kind::Memo, &[]));
            let Some(octets) = attachment(&letter) else { continue };
            assert_eq!(octets.len(), 525_000);
            seen.insert(crc32fast::hash(&octets));
            count += 1;
        }
        assert!((least..=most).contains(&seen.len()), "{options:?}: {}", seen.len());
    }
}

#[test]
fn letters_are_unique_and_the_same_from_the_same_seed() {
    let (one, same) =
        (letters(4, "r5", PoolOptions::default()), letters(4, "r5", PoolOptions::default()));
    let other = letters(5, "r5", PoolOptions::default());
    let mut ids = HashSet::new();
    for person in [1, 2, 9999] {
        let (mut a, mut b) = (one.author(person), same.author(person));
        let mut c = other.author(person);
        for _ in 0..100 {
            let letter = one.letter(&mut a, &order(Kind::Memo, &[]));
            assert_eq!(whole(&letter), whole(&same.letter(&mut b, &order(Kind::Memo, &[]))));
            assert_ne!(letter.sum, other.letter(&mut c, &order(Kind::Memo, &[])).sum);
            let parsed = LetterId::parse(letter.message_id()).unwrap();
            assert_eq!(parsed, ("run-1", letter.id));
            assert!(ids.insert(letter.id));
        }
        // Going on at a count gives the same letters as having written up to it.
        let mut resumed = one.author(person);
        resumed.skip_to(100);
        let next = one.letter(&mut a, &order(Kind::Memo, &[]));
        assert_eq!(next.sum, one.letter(&mut resumed, &order(Kind::Memo, &[])).sum);
    }
}

#[test]
fn bodies_are_shared() {
    let letters = letters(1, "n85", PoolOptions::default());
    let text = letters.pool.text.as_ptr_range();
    let mut author = letters.author(1);
    for _ in 0..50 {
        let letter = letters.letter(&mut author, &order(Kind::Memo, &[]));
        let own: usize = letter.pieces.iter().filter(|p| p.len() < 2000).map(Bytes::len).sum();
        assert!(own < 4000, "{own} octets of its own");
        if letter.octets > 20_000 {
            assert!(letter.pieces.iter().any(|piece| text.contains(&piece.as_ptr())));
        }
    }
}

#[test]
fn calendar_messages_say_what_they_are() {
    let letters = letters(1, "r5", PoolOptions::default());
    let to = people(2);
    let cases = [
        (KINDS[2], "method=PUBLISH", "METHOD:PUBLISH", "UID:run-1.262144@x.test"),
        (KINDS[3], "method=REQUEST", "RSVP=TRUE:mailto:u0002", "UID:run-1.262144@x.test"),
        (KINDS[4], "method=REPLY", "PARTSTAT=ACCEPTED", "UID:run-1.7@x.test"),
    ];
    for (kind, field, line, uid) in cases {
        let letter = letters.letter(&mut letters.author(1), &order(kind, &to));
        let text = String::from_utf8(whole(&letter)).unwrap().replace("\r\n ", "");
        for part in [field, line, uid, "DTSTAMP:20240229T235959Z", "END:VCALENDAR\r\n"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(text.contains("Date: Thu, 29 Feb 2024 23:59:59 +0000"));
    }
}

/// zstd, level 1: what is said of it at the top of the module.
#[test]
fn mail_compresses_as_mail_does() {
    let ratio =
        |octets: &[u8]| zstd::bulk::compress(octets, 1).unwrap().len() as f64 / octets.len() as f64;
    let letters = letters(1, "n85", PoolOptions { attachments: 0, repeat_share: 0.0 });
    let mut author = letters.author(1);
    let (mut text, mut attached) = (Vec::new(), Vec::new());
    while text.len() < 40 || attached.len() < 20 {
        let letter = letters.letter(&mut author, &order(Kind::Memo, &[]));
        match attachment(&letter) {
            Some(octets) => attached.push(ratio(&octets)),
            None if (40_000..60_000).contains(&letter.octets) => text.push(ratio(&whole(&letter))),
            None => {}
        }
    }
    let mean = |ratios: &[f64]| ratios.iter().sum::<f64>() / ratios.len() as f64;
    let (text, attached) = (mean(&text), mean(&attached));
    assert!((0.40..0.44).contains(&text), "texts: {text}");
    assert!((0.60..0.74).contains(&attached), "attachments: {attached}");
}

#[test]
fn what_cannot_be_used_is_said() {
    let profile = Profile::fixed(10).unwrap();
    let options = PoolOptions::default();
    for run in ["", "a.b", "a b", "ä", &"x".repeat(33)] {
        assert!(matches!(Letters::new(1, run, &profile, options), Err(Trouble::Run(_))), "{run}");
    }
    for repeat_share in [-0.1, 1.1, f64::NAN] {
        let options = PoolOptions { repeat_share, ..options };
        assert!(matches!(Letters::new(1, "r", &profile, options), Err(Trouble::RepeatShare(_))));
    }
    for name in ["none", "fixed:", "fixed:x", "fixed:99999999999"] {
        assert!(matches!(Profile::named(name), Err(Trouble::Profile { .. })), "{name}");
    }
    let class = Class { percent: 50.0, body_octets: 1, attachment_octets: 0 };
    for classes in [vec![], vec![class], vec![Class { percent: f64::NAN, ..class }]] {
        assert!(Profile { name: "x".into(), classes }.check().is_err());
    }
    for name in Profile::names() {
        assert!(Profile::named(&name).is_ok(), "{name}");
    }
    assert!((Profile::named("n85").unwrap().mean_octets() - 97_675.0).abs() < 1.0);
    assert!((Profile::named("help").unwrap().mean_octets() - 97_305.0).abs() < 1.0);
}

#[test]
fn dice_are_fair_and_in_bounds() {
    let mut dice = Dice::of(1, 1);
    let mut counts = [0; 6];
    for _ in 0..6000 {
        counts[dice.below(6) as usize] += 1;
        assert!((0.0..1.0).contains(&dice.share()));
        assert!((3..=5).contains(&dice.between(3, 5)));
    }
    assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    assert_eq!((dice.below(0), dice.between(7, 3), dice.chance(0.0)), (0, 7, false));
    assert!(dice.chance(1.0));
    dice.between(0, u64::MAX);
}
