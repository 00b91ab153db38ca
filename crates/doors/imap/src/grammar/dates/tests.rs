use super::*;

#[test]
fn dates_with_time_go_both_ways() {
    let cases = [
        ("\" 1-Jan-1970 00:00:00 +0000\"", 0),
        ("\"29-Feb-2024 23:59:59 +0000\"", 1_709_251_199),
        ("\"03-Mar-2026 10:15:00 +0100\"", 1_772_529_300),
        ("\" 3-Mar-2026 00:15:00 -0900\"", 1_772_529_300),
        ("\"31-Dec-1969 23:59:59 +0000\"", -1),
        ("\" 1-Mar-1900 00:00:00 +0000\"", -2_203_891_200),
    ];
    for (text, seconds) in cases {
        let parsed = parse_date_time(&mut Cursor::new(text.as_bytes()));
        assert_eq!(parsed, Ok(seconds * 1_000_000), "{text}");
        let mut printed = Vec::new();
        print_date_time(seconds * 1_000_000, &mut printed);
        let again = parse_date_time(&mut Cursor::new(&printed));
        assert_eq!(again, Ok(seconds * 1_000_000), "{}", String::from_utf8_lossy(&printed));
        assert_eq!(printed.len(), 28);
    }
    let mut printed = Vec::new();
    print_date_time(1_772_529_309_999_999, &mut printed);
    print_date_time(i64::MAX, &mut printed);
    assert_eq!(printed, b"\" 3-Mar-2026 09:15:09 +0000\"\"10-Jan-9999 04:00:54 +0000\"");
}

#[test]
fn wrong_dates_are_refused() {
    for text in [
        "\"30-Feb-2026 00:00:00 +0000\"",
        "\" 1-Foo-2026 00:00:00 +0000\"",
        "\" 1-Jan-2026 24:00:00 +0000\"",
        "\" 1-Jan-2026 00:00:00 +000\"",
        "\" 1-Jan-2026 00:00:00\"",
        "\" 1-Jan-2026 00:00:00 +0000",
        "1-Jan-2026",
        "\"0-Jan-2026 00:00:00 +0000\"",
    ] {
        assert!(parse_date_time(&mut Cursor::new(text.as_bytes())).is_err(), "{text}");
    }
}

#[test]
fn days_with_and_without_quotes() {
    for text in ["1-Feb-2026", "\"1-Feb-2026\"", "01-FEB-2026"] {
        assert_eq!(Day::parse(&mut Cursor::new(text.as_bytes())), Ok(Day(20_485)), "{text}");
    }
    for text in ["29-Feb-2026", "1-Feb-0", "1-Feb", "-Feb-2026", "\"1-Feb-2026"] {
        assert!(Day::parse(&mut Cursor::new(text.as_bytes())).is_err(), "{text}");
    }
}

#[test]
fn every_day_of_three_centuries_goes_both_ways() {
    for day in -40_000..70_000 {
        let (year, month, date) = date_of(day);
        assert_eq!(days_of(year, month, date), day);
    }
}
