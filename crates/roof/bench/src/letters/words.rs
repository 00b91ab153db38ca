//! Running text that compresses as office mail does: words of uneven frequency in sentences and
//! paragraphs, names, numbers and dates between them.

use super::Dice;

/// Columns of a line at the most, without its end (RFC 5322 section 2.1.1 asks for 78).
pub(super) const COLUMNS_MAX: usize = 76;

/// The most frequent first: the n-th comes about 1/n as often as the first.
const WORDS: &str = "\
    the to of and a in for is on that be we with you this it as are will by our at have from or \
    not can your an if was all please has more which their would new they but about there time \
    been one after also when any next project meeting customer should report team other plan \
    need work week up may before who review only had some these no order them out so into what \
    us then could first do list two date price made over see made contract office delivery month \
    site data change final use attached copy between test each draft per budget system service \
    request detail account send well today issue offer part support group update open staff \
    point call product number already year information market design department process sales \
    result current table agreement ready line training cost schedule quarter because material \
    regarding possible best available page manager question decision research several production \
    payment during engineer require invoice standard document monday within travel morning \
    supplier reply friday equipment additional capacity approval discuss installation confirm \
    however quality forward transfer summary section storage management receive remain version \
    proposal specification annual expected personnel response station summer complete afternoon \
    warehouse different application prepare contact factory building comment progress further \
    measure laboratory thursday include maintenance previous shipment therefore conference \
    regional machine safety paper introduce inspection procedure tuesday comparison replacement \
    consider following distribution assembly committee revision instrument security president \
    operation wednesday september estimate technical component evaluation provide temperature \
    negotiation certificate arrangement performance correction attention insurance subsidiary \
    responsible interface translation appendix inventory calibration consultant requirement \
    allocation municipal reference pressure recommendation acknowledge infrastructure \
    reservation participant clarification logistics harbour turbine electrical commissioning \
    bearing hydraulic pipeline tolerance gauge alloy welding casting catalogue voucher ledger \
    audit surplus";

const NAMES: &str = "\
    Anders Berg Costa Dubois Eriksen Fischer Garcia Hansen Ito Jansen Kowalski Larsen Moreau \
    Nakamura Olsen Petrov Quinn Rossi Schmidt Tanaka Ueda Varga Weber Xu Yamada Zimmer Lindqvist \
    Marchetti Novak Okafor Pereira";

/// A text of at least `octets`: lines of at most [`COLUMNS_MAX`] columns with CRLF, none of which
/// begins with a dot or a space, as all of them begin with a word.
pub(super) fn write_text(dice: &mut Dice, octets: usize) -> Vec<u8> {
    let tongue = Tongue::new();
    let mut text = Vec::with_capacity(octets + 2 * COLUMNS_MAX);
    while text.len() < octets {
        paragraph(&tongue, dice, &mut text);
    }
    text
}

struct Tongue {
    words: Vec<&'static str>,
    names: Vec<&'static str>,
}

impl Tongue {
    fn new() -> Self {
        let split = |list: &'static str| list.split_ascii_whitespace().collect();
        Self { words: split(WORDS), names: split(NAMES) }
    }

    /// A word: the logarithm of its rank is uniform, which is Zipf's law.
    fn word(&self, dice: &mut Dice) -> &'static str {
        let rank = (self.words.len() as f64).powf(dice.share()) as usize;
        self.words[rank.min(self.words.len()) - 1]
    }

    fn token(&self, dice: &mut Dice) -> String {
        match dice.below(100) {
            0..=2 => self.names[dice.below(self.names.len() as u64) as usize].to_owned(),
            3 => dice.below(10_000).to_string(),
            4 => format!("{}.{:02}", dice.below(900), dice.below(100)),
            5 => format!("{:02}-{:02}", 1 + dice.below(12), 1 + dice.below(28)),
            6 => format!("{}{}", (b'A' + dice.below(26) as u8) as char, dice.below(100_000)),
            7 => invented(dice),
            _ => self.word(dice).to_owned(),
        }
    }
}

/// A word that is in no list: mail is full of them.
fn invented(dice: &mut Dice) -> String {
    const BEGIN: &[u8] = b"bcdfghklmnprstvw";
    const MIDDLE: &[u8] = b"aeiou";
    let mut word = String::new();
    for _ in 0..2 + dice.below(3) {
        word.push(BEGIN[dice.below(BEGIN.len() as u64) as usize] as char);
        word.push(MIDDLE[dice.below(MIDDLE.len() as u64) as usize] as char);
    }
    word
}

fn paragraph(tongue: &Tongue, dice: &mut Dice, text: &mut Vec<u8>) {
    let mut line = String::new();
    for _ in 0..1 + dice.below(6) {
        let words = 4 + dice.below(18);
        for n in 0..words {
            let mut token = tongue.token(dice);
            if n == 0 {
                token[..1].make_ascii_uppercase();
            }
            if n + 1 == words {
                token.push('.');
            } else if dice.below(12) == 0 {
                token.push(',');
            }
            append_word(&mut line, &token, text);
        }
    }
    end_line(&mut line, text);
    text.extend_from_slice(b"\r\n");
}

fn append_word(line: &mut String, word: &str, text: &mut Vec<u8>) {
    if !line.is_empty() && line.len() + 1 + word.len() > COLUMNS_MAX {
        end_line(line, text);
    }
    if !line.is_empty() {
        line.push(' ');
    }
    line.push_str(word);
}

fn end_line(line: &mut String, text: &mut Vec<u8>) {
    text.extend_from_slice(line.as_bytes());
    text.extend_from_slice(b"\r\n");
    line.clear();
}
