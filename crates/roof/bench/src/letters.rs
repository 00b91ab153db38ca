//! The messages that the load sends: sizes, attachments, and the mark by which each is known again.
//!
//! A letter is a short head of its own and slices of bytes that all letters share, so thousands of
//! them cost next to nothing. Its first field is its Message-ID: whatever a server puts in front,
//! the letter can be told from it again. Texts and most attachments differ from letter to letter in
//! their first line only; a store that compares parts of messages with each other finds more in
//! common than in real mail, one that compares whole ones does not. How well a letter
//! compresses is pinned by a test: texts to 0.42 of their size, attachments (taken out of
//! base64) to 0.67 in the mean, as half of them are dense as pictures are (zstd, level 1).

mod calendar;
mod dice;
mod pool;
mod profile;
#[cfg(test)]
mod tests;
mod words;

use std::fmt::Write as _;
use std::time::SystemTime;

use bytes::Bytes;

pub use dice::Dice;
use pool::{Attachment, LINE_OCTETS, Pool, Stuff};
pub use profile::{ATTACHMENT_OCTETS_MAX, BODY_OCTETS_MAX, CLASSES_MAX, Class, Profile};

/// Characters of a run's name at the most.
pub const RUN_NAME_MAX: usize = 32;
/// Letters of one person in one run at the most.
pub const SERIAL_MAX: u32 = (1 << SERIAL_BITS) - 1;

const SERIAL_BITS: u32 = 18;
const BOUNDARY: &str = "=_part_0b5e_";
/// Octets of the text of a calendar message.
const NOTE_OCTETS: usize = 600;

/// Why letters could not be made ready.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Trouble {
    /// The profile cannot be used.
    #[error("message profile {name:?}: {why}")]
    Profile {
        /// The name that was asked for.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// The run's name cannot be part of a Message-ID.
    #[error("run name {0:?}: 1 to 32 letters, digits and hyphens are needed")]
    Run(String),
    /// The share of repeated attachments is no share.
    #[error("repeat share {0}: a number from 0 to 1 is needed")]
    RepeatShare(String),
}

/// How attachments repeat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PoolOptions {
    /// Attachments that are sent again and again, of each size.
    pub attachments: u32,
    /// The share of all attachments that are one of those (0 to 1); the others are new.
    pub repeat_share: f64,
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self { attachments: 200, repeat_share: 0.3 }
    }
}

/// What a letter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind<'a> {
    /// Mail of its own.
    Memo,
    /// An answer to the letter of this Message-ID.
    Reply {
        /// The Message-ID, brackets included.
        message_id: &'a str,
    },
    /// An entry of one's own calendar (METHOD:PUBLISH).
    Appointment,
    /// A meeting (METHOD:REQUEST).
    Invitation,
    /// An answer to the invitation of this Message-ID (METHOD:REPLY).
    Rsvp {
        /// The Message-ID, brackets included.
        message_id: &'a str,
    },
}

/// A letter to be written.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// What it is.
    pub kind: Kind<'a>,
    /// The sender's address.
    pub from: &'a str,
    /// The addresses of `To:`.
    pub to: &'a [String],
    /// Its `Date:`.
    pub date: SystemTime,
}

impl<'a> Order<'a> {
    /// A letter of today.
    #[must_use]
    pub fn new(kind: Kind<'a>, from: &'a str, to: &'a [String]) -> Self {
        Self { kind, from, to, date: SystemTime::now() }
    }
}

/// The number of a letter, its own in a run: the person in the upper bits, the count of this
/// person's letters in the lower 18.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LetterId(pub u64);

impl LetterId {
    /// The run and the number in a Message-ID that the driver made.
    #[must_use]
    pub fn parse(message_id: &str) -> Option<(&str, Self)> {
        let id = message_id.trim().strip_prefix('<')?.strip_suffix('>')?;
        let (local, _) = id.split_once('@')?;
        let (run, number) = local.rsplit_once('.')?;
        Some((run, Self(number.parse().ok()?)))
    }
}

/// A message.
#[derive(Debug, Clone)]
pub struct Letter {
    /// Its number.
    pub id: LetterId,
    /// All its octets.
    pub octets: u64,
    /// crc32 over them.
    pub sum: u32,
    id_octets: usize,
    pieces: Vec<Bytes>,
}

const ID_FIELD: &str = "Message-ID: ";

impl Letter {
    fn new(id: LetterId, id_octets: usize, pieces: Vec<Bytes>) -> Self {
        let mut sum = crc32fast::Hasher::new();
        pieces.iter().for_each(|piece| sum.update(piece));
        let octets = pieces.iter().map(|piece| piece.len() as u64).sum();
        Self { id, octets, sum: sum.finalize(), id_octets, pieces }
    }

    /// Its Message-ID, brackets included.
    #[must_use]
    pub fn message_id(&self) -> &str {
        let end = ID_FIELD.len() + self.id_octets;
        let id = self.pieces.first().and_then(|head| head.get(ID_FIELD.len()..end));
        id.and_then(|id| std::str::from_utf8(id).ok()).unwrap_or_default()
    }

