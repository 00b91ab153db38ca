//! Messages for tests: the cases in `testdata/`, and generated ones of every kind.

use std::path::PathBuf;

/// A small generator of pseudo-random numbers (xorshift), so that a failure can be repeated.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| (self.next() >> 32) as u8).collect()
    }
}

/// A message with a name to tell in a failure.
pub(crate) type Sample = (String, Vec<u8>);

/// A case of `testdata/`.
pub(crate) fn case(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Base64 in lines.
pub(crate) fn base64_lines(content: &[u8], width: usize, eol: &str) -> String {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(content);
    let lines: Vec<&str> =
        text.as_bytes().chunks(width.max(1)).map(|l| std::str::from_utf8(l).unwrap()).collect();
    lines.join(eol)
}

const HEAD: &str = "From: Ada <ada@example.test>\r\nTo: ben@example.test\r\nSubject: sample\r\n\
    Date: Tue, 03 Mar 2026 09:15:00 +0000\r\nMessage-ID: <sample@example.test>\r\n\
    MIME-Version: 1.0\r\n";

/// Messages that follow the standards.
pub(crate) fn well_formed() -> Vec<Sample> {
    let mut out = vec![
        sample("plain", format!("{HEAD}\r\nHello,\r\nworld.\r\n")),
        sample(
            "html",
            format!("{HEAD}Content-Type: text/html; charset=utf-8\r\n\r\n<p>Hi</p>\r\n"),
        ),
        sample("alternative", alternative("a1")),
        sample("mixed in mixed", nested_mixed(3, "\r\n")),
        sample("nested 30", nested_mixed(30, "\r\n")),
        sample("enclosed", enclosed(1)),
        sample("enclosed 10", enclosed(10)),
        sample("digest", digest()),
    ];
    for width in [4, 60, 72, 76, 75, 1000] {
        for length in [1, 2, 3, 57, 4096, 100_000] {
            let content = Dice::new(length as u64).bytes(length);
            let body = base64_lines(&content, width, "\r\n");
            out.push(sample(&format!("base64 {width} {length}"), with_attachment(&body)));
        }
    }
    out
}

/// Messages that break rules, or stretch them.
pub(crate) fn broken() -> Vec<Sample> {
    let mut out = vec![
        sample("empty", ""),
        sample("one byte", "x"),
        sample("colon", ":"),
        sample("line end", "\r\n"),
        sample("two line ends", "\n\n"),
        sample("only headers", HEAD),
        sample("only half a header", "Subject"),
        sample("headers without last line end", "Subject: x"),
        sample("no headers", "just a text\r\nof two lines\r\n"),
        sample("blank first line", "\r\nSubject: in the body\r\n"),
        sample("only LF", HEAD.replace("\r\n", "\n") + "\nbody\n"),
        sample("only CR", HEAD.replace("\r\n", "\r") + "\rbody\r"),
        sample("mixed line ends", format!("{HEAD}X: a\nY: b\r\r\nZ: c\r\n\nbody\rmore\n")),
        sample("NUL", format!("{HEAD}X\0Y: \0\r\n\r\nbody \0\0 more\r\n\0")),
        sample("folded blank", "Subject: a\r\n \r\n\t\r\n b\r\n\r\ntext"),
        sample("delimiter at once", multi("b", "--b\r\n--b\r\n--b--\r\n")),
        sample("closed at once", multi("b", "--b--\r\n")),
        sample("closed twice", multi("b", "--b\r\n\r\nx\r\n--b--\r\n--b\r\n\r\ny\r\n--b--\r\n")),
        sample("never closed", multi("b", "--b\r\n\r\none\r\n--b\r\n\r\ntwo")),
        sample("never opened", multi("b", "no delimiter at all\r\n")),
        sample("no boundary", format!("{HEAD}Content-Type: multipart/mixed\r\n\r\n--\r\n----\r\n")),
        sample("empty boundary", multi("", "--\r\n\r\nx\r\n----\r\n")),
        sample("boundary of hyphens", multi("--", "----\r\n\r\nx\r\n------\r\n")),
        sample("header cut by delimiter", multi("b", "--b\r\nContent-Type: text/html\r\n--b--")),
        sample(
            "message cut by delimiter",
            multi("b", "--b\r\nContent-Type: message/rfc822\r\n--b--"),
        ),
        sample("message empty", multi("b", "--b\r\nContent-Type: message/rfc822\r\n\r\n--b--")),
        sample("nested 100", nested_mixed(100, "\n")),
        sample("nested 150", nested_mixed(150, "\r\n")),
        sample("enclosed 150", enclosed(150)),
        sample("same boundary everywhere", same_boundary(50)),
        sample("huge line", format!("{HEAD}\r\n{}", "x".repeat(300_000))),
        sample("huge header", format!("{HEAD}X: {}\r\n\r\nbody", "y ".repeat(200_000))),
        sample("huge text", format!("{HEAD}\r\n{}", "all work and no play\r\n".repeat(20_000))),
        sample("many hyphens", multi("b", &"--\r\n".repeat(20_000))),
    ];
    let mut eight_bit = HEAD.as_bytes().to_vec();
    eight_bit.extend_from_slice(b"Subject: caf\xe9 \xc3\xa9\r\n\r\n\xff\xfe\x80 body");
    out.push(("8-bit".into(), eight_bit));
    out.push(("noise".into(), Dice::new(7).bytes(20_000)));
    out.extend(odd_base64());
    out
}

/// Everything there is, the cases too.
pub(crate) fn all() -> Vec<Sample> {
    let mut out = well_formed();
    out.extend(broken());
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    names.sort();
    out.extend(names.iter().map(|path| (path.display().to_string(), std::fs::read(path).unwrap())));
    out
}

/// What is put into messages to break them.
const SPLICES: [&[u8]; 15] = [
    b"--b",
    b"--",
    b"\r\n",
    b"\n\n",
    b"\0",
    b"\"",
    b"(",
    b"<",
    b"=?utf-8?q?",
    b"?=",
    b";",
    b"boundary=b",
    b"Content-Transfer-Encoding: base64\r\n",
    b"Content-Type: multipart/mixed; boundary=b\n\n--b\n",
    b"Content-Type: message/rfc822\n\n",
];

/// Visits damaged variants of the smaller samples, with a name that tells how to repeat one.
pub(crate) fn each_mutation(rounds: u64, visit: impl Fn(&str, &[u8])) {
    let samples: Vec<Sample> = all().into_iter().filter(|sample| sample.1.len() < 20_000).collect();
    let seed = std::env::var("NELUMBO_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    for round in seed..seed + rounds {
        let mut dice = Dice::new(round);
        let (name, message) = &samples[dice.below(samples.len())];
        let mut message = message.clone();
        for _ in 0..=dice.below(6) {
            mutate(&mut message, &mut dice);
        }
        visit(&format!("NELUMBO_SEED={round} ({name})"), &message);
    }
}

fn mutate(message: &mut Vec<u8>, dice: &mut Dice) {
    let at = dice.below(message.len() + 1);
    match dice.below(4) {
        0 if at < message.len() => message[at] = dice.next() as u8,
        1 => message.truncate(at),
        2 => drop(message.drain(at..(at + dice.below(40)).min(message.len()))),
        _ => {
            let splice = SPLICES[dice.below(SPLICES.len())];
            drop(message.splice(at..at, splice.iter().copied()));
        }
    }
}

/// A collection of messages from the field, when this machine has it: `NELUMBO_SHARED`, or the
/// folder `shared` beside the workspace.
pub(crate) fn from_the_field() -> Vec<Sample> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../../shared");
    let shared = std::env::var_os("NELUMBO_SHARED").map_or(beside, PathBuf::from);
    let mut folders = vec![shared.join("corpora/mime")];
    let mut out = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(bytes) = std::fs::read(&path) {
                out.push((path.display().to_string(), bytes));
            }
        }
    }
    out
}

