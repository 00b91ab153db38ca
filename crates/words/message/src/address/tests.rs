use super::*;
use crate::corpus::Dice;

/// Addresses in short: `name|route|mailbox|host`, `-` for none.
fn told(raw: &str) -> Vec<String> {
    let field = |value: &Option<Vec<u8>>| {
        value.as_deref().map_or("-".to_owned(), |v| String::from_utf8_lossy(v).into_owned())
    };
    let addresses = parse_addresses(raw.as_bytes());
    let fields = |a: &Address| [&a.name, &a.route, &a.mailbox, &a.host].map(field).join("|");
    addresses.iter().map(fields).collect()
}

#[test]
fn addresses_of_every_form() {
    let cases: [(&str, &[&str]); 35] = [
        ("", &[]),
        (" \r\n ", &[]),
        (" , ,, ", &[]),
        ("a@b.c", &["-|-|a|b.c"]),
        ("<a@b.c>", &["-|-|a|b.c"]),
        ("a@b.c, d@e.f", &["-|-|a|b.c", "-|-|d|e.f"]),
        ("Ada Lovelace <ada@b.c>", &["Ada Lovelace|-|ada|b.c"]),
        ("Ada\r\n  Lovelace\r\n <ada@b.c>", &["Ada Lovelace|-|ada|b.c"]),
        ("\"Lovelace, Ada\" <ada@b.c>", &["Lovelace, Ada|-|ada|b.c"]),
        (r#""a \"b\" \\ c" <ada@b.c>"#, &[r#"a "b" \ c|-|ada|b.c"#]),
        ("Dr. A. Lovelace <ada@b.c>", &["Dr. A. Lovelace|-|ada|b.c"]),
        ("ada@b.c (Ada Lovelace)", &["Ada Lovelace|-|ada|b.c"]),
        ("<ada@b.c> (Ada (the) Lovelace)", &["Ada (the) Lovelace|-|ada|b.c"]),
        ("Ada (comment) Lovelace <ada@b.c>", &["Ada Lovelace|-|ada|b.c"]),
        ("ada(x)@(y)b.c", &["y|-|ada|b.c"]),
        ("ada @ b . c", &["-|-|ada|b.c"]),
        ("\"night clerk\"@b.c", &["-|-|night clerk|b.c"]),
        ("\"a@b\"@c.d", &["-|-|a@b|c.d"]),
        ("<\"a>b\"@c.d>", &["-|-|a>b|c.d"]),
        ("<@x.y,@z:a@b.c>", &["-|@x.y,@z|a|b.c"]),
        ("a@[192.0.2.1]", &["-|-|a|[192.0.2.1]"]),
        ("a@[IPv6:2001:db8::1], b@c", &["-|-|a|[IPv6:2001:db8::1]", "-|-|b|c"]),
        ("undisclosed-recipients:;", &["-|-|undisclosed-recipients|-", "-|-|-|-"]),
        ("undisclosed-recipients: ;", &["-|-|undisclosed-recipients|-", "-|-|-|-"]),
        (
            "A Group: a@b, B <c@d>; e@f",
            &["-|-|A Group|-", "-|-|a|b", "B|-|c|d", "-|-|-|-", "-|-|e|f"],
        ),
        ("G: a@b", &["-|-|G|-", "-|-|a|b", "-|-|-|-"]),
        ("postmaster", &["-|-|postmaster|"]),
        ("<>", &["-|-||"]),
        ("a@b; c@d", &["-|-|a|b", "-|-|c|d"]),
        ("Foo <a@b, Bar <c@d>", &["Foo|-|a|b", "Bar|-|c|d"]),
        ("\"Foo <a@b>, c@d", &["\"Foo|-|a|b", "-|-|c|d"]),
        ("<<a@b>>", &["-|-|a|b"]),
        ("=?utf-8?q?J=C3=B6rg?= <j@b.c>", &["=?utf-8?q?J=C3=B6rg?=|-|j|b.c"]),
        ("Zoë <zoë@bücher.example>", &["Zoë|-|zoë|bücher.example"]),
        ("(only a comment)", &[]),
    ];
    for (raw, wanted) in cases {
        assert_eq!(told(raw), wanted, "{raw}");
    }
}

#[test]
fn noise_ends_and_keeps_the_rule_of_markers() {
    let letters = b"ab@.,;:<>()\"\\[] \r\n\xc3";
    for seed in 1..5_000 {
        let mut dice = Dice::new(seed);
        let count = dice.below(40);
        let raw: Vec<u8> = (0..count).map(|_| letters[dice.below(letters.len())]).collect();
        for address in parse_addresses(&raw) {
            let marker = address.host.is_none();
            assert!(!marker || address.name.is_none(), "seed {seed}: {raw:?}");
            assert!(marker || address.mailbox.is_some(), "seed {seed}: {raw:?}");
        }
    }
}

#[test]
fn budget_is_kept() {
    let mut left = 3;
    assert_eq!(read_addresses(b"a, b, c, d", &mut left).len(), 3);
    assert_eq!(left, 0);
    assert!(read_addresses(b"a, b", &mut left).is_empty());
}
