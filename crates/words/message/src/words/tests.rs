use super::*;
use crate::corpus::Dice;

#[test]
fn words_of_every_form() {
    let cases = [
        ("plain", "plain"),
        ("=?utf-8?Q?caf=C3=A9?=", "café"),
        ("=?UTF-8?b?Y2Fmw6k=?=", "café"),
        ("=?iso-8859-1?q?caf=E9_au_lait?=", "café au lait"),
        ("=?utf-8*en?q?a?=", "a"),
        ("a =?utf-8?q?b?= c", "a b c"),
        ("=?utf-8?q?a?= =?utf-8?q?b?=", "ab"),
        ("=?utf-8?q?a?=\r\n =?iso-8859-1?q?=E9?= x", "aé x"),
        ("=?utf-8?q?=C5?= =?UTF-8?q?=BE?=", "ž"),
        ("=?utf-8?b?xQ==?= =?utf-8?b?vg==?=", "ž"),
        ("=?utf-8?q?=C5?= x =?utf-8?q?=BE?=", "\u{fffd} x \u{fffd}"),
        ("x=?utf-8?q?a?=y", "xay"),
        ("=?utf-8?q?a b?=", "a b"),
        ("=?utf-8?q?what??=", "what?"),
        ("=?utf-8?q??=", ""),
        ("=?utf-8?x?a?=", "=?utf-8?x?a?="),
        ("=??q?a?=", "=??q?a?="),
        ("=?utf-8?q?never closed", "=?utf-8?q?never closed"),
        ("=? ?= =?utf-8?q?a?=", "=? ?= a"),
        ("=?unknown?q?=E9?=", "é"),
        ("=?utf-8?q?a=0D=0ABcc:_x?=", "a  Bcc: x"),
        ("raw žluť", "raw žluť"),
        ("", ""),
    ];
    for (raw, wanted) in cases {
        assert_eq!(decode_words(raw.as_bytes()), wanted, "{raw}");
    }
    assert_eq!(decode_words(b"caf\xe9"), "café");
}

#[test]
fn written_words_are_short_ascii_and_read_again() {
    assert!(matches!(encode_words(b"plain"), Cow::Borrowed(b"plain")));
    assert_eq!(encode_words(b"a\tb\0c").as_ref(), b"a b c");
    for text in ["é", "žluťoučký kůň", "日本語の件名テスト", "mixed \u{1f4ec} and ascii"]
    {
        let text = text.repeat(7);
        let told = encode_words(text.as_bytes());
        assert!(told.split(|&b| b == b' ').all(|word| word.len() <= 75));
        assert!(told.iter().all(|b| (b' '..=b'~').contains(b)));
        assert_eq!(decode_words(&told), text);
    }
    assert_eq!(decode_words(&encode_words(b"caf\xe9 =?utf-8?q?=C5=BE?=")), "café ž");
}

#[test]
fn noise_is_no_panic() {
    let letters = b"=?utf-8?q?b== \r\n_ABz9+/\xc3\xa9\0";
    for seed in 1..5_000 {
        let mut dice = Dice::new(seed);
        let count = dice.below(60);
        let raw: Vec<u8> = (0..count).map(|_| letters[dice.below(letters.len())]).collect();
        assert!(!decode_words(&raw).contains(char::is_control), "seed {seed}");
        assert!(encode_words(&raw).is_ascii(), "seed {seed}");
    }
}
