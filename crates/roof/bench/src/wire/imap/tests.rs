mod dialogues;

use std::sync::LazyLock;

use super::scan::{Scan, expand_set, literal_size, print_set};
use super::{Change, Imap, Part, Tls, fetch, picture};
use crate::letters::{Kind, Letter, Letters, Order, PoolOptions, Profile};
use crate::wire::script::{PATIENCE, calls, play, print};

static LETTER: LazyLock<Letter> = LazyLock::new(|| {
    let profile = Profile::fixed(300).unwrap();
    let letters = Letters::new(1, "test", &profile, PoolOptions::default()).unwrap();
    letters.letter(&mut letters.author(1), &Order::new(Kind::Memo, "a@x.test", &[]))
});

fn letters(count: usize) -> Vec<Letter> {
    vec![LETTER.clone(); count]
}

async fn run(tls: Tls, dialogue: &str) {
    let size = letters(1)[0].octets;
    let more = "C# $N\n C:  {$N+}\n".repeat(31) + "C# $N";
    let dialogue = dialogue.replace("MORE", &more).replace("$N", &size.to_string());
    let played = play(&dialogue, tls).await;
    let mut imap = None;
    for (call, expected) in calls(&dialogue) {
        let words: Vec<&str> = call.split(' ').collect();
        let outcome = match (&words[..], &mut imap) {
            (["connect"], _) => match Imap::connect(&played.endpoint, PATIENCE).await {
                Ok(connected) => {
                    imap = Some(connected);
                    "()".to_owned()
                }
                Err(error) => format!("error {error}"),
            },
            (["logout"], imap) => print(imap.take().unwrap().logout().await),
            (words, Some(imap)) => call_one(imap, words).await,
            _ => panic!("{call}"),
        };
        assert!(outcome.starts_with(&expected), "{call}: {outcome}\nin\n{dialogue}");
    }
    drop(imap);
    played.finish(&dialogue).await;
}

fn numbers(words: &[&str]) -> Vec<u32> {
    words.iter().map(|word| word.parse().unwrap()).collect()
}

async fn call_one(imap: &mut Imap, words: &[&str]) -> String {
    let part = |word: &str| match word {
        "text" => Part::Text,
        "all" => Part::TextAndAttachments,
        _ => Part::Whole,
    };
    match words {
        ["login", user, password] => print(imap.login(user, password).await),
        ["has", word] => imap.has(word).to_string(),
        ["list"] => print(imap.list("*").await),
        ["create", name] => print(imap.create(name).await),
        ["select", name] => print(imap.select(name).await),
        ["status", name] => print(imap.status(name).await),
        ["noop"] => print(imap.noop().await),
        ["idle", wait_ms] => {
            print(imap.idle(std::time::Duration::from_millis(wait_ms.parse().unwrap())).await)
        }
        ["rows", first, last] => {
            print(imap.list_rows(first.parse().unwrap()..=last.parse().unwrap()).await)
        }
        ["last", count] => print(imap.rows_of_last(count.parse().unwrap()).await),
        ["read", uid, how] => print(imap.read(uid.parse().unwrap(), part(how)).await),
        ["peek", uid, how] => print(imap.peek(uid.parse().unwrap(), part(how)).await),
        ["search"] => print(imap.search_all().await),
        ["marks", first] => print(imap.marks(first.parse().unwrap()).await),
        ["flag", flag, uids @ ..] => {
            print(imap.store_flags(&numbers(uids), Change::Add, &[*flag]).await)
        }
        ["expunge", uids @ ..] => print(imap.expunge_uids(&numbers(uids)).await),
        ["move", to, uids @ ..] => print(imap.move_uids(&numbers(uids), to).await),
        ["append", folder] => print(imap.append(folder, &["\\Seen"], &letters(1)[0]).await),
        ["appends", folder, count] => {
            print(imap.append_many(folder, &[], &letters(count.parse().unwrap())).await)
        }
        ["close"] => print(imap.close().await),
        _ => panic!("{words:?}"),
    }
}

#[tokio::test]
async fn mailboxes_are_used() {
    for dialogue in dialogues::GOOD {
        run(Tls::None, dialogue).await;
    }
}

#[tokio::test]
async fn odd_servers_are_errors() {
    for (call, outcome, said) in dialogues::ODD {
        let connect = "> connect\n= ()\nS: * OK\n> select a\n= Selected { exists: 2\n\
            C: 1 SELECT \"a\"\nS: * 2 EXISTS\nS: 1 OK";
        run(Tls::None, &format!("{connect}\n> {call}\n= {outcome}\nC: 2 *\n{said}\n")).await;
    }
    for (outcome, said) in dialogues::ODD_GREETINGS {
        run(Tls::None, &format!("> connect\n= {outcome}\n{said}\n")).await;
    }
}

