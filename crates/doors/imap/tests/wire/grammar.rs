//! A strict parser of responses after RFC 3501 §9, written for the tests: it shares no code with
//! the door, and refuses what the formal syntax does not allow.

/// A cursor over one response.
pub struct Reader<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
}

/// An address of an envelope: name, route, mailbox, host.
pub type Address = [Option<Vec<u8>>; 4];

/// `body-fld-param`: names in lower case, values.
pub type Params = Vec<(String, Vec<u8>)>;

/// `envelope`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    pub date: Option<Vec<u8>>,
    pub subject: Option<Vec<u8>>,
    /// From, sender, reply-to, to, cc, bcc.
    pub addresses: [Option<Vec<Address>>; 6],
    pub in_reply_to: Option<Vec<u8>>,
    pub message_id: Option<Vec<u8>>,
}

/// `body`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Body {
    pub children: Vec<Body>,
    pub kind: String,
    pub subtype: String,
    pub params: Params,
    pub id: Option<Vec<u8>>,
    pub description: Option<Vec<u8>>,
    pub encoding: String,
    pub size: u64,
    pub envelope: Option<Box<Envelope>>,
    pub lines: Option<u64>,
    pub extended: bool,
    pub disposition: Option<(String, Params)>,
}

/// `msg-att` items of a FETCH.
#[derive(Debug, Clone, Default)]
pub struct Fetched {
    pub number: u32,
    pub flags: Option<Vec<String>>,
    pub uid: Option<u32>,
    pub modseq: Option<u64>,
    pub size: Option<u64>,
    pub date: Option<String>,
    pub envelope: Option<Envelope>,
    pub body: Option<Body>,
    pub structure: Option<Body>,
    /// Sections with their names.
    pub sections: Vec<(String, Option<Vec<u8>>)>,
}

impl Fetched {
    /// The bytes of the section with this name.
    pub fn section(&self, name: &str) -> Option<&[u8]> {
        let section = self.sections.iter().find(|section| section.0 == name);
        section.unwrap_or_else(|| panic!("no {name} in {self:?}")).1.as_deref()
    }
}

/// Parses an untagged FETCH response.
pub fn fetched(unit: &[u8]) -> Fetched {
    let mut reader = Reader { bytes: unit, at: 0 };
    let found = reader.fetched();
    assert_eq!(reader.at, unit.len(), "something follows: {}", String::from_utf8_lossy(unit));
    found
}

impl<'a> Reader<'a> {
    pub fn fail(&self, what: &str) -> ! {
        let shown = String::from_utf8_lossy(self.bytes);
        panic!("{what} at byte {} of {shown}", self.at)
    }

