//! IMAP data read strictly, by a reader that shares nothing with the server: RFC 9051 section 9.

use crate::talk::Line;

/// One value of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// `NIL`.
    Nil,
    /// A number or another word without quotes.
    Atom(String),
    /// A quoted string or a literal.
    Text(String),
    /// Values in parentheses.
    List(Vec<Node>),
}

impl Node {
    /// Reads what stands behind `item` in a FETCH line, such as `BODYSTRUCTURE`.
    pub fn fetched(line: &Line, item: &str) -> Node {
        let marked = format!("{item} ");
        let at = line.text.find(&marked).unwrap_or_else(|| panic!("no {item} in {line:?}"));
        let before = line.text[..at].matches('{').count();
        let mut reader = Reader {
            rest: &line.text[at + marked.len()..],
            literals: line.literals[before..].iter(),
            whole: &line.text,
        };
        reader.value()
    }

    /// The members of a list.
    pub fn list(&self) -> &[Node] {
        match self {
            Node::List(members) => members,
            other => panic!("a list was expected, not {other:?}"),
        }
    }

    /// The text of a string.
    pub fn text(&self) -> &str {
        match self {
            Node::Text(text) => text,
            other => panic!("a string was expected, not {other:?}"),
        }
    }

    /// The value of a number.
    pub fn number(&self) -> u64 {
        match self {
            Node::Atom(word) => word.parse().unwrap_or_else(|_| panic!("{word} is no number")),
            other => panic!("a number was expected, not {other:?}"),
        }
    }

    /// A string, or nothing for NIL.
    pub fn optional(&self) -> Option<&str> {
        match self {
            Node::Nil => None,
            other => Some(other.text()),
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
    literals: std::slice::Iter<'a, Vec<u8>>,
    whole: &'a str,
}

impl Reader<'_> {
    fn value(&mut self) -> Node {
        match self.rest.chars().next() {
            Some('(') => self.list(),
            Some('"') => self.quoted(),
            Some('{') => self.literal(),
            Some(c) if c.is_ascii_graphic() && c != ')' => self.atom(),
            other => panic!("{other:?} begins no value in {}", self.whole),
        }
    }

    fn step(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    fn list(&mut self) -> Node {
        self.step(1);
        let mut members: Vec<Node> = Vec::new();
        loop {
            if self.rest.starts_with(')') {
                self.step(1);
                return Node::List(members);
            }
            // RFC 9051: only the bodies of a multipart stand side by side without a space
            let side_by_side = matches!(members.last(), Some(Node::List(_)) | None);
            if self.rest.starts_with(' ') && !members.is_empty() {
                self.step(1);
            } else if !(side_by_side && (members.is_empty() || self.rest.starts_with('('))) {
                panic!("values stand without a space between them in {}", self.whole);
            }
            members.push(self.value());
        }
    }

    fn quoted(&mut self) -> Node {
        let mut text = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.step(at + 1);
                    return Node::Text(text);
                }
                '\\' => match chars.next() {
                    Some((_, c @ ('"' | '\\'))) => text.push(c),
                    other => panic!("{other:?} after a backslash in {}", self.whole),
                },
                c => text.push(c),
            }
        }
        panic!("a quoted string does not end in {}", self.whole)
    }

    fn literal(&mut self) -> Node {
        let end = self.rest.find('}').expect("a literal's length ends");
        self.step(end + 1);
        let bytes = self.literals.next().expect("as many literals as were announced");
        Node::Text(String::from_utf8_lossy(bytes).into_owned())
    }

    fn atom(&mut self) -> Node {
        let end = self.rest.find([' ', '(', ')', '"', '{']).unwrap_or(self.rest.len());
        let word = self.rest[..end].to_owned();
        self.step(end);
        if word.eq_ignore_ascii_case("NIL") { Node::Nil } else { Node::Atom(word) }
    }
}

