//! What is to be done with a message that comes in: rules asked about a letter.

use std::cell::OnceCell;

use note::{ItemValue, NoteView};
use store::{PreparedNote, Store};

use super::set::{Ready, RuleSet};
use super::{Action, BLOCKED_FOLDER, COPIES_MAX, Condition, FORWARDS_MAX, Field, Importance, Test};
use crate::intake;

/// Bytes of a message's header that conditions on header fields look at.
const HEADER_BYTES_MAX: u64 = 64 * 1024;

/// Bytes of the addresses of one field that conditions look at.
const FIELD_BYTES_MAX: usize = 64 * 1024;

/// A message on its way into mail files, as rules see it. It is opened once, when the first rules
/// are asked that are not empty.
pub struct Letter<'a> {
    store: &'a Store,
    prepared: &'a PreparedNote,
    sender: &'a str,
    facts: OnceCell<Facts>,
}

/// What conditions compare, in lower case.
#[derive(Default)]
struct Facts {
    note: Vec<u8>,
    /// Bare addresses of From and the envelope.
    senders: Vec<String>,
    from: Vec<String>,
    subject: Vec<String>,
    to: Vec<String>,
    cc: Vec<String>,
    importance: Option<Importance>,
    header: OnceCell<Vec<(String, String)>>,
}

/// What is to be done with a message. The default: into INBOX, unread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Into this folder; `None`: INBOX. `\Junk` and its like mean a special use.
    pub folder: Option<String>,
    /// The sender is blocked: that is why.
    pub blocked: bool,
    /// Into these folders as well.
    pub copies: Vec<String>,
    /// Into no folder but those of `copies`.
    pub discard: bool,
    /// Marked as read.
    pub seen: bool,
    /// Flagged.
    pub flagged: bool,
    /// To these addresses as well.
    pub forward: Vec<String>,
    /// Delivered also into a full mail file: what the server itself has to say.
    pub beyond_quota: bool,
}

/// Asks the rules of a mail file about a message. Blocked senders go before all rules.
pub fn judge(rules: &RuleSet, letter: &Letter<'_>) -> Verdict {
    let mut verdict = Verdict::default();
    if rules.is_empty() {
        return verdict;
    }
    let facts = letter.facts();
    if !rules.blocked.is_empty() && facts.senders.iter().any(|sender| rules.blocks(sender)) {
        verdict.folder = Some(BLOCKED_FOLDER.to_owned());
        verdict.blocked = true;
        return verdict;
    }
    for rule in &rules.rules {
        if letter.meets(rule, facts) && !verdict.take(&rule.actions) {
            break;
        }
    }
    verdict
}

impl Verdict {
    /// Takes the actions of a rule in; gives whether further rules are asked.
    fn take(&mut self, actions: &[Action]) -> bool {
        let mut goes_on = true;
        for action in actions {
            match action {
                Action::Move(folder) => {
                    self.folder.get_or_insert_with(|| folder.clone());
                }
                Action::Copy(folder) => add(&mut self.copies, folder, COPIES_MAX),
                Action::Forward(address) => add(&mut self.forward, address, FORWARDS_MAX),
                Action::MarkRead => self.seen = true,
                Action::Flag => self.flagged = true,
                Action::Delete => {
                    self.discard = true;
                    goes_on = false;
                }
                Action::Stop => goes_on = false,
            }
        }
        goes_on
    }
}

fn add(list: &mut Vec<String>, text: &str, max: usize) {
    if list.len() < max && !list.iter().any(|known| known.eq_ignore_ascii_case(text)) {
        list.push(text.to_owned());
    }
}