    /// Its octets in order: lines end with CRLF and none begins with a dot.
    pub fn pieces(&self) -> impl Iterator<Item = &Bytes> {
        self.pieces.iter()
    }
}

/// One person who writes letters.
#[derive(Debug, Clone)]
pub struct Author {
    person: u32,
    serial: u32,
    dice: Dice,
}

impl Author {
    /// Goes on at the letter of this count, whatever was written before.
    pub fn skip_to(&mut self, serial: u32) {
        self.serial = serial;
    }

    /// Letters written, or where it was told to go on.
    #[must_use]
    pub fn serial(&self) -> u32 {
        self.serial
    }
}

/// Where letters come from. One for all people.
#[derive(Debug)]
pub struct Letters {
    seed: u64,
    run: String,
    profile: Profile,
    pool: Pool,
}

impl Letters {
    /// Letters of this profile for the run `run`, which makes their Message-IDs its own.
    ///
    /// # Errors
    ///
    /// [`Trouble`] when the profile, the name or the share cannot be used.
    pub fn new(
        seed: u64,
        run: &str,
        profile: &Profile,
        pool: PoolOptions,
    ) -> Result<Self, Trouble> {
        profile.check()?;
        let named = run.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if run.is_empty() || run.len() > RUN_NAME_MAX || !named {
            return Err(Trouble::Run(run.to_owned()));
        }
        if !(0.0..=1.0).contains(&pool.repeat_share) {
            return Err(Trouble::RepeatShare(pool.repeat_share.to_string()));
        }
        let (run, profile) = (run.to_owned(), profile.clone());
        Ok(Self { seed, run, pool: Pool::new(seed, &profile, pool), profile })
    }

    /// The profile.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The run's name.
    #[must_use]
    pub fn run(&self) -> &str {
        &self.run
    }

    /// The person of this number as a writer. Everybody needs a number of their own.
    #[must_use]
    pub fn author(&self, person: u32) -> Author {
        Author { person, serial: 0, dice: Dice::of(self.seed, person) }
    }

    /// The next letter of this author: the n-th is always the same but for what `order` says.
    pub fn letter(&self, author: &mut Author, order: &Order<'_>) -> Letter {
        let number =
            u64::from(author.person) << SERIAL_BITS | u64::from(author.serial & SERIAL_MAX);
        author.serial = author.serial.wrapping_add(1);
        let mut dice = author.dice.clone();
        let mut dice = Dice::of(dice.word() ^ number, author.person);
        let domain = order.from.rsplit('@').next().unwrap_or("localhost");
        let id = format!("<{}.{number}@{}>", self.run, clean(domain));
        let mut draft = Draft::new(order, &id, &mut dice);
        let pieces = match calendar::method(&order.kind) {
            Some(method) => self.write_event(&mut draft, method, &mut dice),
            None => self.write_mail(&mut draft, number, &mut dice),
        };
        Letter::new(LetterId(number), id.len(), pieces)
    }

    fn write_mail(&self, draft: &mut Draft<'_>, number: u64, dice: &mut Dice) -> Vec<Bytes> {
        let class = self.profile.draw(dice);
        let (body, attached) =
            class.map_or((0, 0), |class| (class.body_octets, class.attachment_octets));
        if attached == 0 {
            draft.field("Content-Type", "text/plain; charset=us-ascii");
            draft.field("Content-Transfer-Encoding", "7bit");
            return self.write_text(draft, body as usize, dice);
        }
        draft.begin_parts("mixed");
        draft.begin_part("text/plain; charset=us-ascii", "7bit");
        let mut pieces = self.write_text(draft, body as usize, dice);
        let attachment = self.pool.draw(dice, number);
        pieces.push(attachment_head(&attachment, attached, &self.run).into());
        self.pool.cut_attachment(&attachment, attached, &mut pieces);
        pieces.push(closing());
        pieces
    }

    fn write_event(&self, draft: &mut Draft<'_>, method: &str, dice: &mut Dice) -> Vec<Bytes> {
        let event = calendar::event(draft.order, &bare(draft.id), &draft.subject, dice);
        draft.begin_parts("alternative");
        draft.begin_part("text/plain; charset=us-ascii", "7bit");
        let mut pieces = self.write_text(draft, NOTE_OCTETS, dice);
        let kind = format!("text/calendar; charset=utf-8; method={method}");
        pieces.push(format!("{}{event}", part_head(&kind, "7bit")).into());
        pieces.push(closing());
        pieces
    }

    /// Ends the head with the first line of the text, which is this letter's own, and adds slices
    /// of the shared text up to `octets` of text (at least that one line).
    fn write_text(&self, draft: &mut Draft<'_>, octets: usize, dice: &mut Dice) -> Vec<Bytes> {
        let mut first = format!("Letter {} of the run.", bare(draft.id));
        first.truncate(words::COLUMNS_MAX);
        let rest = octets.saturating_sub(first.len() + 2);
        let mut pieces = Vec::with_capacity(8);
        pieces.push(Bytes::new());
        let mut written = 0;
        if rest >= 2 {
            self.pool.cut_text(dice, rest, &mut pieces);
            written = pieces.iter().map(Bytes::len).sum();
        }
        let head = &mut draft.head;
        let _ = write!(head, "\r\n{first}\r\n");
        if written > rest {
            // The octet that made no line of its own is taken from the first line.
            head.truncate(head.len() - 2 - (written - rest));
            head.push_str("\r\n");
        }
        pieces[0] = std::mem::take(head).into();
        pieces
    }
}