/// Demands that `node` is an envelope: ten members of the right kinds.
pub fn demand_envelope(node: &Node) {
    let members = node.list();
    assert_eq!(members.len(), 10, "{members:?}");
    for index in [0, 1, 8, 9] {
        members[index].optional();
    }
    for addresses in members[2..8].iter().filter(|m| **m != Node::Nil) {
        assert!(!addresses.list().is_empty(), "an empty list where NIL belongs: {members:?}");
        for address in addresses.list() {
            let parts = address.list();
            assert_eq!(parts.len(), 4, "{address:?}");
            parts.iter().for_each(|part| {
                part.optional();
            });
        }
    }
}

/// Demands that `node` is a BODYSTRUCTURE (or BODY) as the grammar has it, in all depths.
pub fn demand_body(node: &Node) {
    let members = node.list();
    let children = members.iter().take_while(|m| matches!(m, Node::List(_))).count();
    if children > 0 {
        members[..children].iter().for_each(demand_body);
        assert!(!members[children].text().is_empty(), "a multipart has a subtype: {members:?}");
        if let [parameters, rest @ ..] = &members[children + 1..] {
            demand_parameters(parameters);
            demand_extension(rest);
        }
        return;
    }
    let (kind, subtype) = (members[0].text(), members[1].text());
    assert!(!kind.is_empty() && !subtype.is_empty(), "{members:?}");
    demand_parameters(&members[2]);
    members[3].optional();
    members[4].optional();
    assert!(!members[5].text().is_empty(), "an encoding is always named: {members:?}");
    members[6].number();
    let mut next = 7;
    if kind.eq_ignore_ascii_case("message") && subtype.eq_ignore_ascii_case("rfc822") {
        demand_envelope(&members[7]);
        demand_body(&members[8]);
        members[9].number();
        next = 10;
    } else if kind.eq_ignore_ascii_case("text") {
        members[7].number();
        next = 8;
    }
    if let [md5, rest @ ..] = &members[next..] {
        md5.optional();
        demand_extension(rest);
    }
}

fn demand_parameters(node: &Node) {
    if *node != Node::Nil {
        let members = node.list();
        assert!(!members.is_empty() && members.len().is_multiple_of(2), "{members:?}");
        members.iter().for_each(|member| {
            member.text();
        });
    }
}

/// Disposition, language, location: in this order, each optional from the end.
fn demand_extension(members: &[Node]) {
    assert!(members.len() <= 3, "{members:?}");
    if let Some(disposition) = members.first().filter(|d| **d != Node::Nil) {
        let parts = disposition.list();
        assert_eq!(parts.len(), 2, "{disposition:?}");
        parts[0].text();
        demand_parameters(&parts[1]);
    }
    match members.get(1) {
        Some(Node::List(languages)) => assert!(!languages.is_empty()),
        Some(other) => {
            other.optional();
        }
        None => {}
    }
    if let Some(location) = members.get(2) {
        location.optional();
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, Node, demand_body};

    fn read(text: &str) -> Node {
        let line = Line { text: format!("* 1 FETCH (BODY {text})"), literals: vec![b"x\"".into()] };
        Node::fetched(&line, "BODY")
    }

    #[test]
    fn reads_values() {
        let node = read(r#"(("a" NIL 5)(b {2}) "q\"\\")"#);
        let members = node.list();
        assert_eq!(members[0].list()[2].number(), 5);
        assert_eq!(members[1].list()[1].text(), "x\"");
        assert_eq!(members[2].text(), "q\"\\");
    }

    #[test]
    fn takes_good_structures_and_refuses_bad_ones() {
        let text = r#"("TEXT" "PLAIN" ("CHARSET" "us-ascii") NIL NIL "7BIT" 5 1)"#;
        demand_body(&read(text));
        demand_body(&read(&format!("({text}{text} \"MIXED\" NIL (\"inline\" NIL) NIL NIL)")));
        for bad in [
            r#"("TEXT" "" NIL NIL NIL "7BIT" 5 1)"#,
            r#"("TEXT" "PLAIN" () NIL NIL "7BIT" 5 1)"#,
            r#"("APPLICATION" "X" NIL NIL NIL "7BIT" 5 NIL "inline" NIL NIL)"#,
            r#"("ALTERNATIVE")"#,
        ] {
            assert!(std::panic::catch_unwind(|| demand_body(&read(bad))).is_err(), "{bad}");
        }
    }
}
