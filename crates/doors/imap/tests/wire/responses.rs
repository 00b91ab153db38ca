//! Every response that a test reads is checked against the formal syntax (RFC 3501 §9, RFC 4466,
//! RFC 4731, RFC 5256, RFC 5258, RFC 7162), by code that the door does not share.

use crate::grammar::Reader;

/// Fails unless `unit` is a response.
pub fn check(unit: &[u8]) {
    let mut reader = Reader { bytes: unit, at: 0 };
    if reader.eat("+ ") {
        // An empty challenge is base64 of nothing.
        if unit.len() > 2 {
            reader.text();
        }
        return;
    }
    if reader.eat("* ") {
        reader.untagged();
    } else {
        if reader.take_while(|byte| is_atom(byte) || byte == b']').is_empty() {
            reader.fail("a tag is missing");
        }
        reader.expect(" ");
        if !["OK ", "NO ", "BAD "].iter().any(|state| reader.eat(state)) {
            reader.fail("a state is missing");
        }
        reader.state_text();
    }
    if reader.at != unit.len() {
        reader.fail("something follows");
    }
}

fn is_atom(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"(){%*\"\\]".contains(&byte)
}

impl Reader<'_> {
    fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    fn take_while(&mut self, is: impl Fn(u8) -> bool) -> String {
        let count = self.bytes[self.at..].iter().take_while(|byte| is(**byte)).count();
        let text = String::from_utf8(self.bytes[self.at..self.at + count].to_vec()).unwrap();
        self.at += count;
        text
    }

    fn atom(&mut self, what: &str) -> String {
        let atom = self.take_while(is_atom);
        if atom.is_empty() { self.fail(what) } else { atom }
    }

    /// `text`: to the end, at least one character, none of them 8-bit.
    fn text(&mut self) {
        let text = self.take_while(|byte| (b' '..=b'~').contains(&byte));
        if text.is_empty() || !self.is_at_end() {
            self.fail("not a text");
        }
    }

    fn state_text(&mut self) {
        if self.eat("[") {
            self.code();
            self.expect("] ");
        }
        self.text();
    }

    fn code(&mut self) {
        match self.atom("a response code").as_str() {
            "UIDNEXT" | "UIDVALIDITY" | "UNSEEN" | "HIGHESTMODSEQ" => {
                self.expect(" ");
                self.nz_number();
            }
            "APPENDUID" => self.numbers_and_sets(1),
            "COPYUID" => self.numbers_and_sets(2),
            "MODIFIED" => {
                self.expect(" ");
                self.set();
            }
            "PERMANENTFLAGS" | "BADCHARSET" => {
                self.expect(" (");
                self.take_while(|byte| byte != b')');
                self.expect(")");
            }
            "CAPABILITY" => self.capabilities(),
            _ => {}
        }
    }

    fn numbers_and_sets(&mut self, sets: usize) {
        self.expect(" ");
        self.nz_number();
        for _ in 0..sets {
            self.expect(" ");
            self.set();
        }
    }

    fn nz_number(&mut self) {
        if self.number() == 0 {
            self.fail("0 is not possible");
        }
    }

    /// `sequence-set` without `*`.
    fn set(&mut self) {
        loop {
            self.nz_number();
            if self.eat(":") {
                self.nz_number();
            }
            if !self.eat(",") {
                return;
            }
        }
    }

    fn capabilities(&mut self) {
        self.expect(" IMAP4rev1");
        self.atoms();
    }

    fn atoms(&mut self) {
        while self.eat(" ") {
            self.atom("an atom");
        }
    }

    fn untagged(&mut self) {
        if self.peek().is_ascii_digit() {
            return self.numbered();
        }
        match self.atom("a response").as_str() {
            "OK" | "NO" | "BAD" | "BYE" => {
                self.expect(" ");
                self.state_text();
            }
            "CAPABILITY" => self.capabilities(),
            "ENABLED" => self.atoms(),
            "FLAGS" => {
                self.expect(" (");
                self.flags();
            }
            "LIST" | "LSUB" => self.list(),
            "STATUS" => self.status(),
            "SEARCH" | "SORT" => self.found(),
            "ESEARCH" => self.extended(),
            "THREAD" => {
                if !self.is_at_end() {
                    self.expect(" ");
                    self.threads(0);
                }
            }
            "VANISHED" => {
                self.expect(" ");
                self.eat("(EARLIER) ");
                self.set();
            }
            "NAMESPACE" | "ID" => {
                self.expect(" ");
                self.take_while(|byte| byte.is_ascii_graphic() || byte == b' ');
            }
            other => self.fail(&format!("{other} is no response")),
        }
    }

    fn numbered(&mut self) {
        let start = self.at;
        let number = self.number();
        self.expect(" ");
        if self.eat("EXISTS") || self.eat("RECENT") {
            return;
        }
        if number == 0 {
            self.fail("0 is not possible");
        }
        if !self.eat("EXPUNGE") {
            self.at = start - 2;
            self.fetched();
        }
    }

    fn list(&mut self) {
        self.expect(" (");
        while !self.eat(")") {
            self.expect("\\");
            self.atom("an attribute");
            self.eat(" ");
        }
        self.expect(" \"/\" ");
        self.string();
        if self.eat(" (") {
            self.string();
            self.expect(" (");
            self.string();
            self.expect("))");
        }
    }

    fn status(&mut self) {
        self.expect(" ");
        self.string();
        self.expect(" (");
        loop {
            self.atom("a status item");
            self.expect(" ");
            self.number();
            if self.eat(")") {
                return;
            }
            self.expect(" ");
        }
    }

    fn found(&mut self) {
        while self.eat(" ") {
            if self.eat("(MODSEQ ") {
                self.nz_number();
                return self.expect(")");
            }
            self.nz_number();
        }
    }

    fn extended(&mut self) {
        self.expect(" (TAG ");
        self.string();
        self.expect(")");
        self.eat(" UID");
        while self.eat(" ") {
            match self.atom("a result").as_str() {
                "ALL" => {
                    self.expect(" ");
                    self.set();
                }
                "COUNT" => {
                    self.expect(" ");
                    self.number();
                }
                "MIN" | "MAX" | "MODSEQ" => {
                    self.expect(" ");
                    self.nz_number();
                }
                other => self.fail(&format!("{other} is no result")),
            }
        }
    }

    /// `1*thread-list`.
    fn threads(&mut self, depth: u32) {
        assert!(depth < 500, "too deep for the tests");
        let mut count = 0;
        while self.eat("(") {
            count += 1;
            let mut members = 0;
            while self.peek().is_ascii_digit() {
                self.nz_number();
                members += 1;
                if !self.eat(" ") {
                    break;
                }
            }
            if self.peek() == b'(' {
                let before = self.at;
                self.threads(depth + 1);
                let nested = self.bytes[before..self.at].len();
                if nested == 0 {
                    self.fail("nothing is nested");
                }
            } else if members == 0 {
                self.fail("a thread without members");
            }
            self.expect(")");
        }
        if count == 0 {
            self.fail("a thread is missing");
        }
    }
}
