//! The messages of the load: each follows from its number, so that its bytes are known afterwards.

use super::dice::Dice;

/// How a message came in; deliveries get trace headers in front, appended ones nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Smtp,
    /// By SMTP, with a subject that some people have filed by a rule.
    Filed,
    Append,
}

/// What the subject of a letter to be filed contains.
pub const FILED_SUBJECT: &str = "for the file";

impl Way {
    /// How message `number` is sent: each third is one to be filed.
    pub fn of_sent(number: u64) -> Way {
        if number.is_multiple_of(3) { Way::Filed } else { Way::Smtp }
    }

    fn letter(self) -> char {
        match self {
            Way::Smtp => 's',
            Way::Filed => 'f',
            Way::Append => 'a',
        }
    }
}

/// The Message-ID of message `number` of the run `seed`.
pub fn message_id(seed: u64, way: Way, number: u64) -> String {
    let way = way.letter();
    format!("<{way}.{number}.{seed:x}@crash.test>")
}

/// Whether a Message-ID of any run is that of a letter to be filed.
pub fn is_to_be_filed(id: &str) -> bool {
    id.starts_with("<f.")
}

/// The way and number that a Message-ID of this run stands for.
pub fn parse_message_id(seed: u64, id: &str) -> Option<(Way, u64)> {
    let inner = id.strip_prefix('<')?.strip_suffix("@crash.test>")?;
    let mut parts = inner.split('.');
    let way = match parts.next()? {
        "s" => Way::Smtp,
        "f" => Way::Filed,
        "a" => Way::Append,
        _ => return None,
    };
    let number = parts.next()?.parse().ok()?;
    (parts.next()? == format!("{seed:x}")).then_some((way, number))
}

/// The bytes of message `number` as they are handed to the server, lines ending with CRLF.
pub fn letter(seed: u64, way: Way, number: u64) -> Vec<u8> {
    let mut dice = Dice::new(seed ^ 0x1E77E6, number * 2 + u64::from(way != Way::Append));
    let id = message_id(seed, way, number);
    let end = if way == Way::Filed { format!(" {FILED_SUBJECT}") } else { String::new() };
    let mut text = format!(
        "From: Load <load@crash.test>\r\nTo: list@crash.test\r\nSubject: letter {number}{end}\r\n\
         Date: Thu, 01 Jan 2026 00:00:00 +0000\r\nMessage-ID: {id}\r\nMIME-Version: 1.0\r\n"
    );
    match dice.below(100) {
        0..60 => plain(&mut text, &mut dice, 3_000),
        60..85 => plain(&mut text, &mut dice, 50_000),
        _ => with_attachment(&mut text, &mut dice, seed),
    }
    text.into_bytes()
}

fn plain(text: &mut String, dice: &mut Dice, bytes_max: u64) {
    text.push_str("Content-Type: text/plain; charset=us-ascii\r\n\r\n");
    let bytes = bytes_max / 10 + dice.below(bytes_max);
    words(text, dice, bytes);
}

fn words(text: &mut String, dice: &mut Dice, bytes: u64) {
    const WORDS: [&str; 12] = [
        "lotus", "pond", "water", "leaf", "stem", "root", "seed", "summer", "still", "mud",
        "light", "of",
    ];
    let end = text.len() + bytes as usize;
    while text.len() < end {
        for _ in 0..8 {
            let word: &&str = dice.pick(&WORDS);
            text.push_str(word);
            text.push(' ');
        }
        text.push_str(&format!("{:x}\r\n", dice.next()));
    }
}

/// One of five attachments of a run, the same bytes each time.
fn with_attachment(text: &mut String, dice: &mut Dice, seed: u64) {
    let which = dice.below(5);
    text.push_str("Content-Type: multipart/mixed; boundary=\"=_edge\"\r\n\r\n--=_edge\r\n\r\n");
    words(text, dice, 600);
    text.push_str(&format!(
        "--=_edge\r\nContent-Type: application/octet-stream; name=\"a{which}.bin\"\r\n\
         Content-Transfer-Encoding: base64\r\n\r\n"
    ));
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut content = Dice::new(seed ^ 0xA77AC4, which);
    for _ in 0..1_500 {
        for _ in 0..76 {
            text.push(char::from(SIGNS[content.below(64) as usize]));
        }
        text.push_str("\r\n");
    }
    text.push_str("--=_edge--\r\n");
}

#[cfg(test)]
mod tests {
    use super::{FILED_SUBJECT, Way, letter, message_id, parse_message_id};

    #[test]
    fn a_letter_follows_from_its_number() {
        for number in 0..50 {
            let bytes = letter(7, Way::Smtp, number);
            assert_eq!(bytes, letter(7, Way::Smtp, number));
            assert_ne!(bytes, letter(7, Way::Append, number));
            let id = message_id(7, Way::Smtp, number);
            assert!(String::from_utf8(bytes).unwrap().contains(&id));
            assert_eq!(parse_message_id(7, &id), Some((Way::Smtp, number)));
            let filed = String::from_utf8(letter(7, Way::Filed, number)).unwrap();
            assert!(filed.contains(FILED_SUBJECT));
            let id = message_id(7, Way::Filed, number);
            assert_eq!(parse_message_id(7, &id), Some((Way::Filed, number)));
        }
        assert_eq!(parse_message_id(8, &message_id(7, Way::Append, 1)), None);
    }

    #[test]
    fn no_line_begins_with_a_dot() {
        for number in 0..50 {
            let text = String::from_utf8(letter(3, Way::Smtp, number)).unwrap();
            assert!(text.lines().all(|l| !l.starts_with('.')));
            assert!(text.ends_with("\r\n"));
        }
    }
}
