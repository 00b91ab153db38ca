//! Numbers come back, hostile bytes are refused.

use super::*;

#[test]
fn numbers_come_back() {
    for number in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX] {
        let mut out = Vec::new();
        put_varint(&mut out, number);
        let mut cursor = Cursor::new(&out);
        assert_eq!(cursor.varint(), Ok(number));
        assert!(cursor.is_empty());
    }
    for number in [0, -1, 1, -64, 64, i64::MIN, i64::MAX] {
        let mut out = Vec::new();
        put_signed(&mut out, number);
        assert_eq!(Cursor::new(&out).signed(), Ok(number));
        assert_eq!(out.len() == 1, (-64..64).contains(&number));
    }
}

#[test]
fn strings_come_back() {
    let mut out = Vec::new();
    put_bytes(&mut out, "lotus".as_bytes());
    put_bytes(&mut out, b"");
    out.push(1);
    let mut cursor = Cursor::new(&out);
    assert_eq!(cursor.text(), Ok("lotus"));
    assert_eq!(cursor.bytes(), Ok(&[][..]));
    assert_eq!((cursor.rest(), cursor.flag()), (&[1][..], Ok(true)));
    assert_eq!(cursor.byte(), Err(BytesError::Short));
}

#[test]
fn bytes_that_lie_are_refused() {
    let past = [&[0xFF; 9][..], &[2]].concat();
    for bytes in [&[0xFF; 11][..], &past] {
        assert_eq!(Cursor::new(bytes).varint(), Err(BytesError::Range("number")));
    }
    for bytes in [&[][..], &[0x80], &[0x80, 0x80]] {
        assert_eq!(Cursor::new(bytes).varint(), Err(BytesError::Short));
    }
    assert_eq!(Cursor::new(&[3, b'a', b'b']).bytes(), Err(BytesError::Short));
    assert_eq!(Cursor::new(&[2, 0xC3, 0x28]).text(), Err(BytesError::Text));
    assert_eq!(Cursor::new(&[2]).flag(), Err(BytesError::Range("flag")));
    assert_eq!(Cursor::new(&[3, 0, 0, 0, 0, 0]).count(2), Err(BytesError::Short));
    assert_eq!(Cursor::new(&[2, 0, 0, 0, 0]).count(2), Ok(2));
    assert_eq!(Cursor::new(&[0x80, 0x02]).small::<u8>("age"), Err(BytesError::Range("age")));
}
