//! What a FETCH asks for.

use crate::grammar::{Bad, Cursor, Parse};

/// Items of one command at most.
const ITEMS_MAX: usize = 1_000;
/// Longest part number.
const PATH_MAX: usize = 200;
/// Fields in one HEADER.FIELDS at most.
const FIELDS_MAX: usize = 1_000;

/// One thing that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Flags,
    Uid,
    InternalDate,
    ModSeq,
    Size,
    Envelope,
    /// `BODY` without a section: the structure without its extension data.
    Body,
    BodyStructure,
    Section(Section),
}

/// Bytes of a message that are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    /// How the answer names it, without the origin of a partial read.
    pub label: String,
    /// The number of the part; empty = the message.
    pub path: Vec<u32>,
    /// What of it.
    pub what: What,
    /// Does not set \Seen.
    pub peek: bool,
    /// First byte and number of bytes wanted.
    pub partial: Option<(u64, u64)>,
}

/// What of a part is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// All of the message, or the body of the part.
    Whole,
    Header,
    /// Some fields of the header, or all but those.
    Fields {
        names: Vec<Vec<u8>>,
        not: bool,
    },
    Text,
    /// The MIME header of a part.
    Mime,
}

/// Everything that is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Items(pub Vec<Item>);

impl Items {
    /// Parses the items of a FETCH: a macro, one item, or several in parentheses.
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Parse<Items> {
        let mut items = Items::default();
        for (name, expanded) in MACROS {
            if cursor.eat_word(name) {
                items.0.extend_from_slice(expanded);
                return Ok(items);
            }
        }
        if !cursor.eat(b'(') {
            items.0.push(item(cursor)?);
            return Ok(items);
        }
        loop {
            items.0.push(item(cursor)?);
            if items.0.len() > ITEMS_MAX {
                return Err(Bad("too many items"));
            }
            if cursor.eat(b')') {
                return Ok(items);
            }
            cursor.space()?;
        }
    }

    /// Asks for an item unless it is asked for.
    pub(crate) fn add(&mut self, item: Item) {
        if !self.0.contains(&item) {
            self.0.push(item);
        }
    }

    /// Whether the note is needed, not only its entry.
    pub(crate) fn need_note(&self) -> bool {
        use Item::{Flags, InternalDate, ModSeq, Size, Uid};
        let of_entry = |item: &Item| matches!(item, Flags | Uid | InternalDate | ModSeq | Size);
        !self.0.iter().all(of_entry)
    }

    /// Whether the bytes of the message are asked for, beyond its structure.
    pub(crate) fn need_content(&self) -> bool {
        self.0.iter().any(|item| matches!(item, Item::Section(_)))
    }

    /// Whether the modseq is asked for (RFC 7162 §3.1.4.2).
    pub(crate) fn need_modseq(&self) -> bool {
        self.0.contains(&Item::ModSeq)
    }

    /// Whether fetching them marks messages as seen.
    pub(crate) fn set_seen(&self) -> bool {
        self.0.iter().any(|item| matches!(item, Item::Section(section) if !section.peek))
    }
}

const MACROS: [(&str, &[Item]); 3] = [
    ("ALL", &[Item::Flags, Item::InternalDate, Item::Size, Item::Envelope]),
    ("FAST", &[Item::Flags, Item::InternalDate, Item::Size]),
    ("FULL", &[Item::Flags, Item::InternalDate, Item::Size, Item::Envelope, Item::Body]),
];

fn item(cursor: &mut Cursor<'_>) -> Parse<Item> {
    let name = cursor.name()?.to_ascii_uppercase();
    Ok(match name.as_str() {
        "FLAGS" => Item::Flags,
        "UID" => Item::Uid,
        "INTERNALDATE" => Item::InternalDate,
        "MODSEQ" => Item::ModSeq,
        "ENVELOPE" => Item::Envelope,
        "BODYSTRUCTURE" => Item::BodyStructure,
        "RFC822.SIZE" => Item::Size,
        "RFC822" => rfc822("RFC822", What::Whole, false),
        "RFC822.HEADER" => rfc822("RFC822.HEADER", What::Header, true),
        "RFC822.TEXT" => rfc822("RFC822.TEXT", What::Text, false),
        "BODY" | "BODY.PEEK" if cursor.peek() == Some(b'[') => {
            Item::Section(section(cursor, name == "BODY.PEEK")?)
        }
        "BODY" => Item::Body,
        _ => return Err(Bad("an unknown fetch item")),
    })
}

fn rfc822(label: &str, what: What, peek: bool) -> Item {
    let label = String::from(label);
    Item::Section(Section { label, path: Vec::new(), what, peek, partial: None })
}

/// `[section]<origin.length>`.
fn section(cursor: &mut Cursor<'_>, peek: bool) -> Parse<Section> {
    cursor.expect(b'[', "a section is missing")?;
    let mut path = Vec::new();
    let mut what = What::Whole;
    while cursor.peek() != Some(b']') {
        if cursor.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            path.push(cursor.nz_number()?);
            if path.len() > PATH_MAX {
                return Err(Bad("a part number is too long"));
            }
            if cursor.eat(b'.') {
                if cursor.peek() == Some(b']') {
                    return Err(Bad("a part number does not end"));
                }
                continue;
            }
        } else {
            what = section_text(cursor, !path.is_empty())?;
        }
        break;
    }
    cursor.expect(b']', "a section does not end")?;
    let partial = partial(cursor)?;
    let label = label(&path, &what);
    Ok(Section { label, path, what, peek, partial })
}