fn sample(name: &str, text: impl Into<String>) -> Sample {
    (name.to_owned(), text.into().into_bytes())
}

/// A `multipart/mixed` with this body.
pub(crate) fn multi(boundary: &str, body: &str) -> String {
    format!("{HEAD}Content-Type: multipart/mixed; boundary=\"{boundary}\"\r\n\r\n{body}")
}

fn with_attachment(body: &str) -> String {
    multi(
        "att",
        &format!(
            "--att\r\nContent-Type: text/plain\r\n\r\nsee below\r\n\
             --att\r\nContent-Type: application/octet-stream; name=\"a.bin\"\r\n\
             Content-Transfer-Encoding: base64\r\n\
             Content-Disposition: attachment; filename=\"a.bin\"\r\n\r\n{body}\r\n--att--\r\n"
        ),
    )
}

fn alternative(boundary: &str) -> String {
    format!(
        "{HEAD}Content-Type: multipart/alternative; boundary={boundary}\r\n\r\npreamble\r\n\
         --{boundary}\r\nContent-Type: text/plain\r\n\r\nplain\r\n\
         --{boundary}\r\nContent-Type: text/html\r\n\r\n<b>html</b>\r\n\
         --{boundary}--\r\nepilogue\r\n"
    )
}

/// Multiparts in multiparts, `levels` of them, with a text in the innermost.
pub(crate) fn nested_mixed(levels: usize, eol: &str) -> String {
    let mut out = HEAD.to_owned();
    for level in 0..levels {
        out +=
            &format!("Content-Type: multipart/mixed; boundary=\"n{level}\"\r\n\r\n--n{level}\r\n");
    }
    out += "Content-Type: text/plain\r\n\r\ndeep\r\n";
    for level in (0..levels).rev() {
        out += &format!("--n{level}--\r\n");
    }
    out.replace("\r\n", eol)
}