#[tokio::test]
async fn tls_secures_the_connection() {
    let start = "C: 1 STARTTLS\n S: 1 OK\n TLS\n > noop\n = News\n C: 2 NOOP\n S: 2 OK\n";
    run(Tls::Upgrade, &format!("> connect\n = ()\n S: * OK\n {start}")).await;
    run(Tls::Implicit, "> connect\n = ()\n TLS\n S: * OK\n").await;
    let none = "> connect\n = error refused: BAD what\n S: * OK\n C: 1 STARTTLS\n S: 1 BAD what\n";
    run(Tls::Upgrade, none).await;
}

#[test]
fn sets_are_printed_and_expanded() {
    let cases: [(&[u32], &str); 5] = [
        (&[7], "7"),
        (&[1, 2, 3], "1:3"),
        (&[1, 3, 4, 9], "1,3:4,9"),
        (&[5, 4], "5,4"),
        (&[u32::MAX - 1, u32::MAX], "4294967294:4294967295"),
    ];
    for (numbers, set) in cases {
        assert_eq!(print_set(numbers), set);
        assert_eq!(expand_set(set.as_bytes(), 10).unwrap(), numbers);
    }
    assert_eq!(expand_set(b"7:5", 3).unwrap(), [5, 6, 7]);
    for wrong in ["", "1:", "x", "1,,2", "1:4294967296", "1:5", "1:4294967295"] {
        assert!(expand_set(wrong.as_bytes(), 4).is_err(), "{wrong}");
    }
}

#[test]
fn literals_are_seen_only_where_they_are() {
    let cases: [(&str, Option<(usize, u64)>); 9] = [
        ("* 1 FETCH (BODY[] {12}\r\n", Some((19, 12))),
        ("* 1 FETCH (BODY[] {12+}\r\n", Some((19, 12))),
        ("* 1 FETCH (BINARY[] ~{12}\r\n", Some((21, 12))),
        ("* 1 FETCH (BODY[] {99999999999999999999}\r\n", Some((19, u64::MAX))),
        ("* OK [X] {12}\r\n", None),
        ("7 NO {12}\r\n", None),
        ("* LIST () \"/\" x{}\r\n", None),
        ("* LIST () \"/\" x12}\r\n", None),
        ("* 1 EXISTS\r\n", None),
    ];
    for (line, size) in cases {
        let found = literal_size(line.as_bytes());
        let size = size.map(|(_, size)| size);
        assert_eq!(found.map(|(_, size)| size), size, "{line}");
        if let Some((begin, _)) = found {
            assert!(matches!(line.as_bytes()[begin], b'{' | b'~'), "{line}");
        }
    }
}

#[test]
fn strings_in_all_forms() {
    let cases: [(&str, Option<&str>); 7] = [
        ("\"a b\" x", Some("a b")),
        ("\"a\\\"b\\\\\" x", Some("a\"b\\")),
        ("{3}\r\na)b x", Some("a)b")),
        ("~{0}\r\n x", Some("")),
        ("nil x", None),
        ("atom x", Some("atom")),
        ("\"\" x", Some("")),
    ];
    for (text, value) in cases {
        let mut scan = Scan::new(text.as_bytes());
        let found = scan.string().unwrap();
        assert_eq!(found.as_deref(), value.map(str::as_bytes), "{text}");
        assert_eq!(scan.rest(), b" x", "{text}");
    }
    for wrong in ["", ")", "\"a", "\"a\\\"", "\"a\nb\"", "{3}\r\nab", "{3} abc", "{x}\r\n"] {
        assert!(Scan::new(wrong.as_bytes()).string().is_err(), "{wrong:?}");
    }
    assert!(Scan::new("(".repeat(1000).as_bytes()).skip_value().is_err());
    assert!(Scan::new(b"(a (b").skip_value().is_err());
}

#[test]
fn dates_are_seconds() {
    let cases = [
        ("01-Jan-1970 00:00:00 +0000", Some(0)),
        ("17-Jul-1996 02:44:25 -0700", Some(837_596_665)),
        (" 1-Mar-2024 00:00:00 +0130", Some(1_709_245_800)),
        ("29-Feb-2024 23:59:59 +0000", Some(1_709_251_199)),
        ("1-Xxx-2024 00:00:00 +0000", None),
        ("1-Mar-2024 00:00 +0000", None),
        ("1-Mar-99999999999999 00:00:00 +0000", None),
        ("1-Mar-2024 00:00:00 +999999999", None),
        ("", None),
    ];
    for (text, seconds) in cases {
        assert_eq!(fetch::parse_date(text.as_bytes()), seconds, "{text}");
    }
}

#[test]
fn removals_move_the_others_up() {
    let mut picture = picture::Picture::default();
    picture.grow(5).unwrap();
    picture.know([(2, 20), (3, 30), (5, 50)].into_iter());
    for seq in [3, 1, 3] {
        picture.remove(seq).unwrap();
    }
    let gone: Vec<_> = picture.take_news().expunged.iter().map(|g| (g.seq, g.uid)).collect();
    assert_eq!(gone, [(3, Some(30)), (1, None), (3, Some(50))]);
    assert_eq!(picture.exists, 2);
    assert!(picture.remove(3).is_err() && picture.remove(0).is_err() && picture.grow(1).is_err());
}