impl<'a> Letter<'a> {
    /// A message as it is about to be delivered. `sender`: that of the envelope, empty for the null
    /// sender.
    pub fn new(store: &'a Store, prepared: &'a PreparedNote, sender: &'a str) -> Letter<'a> {
        Letter { store, prepared, sender, facts: OnceCell::new() }
    }

    fn facts(&self) -> &Facts {
        self.facts.get_or_init(|| {
            let encoded = self.prepared.encoded().map_err(|error| error.to_string());
            let facts = encoded.and_then(|note| Facts::of(note).map_err(|error| error.to_string()));
            let mut facts = facts.unwrap_or_else(|error| {
                let unid = self.prepared.unid();
                tracing::error!(%unid, error, "rules cannot look at a message");
                Facts::default()
            });
            if !self.sender.is_empty() {
                facts.senders.push(self.sender.to_lowercase());
            }
            facts
        })
    }

    fn meets(&self, rule: &Ready, facts: &Facts) -> bool {
        let mut holding = rule.conditions.iter().map(|condition| self.holds(condition, facts));
        match rule.any && !rule.conditions.is_empty() {
            true => holding.any(|holds| holds),
            false => holding.all(|holds| holds),
        }
    }

    fn holds(&self, condition: &Condition, facts: &Facts) -> bool {
        match condition {
            Condition::SizeOver(bytes) => self.prepared.size() > *bytes,
            Condition::SizeUnder(bytes) => self.prepared.size() < *bytes,
            Condition::Importance(level) => {
                facts.importance.unwrap_or(Importance::Normal) == *level
            }
            Condition::Text { field, test, value } => match field {
                Field::Sender => compare(facts.from.iter().chain(&facts.senders), *test, value),
                Field::Subject => compare(facts.subject.iter(), *test, value),
                Field::To => compare(facts.to.iter(), *test, value),
                Field::Cc => compare(facts.cc.iter(), *test, value),
                Field::ToOrCc => compare(facts.to.iter().chain(&facts.cc), *test, value),
                Field::Header(name) => {
                    let fields = self.header(facts).iter();
                    let named = fields.filter(|field| field.0.eq_ignore_ascii_case(name));
                    compare(named.map(|field| &field.1), *test, value)
                }
            },
        }
    }

    /// The header fields, decoded; read when the first condition asks for them.
    fn header(&self, facts: &'a Facts) -> &'a [(String, String)]
    where
        Self: 'a,
    {
        facts.header.get_or_init(|| self.read_header(facts).unwrap_or_default())
    }

    fn read_header(&self, facts: &Facts) -> Result<Vec<(String, String)>, intake::ContentError> {
        let view = NoteView::new(&facts.note)?;
        let pieces = intake::content(&view)?;
        let mut bytes = Vec::new();
        intake::read_range(self.store, &pieces, 0..HEADER_BYTES_MAX, &mut bytes)?;
        let fields = message::headers(&bytes).map(|(name, value, _)| {
            let value = message::decode_words(&message::unfold(value)).to_lowercase();
            (String::from_utf8_lossy(name).into_owned(), value)
        });
        Ok(fields.collect())
    }
}

/// Whether one of several texts (or none of them, for the tests that say *not*) is as asked. An
/// address with a name is compared as a whole and bare.
fn compare<'t>(mut texts: impl Iterator<Item = &'t String>, test: Test, value: &str) -> bool {
    let is = |text: &String| text == value || bare(text) == value;
    match test {
        Test::Contains => texts.any(|text| text.contains(value)),
        Test::ContainsNot => !texts.any(|text| text.contains(value)),
        Test::Is => texts.any(is),
        Test::IsNot => !texts.any(is),
        Test::Begins => texts.any(|text| text.starts_with(value) || bare(text).starts_with(value)),
    }
}

/// `ada@example.org` of `Ada <ada@example.org>`.
fn bare(text: &str) -> &str {
    let address = text.strip_suffix('>').and_then(|text| text.rsplit_once('<'));
    address.map_or(text, |(_, address)| address)
}

impl Facts {
    fn of(note: Vec<u8>) -> Result<Facts, note::DecodeError> {
        let view = NoteView::new(&note)?;
        let from = texts(&view, "From")?;
        let facts = Facts {
            senders: from.iter().map(|text| bare(text).to_owned()).collect(),
            from,
            subject: texts(&view, "Subject")?,
            to: texts(&view, "SendTo")?,
            cc: texts(&view, "CopyTo")?,
            importance: match view.text("Importance") {
                Some("1") => Some(Importance::High),
                Some("3") => Some(Importance::Low),
                _ => None,
            },
            ..Facts::default()
        };
        Ok(Facts { note, ..facts })
    }
}

/// The texts of an item, up to [`FIELD_BYTES_MAX`] bytes of them.
fn texts(view: &NoteView<'_>, name: &str) -> Result<Vec<String>, note::DecodeError> {
    let mut texts = match view.get(name)? {
        Some(ItemValue::Text(text)) => vec![text],
        Some(ItemValue::TextList(texts)) => texts,
        _ => Vec::new(),
    };
    let mut bytes = 0;
    texts.retain(|text| {
        bytes += text.len();
        bytes <= FIELD_BYTES_MAX
    });
    texts.iter_mut().for_each(|text| *text = text.to_lowercase());
    Ok(texts)
}
