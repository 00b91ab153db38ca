//! The rules for one file: its name, its size, and words that must not stand in it.

use super::budget::Excess;
use super::functions::{find_word, functions};
use super::source::Source;

const COLUMNS_MAX: usize = 100;
const FILE_LINES_MAX: usize = 500;
const ENGINE_FILE_LINES_MAX: usize = 800;
const FUNCTION_LINES_MAX: usize = 70;
const PARAMETERS_MAX: usize = 5;
const BOOLS_MAX: usize = 1;

/// Words that say nothing about what a file is for.
const EMPTY_WORDS: [&str; 10] =
    ["util", "utils", "common", "helper", "helpers", "misc", "manager", "handler", "base", "impl"];

/// Macros that mark unfinished or forgotten work.
const UNFINISHED: [&str; 3] = ["todo", "unimplemented", "dbg"];

/// What reaches outside and therefore has no place on the ground floor.
const IMPURE: [&str; 8] = [
    "std::fs",
    "std::net",
    "std::thread",
    "std::env",
    "std::process",
    "SystemTime::now",
    "Instant::now",
    "async fn",
];

/// Complaints about the path itself.
pub fn check_path(path: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if path.ends_with("/mod.rs") {
        complaints.push(format!("{path}: name the file after its module instead of mod.rs"));
    }
    let words = path.split(['/', '_', '-', '.']);
    for word in words.filter(|w| EMPTY_WORDS.contains(&w.to_ascii_lowercase().as_str())) {
        complaints.push(format!("{path}: \"{word}\" says nothing about what is in it"));
    }
    complaints
}

/// Complaints about the text of a Rust file, apart from sizes.
pub fn check_text(path: &str, text: &str, source: &Source) -> Vec<String> {
    let mut complaints = Vec::new();
    let is_tests = path.ends_with("tests.rs") || path.contains("/tests/");
    if !is_tests && !has_module_docs(text) {
        complaints.push(format!("{path}:1: the module has no //! line that says what it is for"));
    }
    for word in UNFINISHED {
        for line in lines_with(&source.code, word, "!") {
            complaints.push(format!("{path}:{line}: {word}! is left over"));
        }
    }
    for line in lines_with(&source.code, "ignore", "").into_iter().filter(|line| {
        let code = source.code.lines().nth(line - 1).unwrap_or("").trim_start();
        code.starts_with("#[ignore") || code.starts_with("#[cfg_attr") && code.contains("ignore")
    }) {
        complaints.push(format!("{path}:{line}: an ignored test tests nothing"));
    }
    for line in lines_with(&source.code, "unsafe", "") {
        if !justified(source, line) {
            complaints.push(format!("{path}:{line}: unsafe without a SAFETY comment above it"));
        }
    }
    if path.starts_with("crates/words/") && !is_tests {
        complaints.extend(check_purity(path, &source.code));
    }
    complaints
}

/// What is larger in this file than the limits allow.
pub fn measure(path: &str, text: &str, source: &Source) -> Vec<Excess> {
    let mut excesses = Vec::new();
    let mut note = |what: String, size: usize, limit: usize, line: usize| {
        if size > limit {
            excesses.push(Excess { path: path.to_owned(), what, size, limit, line });
        }
    };
    let engine = path.starts_with("crates/engine/");
    let file_max = if engine { ENGINE_FILE_LINES_MAX } else { FILE_LINES_MAX };
    note("file".into(), text.lines().count(), file_max, 1);
    let widths = text.lines().enumerate().map(|(i, l)| (l.chars().count(), i + 1));
    if let Some((width, line)) = widths.max_by_key(|(width, _)| *width) {
        note("columns".into(), width, COLUMNS_MAX, line);
    }
    for f in functions(&source.code) {
        note(format!("function {}", f.name), f.lines, FUNCTION_LINES_MAX, f.line);
        note(format!("parameters {}", f.name), f.parameters, PARAMETERS_MAX, f.line);
        note(format!("bools {}", f.name), f.bools, BOOLS_MAX, f.line);
    }
    excesses
}

fn has_module_docs(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|l| !l.is_empty() && !l.starts_with("#!["));
    first.is_some_and(|l| l.starts_with("//!") && l.len() > 3)
}