/// The head of a letter as it is written.
struct Draft<'a> {
    order: &'a Order<'a>,
    id: &'a str,
    subject: String,
    head: String,
}

impl<'a> Draft<'a> {
    fn new(order: &'a Order<'a>, id: &'a str, dice: &mut Dice) -> Self {
        let head = String::with_capacity(768);
        let mut draft = Self { order, id, subject: subject(&order.kind, dice), head };
        let _ = write!(draft.head, "{ID_FIELD}{id}\r\n");
        draft.field("Date", &calendar::mail_date(calendar::unix_seconds(order.date)));
        draft.field("From", &clean(order.from));
        draft.addresses(order.to);
        let subject = draft.subject.clone();
        draft.field("Subject", &subject);
        if let Kind::Reply { message_id } | Kind::Rsvp { message_id } = order.kind {
            draft.field("In-Reply-To", &clean(message_id));
            draft.field("References", &clean(message_id));
        }
        draft.field("MIME-Version", "1.0");
        draft
    }

    fn field(&mut self, name: &str, value: &str) {
        let fold = if name.len() + 2 + value.len() > words::COLUMNS_MAX { "\r\n " } else { " " };
        let _ = write!(self.head, "{name}:{fold}{value}\r\n");
    }

    /// `To:`, an address on each line but where two fit (RFC 5322 section 2.2.3).
    fn addresses(&mut self, to: &[String]) {
        self.head.push_str("To:");
        let mut columns = 3;
        for (n, address) in to.iter().enumerate() {
            let address = clean(address);
            let comma = if n + 1 < to.len() { "," } else { "" };
            if columns + address.len() + 2 > words::COLUMNS_MAX {
                self.head.push_str("\r\n");
                columns = 0;
            }
            let _ = write!(self.head, " {address}{comma}");
            columns += 1 + address.len() + comma.len();
        }
        if to.is_empty() {
            self.head.push_str(" undisclosed-recipients:;");
        }
        self.head.push_str("\r\n");
    }

    fn begin_parts(&mut self, kind: &str) {
        self.field("Content-Type", &format!("multipart/{kind}; boundary=\"{BOUNDARY}\""));
        self.head.push_str("\r\n");
    }

    /// The part's fields, without the empty line after them.
    fn begin_part(&mut self, kind: &str, encoding: &str) {
        let _ = write!(self.head, "--{BOUNDARY}\r\n");
        self.field("Content-Type", kind);
        self.field("Content-Transfer-Encoding", encoding);
    }
}

fn subject(kind: &Kind<'_>, dice: &mut Dice) -> String {
    const ABOUT: [&str; 12] = [
        "Project",
        "Meeting",
        "Contract",
        "Delivery",
        "Invoice",
        "Schedule",
        "Budget",
        "Test report",
        "Travel",
        "Office",
        "Customer visit",
        "Production",
    ];
    let about = ABOUT[dice.below(ABOUT.len() as u64) as usize];
    let text = format!("{about} {}", 1 + dice.below(9999));
    match kind {
        Kind::Reply { .. } => format!("Re: {text}"),
        Kind::Rsvp { .. } => format!("Accepted: {text}"),
        _ => text,
    }
}

fn part_head(kind: &str, encoding: &str) -> String {
    format!("--{BOUNDARY}\r\nContent-Type: {kind}\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n")
}

fn closing() -> Bytes {
    format!("--{BOUNDARY}--\r\n").into()
}

/// The fields of an attachment and its first line, which tells it from all others.
fn attachment_head(attachment: &Attachment, octets: u64, run: &str) -> String {
    let (kind, end) = match attachment.stuff {
        Stuff::Dense => ("image/jpeg", "jpg"),
        Stuff::Loose => ("text/csv", "csv"),
    };
    let repeated = attachment.mark >> 63 == 0;
    let number = attachment.mark & (u64::MAX >> 1);
    let name = format!("file-{number:06}-{octets}.{end}");
    let whose = if repeated { "all" } else { run };
    let mark = format!("{number:020} {octets:08} {whose:<27.27}");
    let first = pool::encode_lines(&mark.as_bytes()[..LINE_OCTETS.min(octets as usize)]);
    let first = String::from_utf8_lossy(&first);
    format!(
        "--{BOUNDARY}\r\nContent-Type: {kind};\r\n name=\"{name}\"\r\n\
         Content-Transfer-Encoding: base64\r\nContent-Disposition: attachment;\r\n \
         filename=\"{name}\"\r\n\r\n{first}"
    )
}

/// Without what has no place in a header field.
fn clean(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).collect()
}

/// A Message-ID without its brackets.
fn bare(message_id: &str) -> String {
    clean(message_id.trim().trim_start_matches('<').trim_end_matches('>'))
}