    pub fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or_else(|| self.fail("the end"))
    }

    pub fn eat(&mut self, text: &str) -> bool {
        let found = self.bytes[self.at..].starts_with(text.as_bytes());
        self.at += if found { text.len() } else { 0 };
        found
    }

    pub fn expect(&mut self, text: &str) {
        if !self.eat(text) {
            self.fail(&format!("{text:?} is missing"));
        }
    }

    pub fn number(&mut self) -> u64 {
        let digits = self.bytes[self.at..].iter().take_while(|b| b.is_ascii_digit()).count();
        let text = std::str::from_utf8(&self.bytes[self.at..self.at + digits]).unwrap();
        self.at += digits;
        text.parse().unwrap_or_else(|_| self.fail("a number is missing"))
    }

    pub fn string(&mut self) -> Vec<u8> {
        if self.eat("{") {
            let length = self.number() as usize;
            self.expect("}\r\n");
            let bytes = self.bytes[self.at..self.at + length].to_vec();
            assert!(!bytes.contains(&0), "NUL in a literal");
            self.at += length;
            return bytes;
        }
        self.expect("\"");
        let mut text = Vec::new();
        loop {
            match self.peek() {
                b'"' => break,
                b'\\' => {
                    self.at += 1;
                    if !b"\"\\".contains(&self.peek()) {
                        self.fail("a wrong escape");
                    }
                    text.push(self.peek());
                }
                b'\r' | b'\n' | 0 | 0x80.. => self.fail("not a TEXT-CHAR"),
                byte => text.push(byte),
            }
            self.at += 1;
        }
        self.at += 1;
        text
    }

    pub fn nstring(&mut self) -> Option<Vec<u8>> {
        if self.eat("NIL") { None } else { Some(self.string()) }
    }

    fn word(&mut self) -> String {
        String::from_utf8(self.string()).unwrap()
    }

    pub fn fetched(&mut self) -> Fetched {
        let mut found = Fetched::default();
        self.expect("* ");
        found.number = self.number() as u32;
        self.expect(" FETCH (");
        loop {
            self.item(&mut found);
            if self.eat(")") {
                return found;
            }
            self.expect(" ");
        }
    }

    fn item(&mut self, found: &mut Fetched) {
        if self.eat("FLAGS (") {
            found.flags = Some(self.flags());
        } else if self.eat("UID ") {
            found.uid = Some(self.number() as u32);
        } else if self.eat("MODSEQ (") {
            found.modseq = Some(self.number());
            self.expect(")");
            assert!(found.modseq > Some(0), "a modseq is never 0");
        } else if self.eat("RFC822.SIZE ") {
            found.size = Some(self.number());
        } else if self.eat("INTERNALDATE ") {
            let date = self.word();
            assert_eq!(date.len(), 26, "{date}");
            found.date = Some(date);
        } else if self.eat("ENVELOPE ") {
            found.envelope = Some(self.envelope());
        } else if self.eat("BODYSTRUCTURE ") {
            found.structure = Some(self.body());
        } else if self.eat("BODY ") {
            found.body = Some(self.body());
        } else {
            let section = self.section();
            found.sections.push(section);
        }
    }

    pub fn flags(&mut self) -> Vec<String> {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|byte| *byte == b')').unwrap();
        let text = std::str::from_utf8(&rest[..end]).unwrap().to_owned();
        self.at += end + 1;
        let flags: Vec<String> = text.split(' ').map(str::to_owned).collect();
        if text.is_empty() { Vec::new() } else { flags }
    }

    fn section(&mut self) -> (String, Option<Vec<u8>>) {
        let start = self.at;
        if !["RFC822.HEADER", "RFC822.TEXT", "RFC822"].iter().any(|name| self.eat(name)) {
            self.expect("BODY[");
            while !self.eat("]") {
                self.at += 1;
                self.peek();
            }
            if self.eat("<") {
                self.number();
                self.expect(">");
            }
        }
        let name = String::from_utf8(self.bytes[start..self.at].to_vec()).unwrap();
        self.expect(" ");
        (name, self.nstring())
    }

    fn envelope(&mut self) -> Envelope {
        self.expect("(");
        let date = self.nstring();
        self.expect(" ");
        let subject = self.nstring();
        let addresses = std::array::from_fn(|_| {
            self.expect(" ");
            self.addresses()
        });
        self.expect(" ");
        let in_reply_to = self.nstring();
        self.expect(" ");
        let message_id = self.nstring();
        self.expect(")");
        Envelope { date, subject, addresses, in_reply_to, message_id }
    }

    fn addresses(&mut self) -> Option<Vec<Address>> {
        if self.eat("NIL") {
            return None;
        }
        self.expect("(");
        let mut list = Vec::new();
        loop {
            self.expect("(");
            list.push(std::array::from_fn(|at| {
                if at > 0 {
                    self.expect(" ");
                }
                self.nstring()
            }));
            self.expect(")");
            if self.eat(")") {
                return Some(list);
            }
        }
    }

    fn params(&mut self) -> Params {
        if self.eat("NIL") {
            return Vec::new();
        }
        self.expect("(");
        let mut params = Vec::new();
        loop {
            let name = self.word().to_ascii_lowercase();
            self.expect(" ");
            params.push((name, self.string()));
            if self.eat(")") {
                return params;
            }
            self.expect(" ");
        }
    }

    fn body(&mut self) -> Body {
        self.expect("(");
        let body = if self.peek() == b'(' { self.multipart() } else { self.single() };
        self.expect(")");
        body
    }

    fn multipart(&mut self) -> Body {
        let mut body = Body { kind: String::from("multipart"), ..Body::default() };
        while self.peek() == b'(' {
            body.children.push(self.body());
        }
        self.expect(" ");
        body.subtype = self.filled();
        if self.eat(" ") {
            body.params = self.params();
            self.extension(&mut body);
        }
        body
    }

    /// A string that is not empty, in lower case.
    fn filled(&mut self) -> String {
        let word = self.word().to_ascii_lowercase();
        if word.is_empty() { self.fail("an empty type") } else { word }
    }

    fn single(&mut self) -> Body {
        let mut body = Body { kind: self.filled(), ..Body::default() };
        self.expect(" ");
        body.subtype = self.filled();
        self.expect(" ");
        body.params = self.params();
        self.expect(" ");
        body.id = self.nstring();
        self.expect(" ");
        body.description = self.nstring();
        self.expect(" ");
        body.encoding = self.filled();
        self.expect(" ");
        body.size = self.number();
        if body.kind == "message" && body.subtype == "rfc822" {
            self.expect(" ");
            body.envelope = Some(Box::new(self.envelope()));
            self.expect(" ");
            body.children.push(self.body());
        }
        if body.kind == "text" || body.envelope.is_some() {
            self.expect(" ");
            body.lines = Some(self.number());
        }
        if self.eat(" ") {
            self.nstring();
            self.extension(&mut body);
        }
        body
    }

    /// Disposition, language, location; all of them are sent or none.
    fn extension(&mut self, body: &mut Body) {
        body.extended = true;
        self.expect(" ");
        if !self.eat("NIL") {
            self.expect("(");
            let kind = self.filled();
            self.expect(" ");
            body.disposition = Some((kind, self.params()));
            self.expect(")");
        }
        self.expect(" ");
        if self.peek() == b'(' {
            self.at += 1;
            self.string();
            while self.eat(" ") {
                self.string();
            }
            self.expect(")");
        } else {
            self.nstring();
        }
        self.expect(" ");
        self.nstring();
    }
}
