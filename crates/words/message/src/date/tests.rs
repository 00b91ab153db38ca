use super::*;
use crate::corpus::Dice;

#[test]
fn dates_of_every_form() {
    let cases = [
        ("Tue, 03 Mar 2026 09:15:00 +0000", 1_772_529_300),
        ("Tue, 3 Mar 2026 11:15:00 +0200 (GMT+02:00)", 1_772_529_300),
        ("Tue, 03 Mar 2026 09:15:00 UT", 1_772_529_300),
        ("3 Mar 26 09:15 GMT", 1_772_529_300),
        ("3 Mar 126 09:15 GMT", 1_772_529_300),
        ("Tue,3 MAR 2026 04:15:00 EST", 1_772_529_300),
        ("(a (nested) comment) Tue , 3\r\n Mar 2026 (b) 09:15:00 Z", 1_772_529_300),
        ("Tue Mar  3 09:15:00 2026", 1_772_529_300),
        ("Tue Mar 3 01:15:00 PST 2026", 1_772_529_300),
        ("2026-03-03T09:15:00Z", 1_772_529_300),
        ("2026-03-03T10:15:00.123+01:00", 1_772_529_300),
        ("2026-03-03 09:15:00 +0000", 1_772_529_300),
        ("03-Mar-2026 09:15:00 +0000", 1_772_529_300),
        ("Tue, 03 March 2026 09:15:00 GMT+0000", 1_772_529_300),
        ("Tue, 03 Mar 2026 09:15:00 -0000", 1_772_529_300),
        ("Tue, 03 Mar 2026 09:15:00", 1_772_529_300),
        ("Tue, 03 Mar 2026 09:15:00 XYZ", 1_772_529_300),
        ("01 Jan 70 00:00 GMT", 0),
        ("31 Dec 1969 23:59:59 +0000", -1),
        ("29 Feb 2000 12:00:00 +0000", 951_825_600),
        ("31 Dec 2016 23:59:60 +0000", 1_483_228_800),
    ];
    for (text, wanted) in cases {
        assert_eq!(parse_date(text.as_bytes()), Some(wanted), "{text}");
    }
}

#[test]
fn what_is_no_date_is_none() {
    for text in [
        "",
        "yesterday",
        "Tue, 03 Mar 2026",
        "32 Jan 2026 00:00:00 +0000",
        "29 Feb 2026 00:00 GMT",
        "1 Foo 2026 00:00:00 +0000",
        "1 Jan 2026 24:00:00 +0000",
        "1 Jan 2026 10:60:00 +0000",
        "::::",
        "1T1T1T1T:1T",
        "(",
    ] {
        assert_eq!(parse_date(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn printed_dates_are_read_again() {
    assert_eq!(print_date(0), "Thu, 01 Jan 1970 00:00:00 +0000");
    assert_eq!(print_date(1_772_529_300), "Tue, 03 Mar 2026 09:15:00 +0000");
    assert_eq!(print_date(i64::MIN), "Sat, 01 Jan 0000 00:00:00 +0000");
    assert_eq!(print_date(i64::MAX), "Fri, 31 Dec 9999 23:59:59 +0000");
    let mut dice = Dice::new(1);
    for _ in 0..2_000 {
        let seconds = dice.below(253_402_300_800) as i64;
        assert_eq!(parse_date(print_date(seconds).as_bytes()), Some(seconds), "{seconds}");
    }
}

#[test]
fn noise_is_no_panic() {
    let letters = b"0123456789 :-+(),JanFebZT.\xff";
    for seed in 1..5_000 {
        let mut dice = Dice::new(seed);
        let count = dice.below(30);
        let raw: Vec<u8> = (0..count).map(|_| letters[dice.below(letters.len())]).collect();
        if let Some(seconds) = parse_date(&raw) {
            assert!((-70_000_000_000..260_000_000_000).contains(&seconds), "seed {seed}");
        }
    }
}

#[test]
fn the_day_is_the_written_one() {
    let cases: [(&str, Option<i64>); 5] = [
        ("Sun, 25 Mar 2007 00:00:00 +0200", Some(13_597)),
        ("Sat, 24 Mar 2007 23:00:00 -1100", Some(13_596)),
        ("24 Mar 2007", Some(13_596)),
        ("31 Feb 2007 10:00:00", None),
        ("yesterday", None),
    ];
    for (raw, day) in cases {
        assert_eq!(super::parse_day(raw.as_bytes()), day, "{raw}");
    }
}
