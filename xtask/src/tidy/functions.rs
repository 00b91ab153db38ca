//! Finds the functions of a file and measures them.

/// What the size rules want to know of one function.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// The line of the word `fn`, from 1.
    pub line: usize,
    /// Lines from `fn` to the closing brace; 0 for a declaration without a body.
    pub lines: usize,
    /// Parameters without `self`.
    pub parameters: usize,
    /// Parameters whose type is `bool`.
    pub bools: usize,
}

/// All functions in `code`, which is the code part of a [`super::source::Source`].
pub fn functions(code: &str) -> Vec<Function> {
    let bytes = code.as_bytes();
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = find_word(code, "fn", from) {
        from = at + 2;
        if let Some(function) = measure(bytes, at) {
            found.push(function);
        }
    }
    found
}

/// The next place at or after `from` where `word` stands by itself.
pub fn find_word(code: &str, word: &str, from: usize) -> Option<usize> {
    let bytes = code.as_bytes();
    let mut at = from;
    loop {
        at += code.get(at..)?.find(word)?;
        let end = at + word.len();
        let free_before = at == 0 || !is_word(bytes[at - 1]);
        let free_after = bytes.get(end).is_none_or(|b| !is_word(*b));
        if free_before && free_after {
            return Some(at);
        }
        at = end;
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn measure(code: &[u8], start: usize) -> Option<Function> {
    let name_at = skip_space(code, start + 2);
    let name_end = name_at + code[name_at..].iter().take_while(|b| is_word(**b)).count();
    if name_end == name_at {
        return None; // a function pointer type
    }
    let mut at = skip_space(code, name_end);
    if code.get(at) == Some(&b'<') {
        at = skip_space(code, close(code, at)? + 1);
    }
    if code.get(at) != Some(&b'(') {
        return None;
    }
    let parameters_end = close(code, at)?;
    let (parameters, bools) = count_parameters(&code[at + 1..parameters_end]);
    let line = line_of(code, start);
    let lines = body_end(code, parameters_end + 1).map_or(0, |end| line_of(code, end) - line + 1);
    let name = String::from_utf8_lossy(&code[name_at..name_end]).into_owned();
    Some(Function { name, line, lines, parameters, bools })
}

fn skip_space(code: &[u8], from: usize) -> usize {
    from + code[from..].iter().take_while(|b| b.is_ascii_whitespace()).count()
}

fn line_of(code: &[u8], at: usize) -> usize {
    1 + code[..at].iter().filter(|b| **b == b'\n').count()
}

/// The position of the bracket that closes the one at `open`; `->` and `=>` close nothing.
fn close(code: &[u8], open: usize) -> Option<usize> {
    let angles = code[open] == b'<';
    let mut depth = 0;
    for at in open..code.len() {
        match code[at] {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b'<' if angles => depth += 1,
            b'>' if angles && !matches!(code[at - 1], b'-' | b'=') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Where the body that follows the parameters ends, when there is one.
fn body_end(code: &[u8], from: usize) -> Option<usize> {
    let mut depth = 0;
    for at in from..code.len() {
        match code[at] {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b';' if depth == 0 => return None,
            b'{' if depth == 0 => return close(code, at),
            _ => {}
        }
    }
    None
}

fn count_parameters(list: &[u8]) -> (usize, usize) {
    let text = String::from_utf8_lossy(list);
    let mut parameters = 0;
    let mut bools = 0;
    for part in split_top(&text) {
        let pattern = part.split(':').next().unwrap_or("").trim();
        let is_self = pattern == "self" || pattern.ends_with(" self") || pattern.ends_with("&self");
        if part.trim().is_empty() || is_self {
            continue;
        }
        parameters += 1;
        let kind = part.split_once(':').map_or("", |(_, kind)| kind.trim());
        bools += usize::from(kind == "bool");
    }
    (parameters, bools)
}

/// Splits at the commas that stand outside all brackets.
fn split_top(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start, mut before) = (0, 0, ' ');
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '>' if !matches!(before, '-' | '=') => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        before = c;
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::{Function, functions};

    fn one(code: &str) -> Function {
        let mut all = functions(code);
        assert_eq!(all.len(), 1, "{code}");
        all.remove(0)
    }

    #[test]
    fn lines_and_parameters() {
        let cases = [
            ("fn a() {}", 1, 0, 0),
            ("pub(crate) fn a(&self, x: u8) -> [u8; 4] {\n}\n", 2, 1, 0),
            ("fn a(&mut self);", 0, 0, 0),
            ("fn a<F: Fn(u8, u8) -> bool>(f: F, m: Map<A, B>) where F: X {\n{\n}\n}", 4, 2, 0),
            ("fn a(\n  self: Arc<Self>,\n  b: bool,\n  c: bool,\n) {\n}", 6, 2, 2),
            ("fn a(f: impl Fn(A, B) -> C, (x, y): (u8, u8)) {}", 1, 2, 0),
            ("fn a<'a>(&'a self, b: &'a bool) {}", 1, 1, 0),
        ];
        for (code, lines, parameters, bools) in cases {
            let f = one(code);
            assert_eq!((f.lines, f.parameters, f.bools), (lines, parameters, bools), "{code}");
        }
    }

    #[test]
    fn nested_functions_and_pointer_types() {
        let all = functions("fn a(f: fn(u8) -> u8) {\n  fn b() {}\n}\nlet fnord = 1;");
        let names: Vec<_> = all.iter().map(|f| (f.name.as_str(), f.line, f.lines)).collect();
        assert_eq!(names, [("a", 1, 3), ("b", 2, 1)]);
    }
}