/// The lines on which `word` stands as code, directly followed by `suffix`.
fn lines_with(code: &str, word: &str, suffix: &str) -> Vec<usize> {
    let mut lines = Vec::new();
    let mut from = 0;
    while let Some(at) = find_word(code, word, from) {
        from = at + word.len();
        if code[from..].starts_with(suffix) {
            lines.push(1 + code[..at].matches('\n').count());
        }
    }
    lines
}

/// Whether the comments on this line or right above it say why the unsafe code is sound.
fn justified(source: &Source, line: usize) -> bool {
    let comment = |line: usize| source.comments.get(line - 1).map_or("", String::as_str);
    let code = source.code.lines().nth(line - 1).unwrap_or("");
    // attributes such as allow(unsafe_code) are no unsafe code; the word must stand alone
    if comment(line).contains("SAFETY") || code.trim_start().starts_with("#[") {
        return true;
    }
    let mut above = line;
    while above > 1 {
        above -= 1;
        if comment(above).contains("SAFETY") || comment(above).contains("# Safety") {
            return true;
        }
        let code = source.code.lines().nth(above - 1).unwrap_or("").trim();
        let goes_on = code.is_empty() && !comment(above).is_empty();
        if !goes_on && !code.starts_with("#[") {
            return false;
        }
    }
    false
}

fn check_purity(path: &str, code: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let tests_from = code.find("#[cfg(test)]").unwrap_or(code.len());
    for word in IMPURE {
        if let Some(at) = find_word(&code[..tests_from], word, 0) {
            let line = 1 + code[..at].matches('\n').count();
            complaints.push(format!("{path}:{line}: {word} on the floor of pure values"));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::{check_path, check_text, measure};
    use crate::tidy::source::Source;

    fn complaints(path: &str, text: &str) -> Vec<String> {
        check_text(path, text, &Source::split(text))
    }

    #[test]
    fn names() {
        assert!(check_path("crates/doors/smtp/src/reply.rs").is_empty());
        assert!(check_path("crates/doors/imap/src/database.rs").is_empty(), "only whole words");
        for path in ["crates/x/src/utils.rs", "a/mod.rs", "a/session_manager.rs", "a/base/b.rs"] {
            assert_eq!(check_path(path).len(), 1, "{path}");
        }
    }

    #[test]
    fn words_in_the_text() {
        let cases = [
            ("//! Docs.\nfn a() {}", 0),
            ("#![forbid(unsafe_code)]\n//! Docs.\n", 0),
            ("fn a() {}", 1),
            ("//! D.\nfn a() { todo!() }", 1),
            ("//! D.\n// todo!()\nconst A: &str = \"dbg!\";", 0),
            ("//! D.\nfn a() { unsafe { b() } }", 1),
            ("//! D.\n// SAFETY: b is fine.\nunsafe { b() }", 0),
            ("//! D.\n// SAFETY: long\n// story.\n#[allow(unsafe_code)]\nunsafe impl A {}", 0),
            ("//! D.\n// SAFETY: not here\nlet x = 1;\nunsafe { b() }", 1),
            ("//! D.\n#[test]\n#[ignore = \"slow\"]\nfn a() {}", 1),
        ];
        for (text, count) in cases {
            assert_eq!(complaints("crates/doors/a.rs", text).len(), count, "{text}");
        }
    }

    #[test]
    fn the_ground_floor_is_pure() {
        let text = "//! D.\nuse std::fs;\n";
        assert_eq!(complaints("crates/words/note/src/a.rs", text).len(), 1);
        assert_eq!(complaints("crates/engine/txlog/src/a.rs", text).len(), 0);
    }

    #[test]
    fn sizes() {
        let long = format!("fn a(b: bool, c: bool) {{\n{}}}\n", "x;\n".repeat(80));
        let whats: Vec<String> = measure("crates/doors/a.rs", &long, &Source::split(&long))
            .into_iter()
            .map(|e| format!("{} {}", e.what, e.size))
            .collect();
        assert_eq!(whats, ["function a 82", "bools a 2"]);
        let tall = "x;\n".repeat(600);
        let source = Source::split(&tall);
        assert_eq!(measure("crates/engine/a.rs", &tall, &source).len(), 0);
        assert_eq!(measure("crates/doors/a.rs", &tall, &source).len(), 1);
    }
}
