use super::*;

fn told(bytes: &str) -> Vec<(String, String, Range<usize>)> {
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    headers(bytes.as_bytes()).map(|(name, value, range)| (text(name), text(value), range)).collect()
}

#[test]
fn fields_with_their_ranges() {
    let header =
        "A: 1\r\nB :2\r\n folded\r\n\tmore\nno field\r\n continued\r\nC:\r\n\r\nD: body\r\n";
    let wanted = [
        ("A".into(), " 1".into(), 0..6),
        ("B".into(), "2\r\n folded\r\n\tmore".into(), 6..27),
        ("C".into(), "".into(), 49..53),
    ];
    assert_eq!(told(header), wanted);
    assert_eq!(header_bytes(header.as_bytes()), &header.as_bytes()[..55]);
}

#[test]
fn what_is_no_header_has_no_fields() {
    for text in ["", "\r\n", "\nA: b", "hello world\nA: b\n", ": x", " A: b", "A", "A B: c", "É: x"]
    {
        assert_eq!(told(text), [], "{text}");
    }
    assert_eq!(told("From a@b Tue\r\nA: b").len(), 1);
    assert_eq!(told("A: b"), [("A".into(), " b".into(), 0..4)]);
}

#[test]
fn header_sections() {
    for (text, length) in
        [("", 0), ("\r\nx", 2), ("text", 0), ("A: b", 4), ("A: b\n\nx", 6), ("A: b\r\n", 6)]
    {
        assert_eq!(header_bytes(text.as_bytes()).len(), length, "{text}");
    }
}

#[test]
fn unfolding_takes_only_line_ends() {
    assert_eq!(unfold(b" a\r\n b\n\tc \r\n").as_ref(), b"a b\tc");
    assert!(matches!(unfold(b" a "), Cow::Borrowed(b"a")));
}
