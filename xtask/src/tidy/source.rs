//! Rust text split into code and comments, so that the other rules need not know about strings.

/// One file with everything that is not code blanked out; lines and columns stay where they were.
pub struct Source {
    /// The text with comments and the insides of literals replaced by spaces.
    pub code: String,
    /// One entry per line of the file: the comment text that stands on it, or nothing.
    pub comments: Vec<String>,
}

impl Source {
    /// Splits `text`. Never fails: an unclosed literal simply ends with the file.
    pub fn split(text: &str) -> Source {
        let mut splitter = Splitter {
            chars: text.chars().collect(),
            at: 0,
            code: String::with_capacity(text.len()),
            comments: vec![String::new()],
        };
        while splitter.step() {}
        Source { code: splitter.code, comments: splitter.comments }
    }
}

struct Splitter {
    chars: Vec<char>,
    at: usize,
    code: String,
    comments: Vec<String>,
}

impl Splitter {
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn step(&mut self) -> bool {
        if self.at >= self.chars.len() {
            return false;
        }
        match (self.peek(0), self.peek(1)) {
            ('/', '/') => self.line_comment(),
            ('/', '*') => self.block_comment(),
            ('"', _) => self.string(),
            ('r', '"' | '#') if !self.after_word() => self.raw_string(),
            ('\'', _) => self.quote(),
            _ => self.keep(),
        }
        true
    }

    /// Whether the character before this one belongs to a longer word than a literal's prefix.
    fn after_word(&self) -> bool {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let before = |n: usize| self.at.checked_sub(n).map_or(' ', |i| self.chars[i]);
        match before(1) {
            'b' | 'c' => is_word(before(2)),
            c => is_word(c),
        }
    }

    fn keep(&mut self) {
        let c = self.chars[self.at];
        self.at += 1;
        self.code.push(c);
        if c == '\n' {
            self.comments.push(String::new());
        }
    }

    fn blank(&mut self) {
        let c = self.chars[self.at];
        self.at += 1;
        if c == '\n' {
            self.code.push('\n');
            self.comments.push(String::new());
        } else {
            self.code.push(' ');
        }
    }

    fn comment_char(&mut self) {
        let c = self.chars[self.at];
        if c != '\n'
            && let Some(line) = self.comments.last_mut()
        {
            line.push(c);
        }
        self.blank();
    }

    fn line_comment(&mut self) {
        while self.at < self.chars.len() && self.peek(0) != '\n' {
            self.comment_char();
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        while self.at < self.chars.len() {
            match (self.peek(0), self.peek(1)) {
                ('/', '*') => {
                    depth += 1;
                    self.comment_char();
                }
                ('*', '/') => {
                    depth -= 1;
                    self.comment_char();
                }
                _ => {}
            }
            self.comment_char();
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        self.keep();
        while self.at < self.chars.len() && self.peek(0) != '"' {
            if self.peek(0) == '\\' {
                self.blank();
            }
            if self.at < self.chars.len() {
                self.blank();
            }
        }
        if self.at < self.chars.len() {
            self.keep();
        }
    }

    fn raw_string(&mut self) {
        let mut hashes = 0;
        while self.peek(1 + hashes) == '#' {
            hashes += 1;
        }
        if self.peek(1 + hashes) != '"' {
            self.keep();
            return;
        }
        for _ in 0..hashes + 2 {
            self.keep();
        }
        while self.at < self.chars.len() {
            let closes = self.peek(0) == '"' && (1..=hashes).all(|i| self.peek(i) == '#');
            if closes {
                for _ in 0..=hashes {
                    self.keep();
                }
                return;
            }
            self.blank();
        }
    }

    /// A character literal, or the apostrophe of a lifetime.
    fn quote(&mut self) {
        let escaped = self.peek(1) == '\\';
        self.keep();
        if escaped {
            self.blank();
            self.blank();
            while self.at < self.chars.len() && self.peek(0) != '\'' {
                self.blank();
            }
        } else if self.peek(1) == '\'' {
            self.blank();
        } else {
            return;
        }
        if self.at < self.chars.len() {
            self.keep();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Source;

    #[test]
    fn only_code_is_kept() {
        let cases = [
            ("let a = \"fn x() {\";", "let a = \"        \";"),
            ("let a = \"\\\"{\"; b", "let a = \"   \"; b"),
            ("r#\"a \" {\"# + 1", "r#\"     \"# + 1"),
            ("br\"{\" var\"{\"", "br\" \" var\" \""),
            ("'{' '\\'' '\\u{7b}' x", "' ' '  ' '      ' x"),
            ("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}"),
            ("a/*{/*}*/{*/b", "a           b"),
            ("a // {", "a     "),
        ];
        for (text, code) in cases {
            assert_eq!(Source::split(text).code, code, "{text}");
        }
    }

    #[test]
    fn comments_stay_with_their_line() {
        let source = Source::split("x // one\n/* two\nthree */ y");
        assert_eq!(source.comments, ["// one", "/* two", "three */"]);
        assert_eq!(source.code.lines().count(), 3);
    }
}
