use super::*;
use crate::{Limits, parse};

#[test]
fn printable_values_stand() {
    assert_eq!(encode_param("name", "a \"b\" c.pdf"), ("name".into(), "a \"b\" c.pdf".into()));
}

#[test]
fn other_values_are_extended_and_read_again() {
    for value in ["žluť report (final).pdf", "line\r\nbreak", "100 % 'sure' * \u{1f4ec}", "\0"] {
        let (name, told) = encode_param("filename", value);
        assert_eq!(name, "filename*");
        assert!(told.bytes().all(|b| b.is_ascii_graphic()), "{told}");
        let message = format!("Content-Disposition: attachment; {name}={told}\n\n");
        let part = &parse(message.as_bytes(), &Limits::default()).parts[0];
        assert_eq!(part.disposition.as_ref().unwrap().1, [("filename".into(), value.into())]);
    }
}