/// Messages in messages.
pub(crate) fn enclosed(levels: usize) -> String {
    let mut out = String::new();
    for level in 0..levels {
        out += &format!("Subject: level {level}\r\nContent-Type: message/rfc822\r\n\r\n");
    }
    out + "Subject: innermost\r\n\r\ndeep\r\n"
}

fn digest() -> String {
    format!(
        "{HEAD}Content-Type: multipart/digest; boundary=d\r\n\r\n\
         --d\r\n\r\nSubject: one\r\n\r\n1\r\n\
         --d\r\n\r\nSubject: two\r\n\r\n2\r\n--d--\r\n"
    )
}

fn same_boundary(levels: usize) -> String {
    let level = "Content-Type: multipart/mixed; boundary=same\r\n\r\n--same\r\n";
    HEAD.to_owned() + &level.repeat(levels) + "\r\nx\r\n" + &"--same--\r\n".repeat(levels)
}

/// Attachments whose base64 no recipe can write, or only a rare one.
fn odd_base64() -> Vec<Sample> {
    let content = Dice::new(3).bytes(9_000);
    let lines = |width, eol: &str| base64_lines(&content, width, eol);
    let good = lines(76, "\r\n");
    let bodies = [
        ("width 77", lines(77, "\r\n")),
        ("width 1", lines(1, "\r\n")),
        ("one line", lines(20_000, "\r\n")),
        ("LF", lines(76, "\n")),
        ("CR", lines(76, "\r")),
        ("one line longer", good.replacen("\r\n", "A\r\n", 1)),
        ("mixed ends", good.replacen("\r\n", "\n", 3)),
        ("trailing garbage", format!("{good}\r\n-- \r\nlist footer\r\n")),
        ("trailing blank lines", format!("{good}\r\n\r\n\r\n")),
        ("leading blank lines", format!("\r\n \r\n{good}")),
        ("blank line inside", good.replacen("\r\n", "\r\n\r\n", 1)),
        ("trailing spaces", good.replace("\r\n", " \r\n")),
        ("missing padding", base64_lines(&content[..8_999], 76, "\r\n").replace('=', "")),
        ("too much padding", format!("{good}====")),
        ("padding inside", good.replacen("\r\n", "==\r\n", 1)),
        ("loose last bits", base64_lines(&content[..8_998], 76, "\r\n").replace("==", "/=")),
        ("foreign characters", good.replacen('A', "-", 5)),
        ("final line end", format!("{good}\r\n")),
        ("nothing", String::new()),
        ("only line ends", "\r\n\r\n\r\n".repeat(2_000)),
    ];
    bodies
        .iter()
        .map(|(name, body)| sample(&format!("odd {name}"), with_attachment(body)))
        .collect()
}