fn section_text(cursor: &mut Cursor<'_>, of_part: bool) -> Parse<What> {
    match cursor.name()?.to_ascii_uppercase().as_str() {
        "HEADER" => Ok(What::Header),
        "TEXT" => Ok(What::Text),
        "MIME" if of_part => Ok(What::Mime),
        "HEADER.FIELDS" => fields(cursor, false),
        "HEADER.FIELDS.NOT" => fields(cursor, true),
        _ => Err(Bad("an unknown section")),
    }
}

fn fields(cursor: &mut Cursor<'_>, not: bool) -> Parse<What> {
    cursor.space()?;
    cursor.expect(b'(', "a list of fields is missing")?;
    let mut names = vec![cursor.astring()?.to_ascii_uppercase()];
    while !cursor.eat(b')') {
        cursor.space()?;
        names.push(cursor.astring()?.to_ascii_uppercase());
        if names.len() > FIELDS_MAX {
            return Err(Bad("too many fields"));
        }
    }
    Ok(What::Fields { names, not })
}

fn partial(cursor: &mut Cursor<'_>) -> Parse<Option<(u64, u64)>> {
    if !cursor.eat(b'<') {
        return Ok(None);
    }
    let origin = cursor.number()?;
    cursor.expect(b'.', "a length is missing")?;
    let length = cursor.nz_number()?;
    cursor.expect(b'>', "a partial read does not end")?;
    Ok(Some((origin.into(), length.into())))
}

/// The name of a section as the answer gives it.
fn label(path: &[u32], what: &What) -> String {
    let mut label = String::from("BODY[");
    let numbers: Vec<String> = path.iter().map(u32::to_string).collect();
    label.push_str(&numbers.join("."));
    if !path.is_empty() && *what != What::Whole {
        label.push('.');
    }
    match what {
        What::Whole => {}
        What::Header => label.push_str("HEADER"),
        What::Text => label.push_str("TEXT"),
        What::Mime => label.push_str("MIME"),
        What::Fields { names, not } => {
            label.push_str(if *not { "HEADER.FIELDS.NOT (" } else { "HEADER.FIELDS (" });
            let names: Vec<String> = names.iter().map(|name| field_name(name)).collect();
            label.push_str(&names.join(" "));
            label.push(')');
        }
    }
    label.push(']');
    label
}

/// A field name as an atom, or quoted when it is none.
fn field_name(name: &[u8]) -> String {
    let atom = |byte: &u8| byte.is_ascii_graphic() && !b"(){%*\"\\]".contains(byte);
    if !name.is_empty() && name.iter().all(atom) {
        return String::from_utf8_lossy(name).into_owned();
    }
    let mut quoted = Vec::new();
    crate::text::quoted(name, &mut quoted);
    String::from_utf8_lossy(&quoted).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Parse<Items> {
        let mut cursor = Cursor::new(text.as_bytes());
        let items = Items::parse(&mut cursor)?;
        cursor.end()?;
        Ok(items)
    }

    #[test]
    fn sections_are_named_in_the_answer() {
        let cases = [
            ("BODY[]", "BODY[]"),
            ("body.peek[1.2]", "BODY[1.2]"),
            ("BODY[1.2.MIME]<0.100>", "BODY[1.2.MIME]"),
            ("BODY[header]", "BODY[HEADER]"),
            ("BODY[1.HEADER.FIELDS (Date \"x y\")]", "BODY[1.HEADER.FIELDS (DATE \"X Y\")]"),
            ("BODY[HEADER.FIELDS.NOT (To)]", "BODY[HEADER.FIELDS.NOT (TO)]"),
            ("RFC822", "RFC822"),
            ("RFC822.HEADER", "RFC822.HEADER"),
            ("RFC822.TEXT", "RFC822.TEXT"),
        ];
        for (text, wanted) in cases {
            let items = parse(text).unwrap();
            let [Item::Section(section)] = &items.0[..] else { panic!("{text}") };
            assert_eq!(section.label, wanted);
        }
    }

    #[test]
    fn macros_and_lists() {
        assert_eq!(parse("FAST").unwrap().0.len(), 3);
        assert_eq!(parse("full").unwrap().0.len(), 5);
        assert_eq!(parse("(FLAGS UID BODY BODYSTRUCTURE)").unwrap().0.len(), 4);
        assert!(parse("(RFC822.SIZE FLAGS)").is_ok_and(|items| !items.need_note()));
        assert!(parse("BODY[]").is_ok_and(|items| items.set_seen()));
        assert!(parse("(BODY.PEEK[] RFC822.HEADER)").is_ok_and(|items| !items.set_seen()));
    }

    #[test]
    fn broken_items_are_refused() {
        for text in [
            "",
            "()",
            "FOO",
            "(FLAGS",
            "FLAGS)",
            "BODY[",
            "BODY[0]",
            "BODY[1.]",
            "BODY[MIME]",
            "BODY[1.FOO]",
            "BODY[]<0>",
            "BODY[]<0.0>",
            "BODY[]<1.2",
            "BODY[HEADER.FIELDS ()]",
            "BODY[HEADER.FIELDS]",
            "BODY[1..2]",
            "BODY[]<-1.2>",
            "BODY.PEEK",
            "(ALL)",
            "BODY[HEADER.1]",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
