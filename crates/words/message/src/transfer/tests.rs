use super::*;
use crate::corpus::{Dice, base64_lines};

#[test]
fn base64_is_read_tolerantly() {
    let cases: [(&str, &[u8]); 9] = [
        ("aGVsbG8=", b"hello"),
        ("aGVs\r\nbG8=\r\n", b"hello"),
        ("aGVsbG8", b"hello"),
        ("aGVsbA", b"hell"),
        ("a-G_V*s bG8=", b"hello"),
        ("aGVsbG8=aGVsbG8=", b"hellohello"),
        ("aGVsbG8====", b"hello"),
        ("a", b""),
        ("", b""),
    ];
    for (text, wanted) in cases {
        assert_eq!(decode_transfer(text.as_bytes(), "BASE64").as_ref(), wanted, "{text}");
    }
    for length in 0..200 {
        let content = Dice::new(length as u64 + 1).bytes(length);
        let text = base64_lines(&content, 19, "\n");
        assert_eq!(decode_transfer(text.as_bytes(), "base64").as_ref(), content);
    }
}

#[test]
fn quoted_printable_is_read_tolerantly() {
    let cases = [
        ("a=3Db=c3=A9", "a=bé"),
        ("soft=\r\n line=  \r\nend\r\n", "soft lineend\r\n"),
        ("trailing  \t\r\nspace \n", "trailing\r\nspace\n"),
        ("broken =zz =4 =", "broken =zz =4 "),
        ("=\n", ""),
        ("x==41", "x=A"),
        ("", ""),
    ];
    for (text, wanted) in cases {
        let decoded = decode_transfer(text.as_bytes(), "Quoted-Printable");
        assert_eq!(String::from_utf8_lossy(&decoded), wanted, "{text}");
    }
}

#[test]
fn other_encodings_change_nothing() {
    for encoding in ["7BIT", "8BIT", "BINARY", "X-UNKNOWN", ""] {
        assert!(matches!(decode_transfer(b"a=3D", encoding), Cow::Borrowed(b"a=3D")));
    }
}

#[test]
fn charsets_are_decoded() {
    let cases: [(&[u8], &str, &str); 10] = [
        (b"\xc5\xbe", "utf-8", "ž"),
        (b"\xc5", "UTF8", "\u{fffd}"),
        (b"\xbe", "iso-8859-2", "ž"),
        (b"\xe9", "us-ascii", "é"),
        (b"\xc3\xa9", "us-ascii", "é"),
        (b"\xc3\xa9", "", "é"),
        (b"\xe9", "x-nobody-knows", "é"),
        (b"\xe9", " \"latin1\" ", "é"),
        (b"\x1b$BF|K\\\x1b(B", "ISO-2022-JP", "日本"),
        (b"\xc4\xe3", "gb2312", "你"),
    ];
    for (bytes, charset, wanted) in cases {
        assert_eq!(decode_charset(bytes, charset), wanted, "{charset}");
    }
}

#[test]
fn no_charset_panics_on_noise() {
    for charset in [
        "utf-7",
        "utf-16",
        "utf-16le",
        "utf-16be",
        "iso-2022-jp",
        "iso-2022-kr",
        "hz-gb-2312",
        "gbk",
        "gb18030",
        "big5",
        "euc-jp",
        "euc-kr",
        "shift_jis",
        "koi8-r",
        "windows-1258",
        "iso-8859-8-i",
        "macintosh",
        "ibm850",
        "x-user-defined",
    ] {
        for seed in 1..300 {
            let mut dice = Dice::new(seed);
            let count = dice.below(40);
            let bytes = dice.bytes(count);
            decode_charset(&bytes, charset);
            let ascii: Vec<u8> = bytes.iter().map(|b| b & 0x7f).collect();
            decode_charset(&ascii, charset);
        }
    }
    decode_charset(b"x", &"long".repeat(100));
}
