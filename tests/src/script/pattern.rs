//! Comparing what was said with what a script expects: variables, lists, directives.

use super::value::Value;
use std::collections::HashMap;

/// Longest name of a variable.
const NAME_MAX: usize = 64;

/// What the variables stand for, and where the messages of the beginning are by now.
#[derive(Debug, Default)]
pub(super) struct Variables {
    known: HashMap<String, String>,
    /// Those that the comparison under way has taken from the answer.
    fresh: Vec<String>,
    /// The number each message of the beginning has now; 0: it is gone.
    numbers: Vec<u32>,
    /// The index and value of the last `$modseqN`.
    modseq: (u64, u64),
}

impl Variables {
    /// Gives a variable its value.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.known.insert(name.to_owned(), value.to_owned());
    }

    /// Begins a command at `exists` messages: `$1` is message 1 now.
    pub(super) fn number(&mut self, exists: u32) {
        self.numbers = (1..=exists).collect();
    }

    /// Message `gone` was expunged.
    pub(super) fn expunged(&mut self, gone: u32) {
        for number in &mut self.numbers {
            match (*number).cmp(&gone) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => *number = 0,
                std::cmp::Ordering::Greater => *number -= 1,
            }
        }
    }

    /// A command with its variables replaced.
    pub(super) fn expand(&self, text: &str) -> Result<String, String> {
        let mut expanded = String::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('$') {
            expanded.push_str(before);
            if let Some(behind) = behind.strip_prefix('$') {
                expanded.push('$');
                rest = behind;
                continue;
            }
            let (name, behind) = split_name(behind);
            let value = self.value(name).ok_or_else(|| format!("${name} has no value"))?;
            expanded.push_str(&value);
            rest = behind;
        }
        expanded.push_str(rest);
        Ok(expanded)
    }

    fn value(&self, name: &str) -> Option<String> {
        if let Ok(index) = name.parse::<usize>() {
            let number = self.numbers.get(index.checked_sub(1)?)?;
            return (*number > 0).then(|| number.to_string());
        }
        self.known.get(name).cloned()
    }

    /// Whether the values said fit those expected; `open`: more may follow, and the last string may
    /// go on. Variables without a value take theirs from a fitting answer.
    pub(super) fn fits(&mut self, wanted: &[Value], said: &[Value], open: bool) -> bool {
        self.fresh.clear();
        let fits = self.all_fit(wanted, said, open);
        if !fits {
            for name in std::mem::take(&mut self.fresh) {
                self.known.remove(&name);
            }
        }
        fits
    }

    fn all_fit(&mut self, wanted: &[Value], said: &[Value], open: bool) -> bool {
        let mut said = said.iter();
        for (index, expected) in wanted.iter().enumerate() {
            if expected.string() == Some("$]") {
                // everything up to the bracket
                if !said.any(|value| value.string().is_some_and(|text| text.contains(']'))) {
                    return false;
                }
                continue;
            }
            let Some(value) = said.next() else { return false };
            let last = open && index + 1 == wanted.len();
            if !self.one_fits(expected, value, last) {
                return false;
            }
        }
        open || said.next().is_none()
    }

    fn one_fits(&mut self, expected: &Value, value: &Value, open: bool) -> bool {
        match (expected, value) {
            (Value::Nil, _) => *value == Value::Nil,
            (Value::List(wanted), Value::List(said)) => self.list_fits(wanted, said),
            (Value::List(_), _) => false,
            (_, Value::List(_)) => expected.string() == Some("$"),
            (_, Value::Nil) => expected.string() == Some("NIL"),
            _ => {
                let (wanted, said) = (expected.string(), value.string());
                self.string_fits(wanted.unwrap_or(""), said.unwrap_or(""), open)
            }
        }
    }

    fn list_fits(&mut self, wanted: &[Value], said: &[Value]) -> bool {
        let (how, wanted) = Directives::split(wanted);
        if !how.unordered {
            return self.all_fit(wanted, said, false);
        }
        let chains: Vec<&[Value]> = said.chunks(how.chain).collect();
        if !said.len().is_multiple_of(how.chain) {
            return false;
        }
        let mut matched = vec![false; chains.len()];
        for expected in wanted.chunks(how.chain) {
            let found = chains.iter().position(|chain| self.all_fit(expected, chain, false));
            match found {
                Some(index) => matched[index] = true,
                None => return false,
            }
        }
        let more = chains.iter().zip(&matched).filter(|(_, matched)| !**matched);
        let more: Vec<&str> = more.filter_map(|(chain, _)| chain[0].string()).collect();
        let listed = |list: &[&str], word: &str| list.iter().any(|w| w.eq_ignore_ascii_case(word));
        match how.extra {
            true => more.iter().all(|word| !listed(&how.banned, word)),
            false => more.iter().all(|word| listed(&how.ignored, word)),
        }
    }

    /// Compares without regard to case, but for `${case:TEXT}` and values of variables.
    fn string_fits(&mut self, wanted: &str, said: &str, open: bool) -> bool {
        let (mut wanted, mut said) = (wanted, said);
        loop {
            let Some(c) = wanted.chars().next() else { return open || said.is_empty() };
            let behind = &wanted[c.len_utf8()..];
            if c != '$' || behind.starts_with('$') {
                let Some(got) = said.chars().next() else { return false };
                if !c.eq_ignore_ascii_case(&got) {
                    return false;
                }
                said = &said[got.len_utf8()..];
                wanted = if c == '$' { &behind[1..] } else { behind };
                continue;
            }
            let (name, behind) = split_name(behind);
            wanted = behind;
            if let Some(exact) = name.strip_prefix("case:") {
                let Some(rest) = said.strip_prefix(exact) else { return false };
                said = rest;
            } else if let Some(value) = self.value(name).filter(|_| !name.is_empty()) {
                let Some(rest) = said.strip_prefix(value.as_str()) else { return false };
                said = rest;
            } else if name.parse::<u32>().is_ok() {
                return false; // a message that is gone
            } else {
                let end = end_of_value(wanted, said);
                if !self.learn(name, &said[..end]) {
                    return false;
                }
                said = &said[end..];
            }
        }
    }

    fn learn(&mut self, name: &str, value: &str) -> bool {
        if name.is_empty() {
            return true;
        }
        if let Some(index) = name.strip_prefix("modseq").and_then(|n| n.parse::<u64>().ok()) {
            let Ok(found) = value.parse::<u64>() else { return false };
            let (before, seen) = self.modseq;
            if index < before || found < seen + (index - before) {
                return false;
            }
            self.modseq = (index, found);
        }
        self.set(name, value);
        self.fresh.push(name.to_owned());
        true
    }
}

/// How far an unknown variable reaches: to the character that the pattern has behind it.
fn end_of_value(wanted: &str, said: &str) -> usize {
    match wanted.chars().next() {
        None => said.len(),
        Some(next) => said.find(|c: char| c.eq_ignore_ascii_case(&next)).unwrap_or(said.len()),
    }
}

/// The name behind a `$`, with or without braces, and what comes after it.
fn split_name(text: &str) -> (&str, &str) {
    if let Some((name, rest)) = text.strip_prefix('{').and_then(|t| t.split_once('}')) {
        return (name, rest);
    }
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    text.split_at(end.min(NAME_MAX))
}

/// What `$!…` at the beginning of a list asks for.
#[derive(Debug)]
struct Directives<'a> {
    unordered: bool,
    /// Members that belong together.
    chain: usize,
    /// More members than expected may be there.
    extra: bool,
    ignored: Vec<&'a str>,
    banned: Vec<&'a str>,
}

impl<'a> Directives<'a> {
    fn split(list: &'a [Value]) -> (Directives<'a>, &'a [Value]) {
        let mut how = Directives {
            unordered: false,
            chain: 1,
            extra: false,
            ignored: Vec::new(),
            banned: Vec::new(),
        };
        let mut told = None;
        let mut rest = list;
        while let [first, behind @ ..] = rest {
            let Some(word) = first.atom().and_then(|word| word.strip_prefix("$!")) else { break };
            match word.split_once('=') {
                Some(("unordered", chain)) => {
                    how.unordered = true;
                    how.chain = chain.parse().unwrap_or(1).max(1);
                }
                Some(("ignore", word)) => how.ignored.push(word),
                Some(("ban", word)) => how.banned.push(word),
                _ if word == "unordered" => how.unordered = true,
                _ if word == "ordered" => how.unordered = false,
                _ if word == "extra" => told = Some(true),
                _ if word == "noextra" => told = Some(false),
                _ => panic!("what is $!{word}?"),
            }
            rest = behind;
        }
        how.extra = told.unwrap_or(how.unordered);
        (how, rest)
    }
}

/// Adds what holds for the lists of well-known answers when the script says nothing.
pub(super) fn add_defaults(wanted: &mut [Value]) {
    let numbered = wanted
        .first()
        .and_then(Value::atom)
        .is_some_and(|word| word.starts_with(|c: char| c == '$' || c.is_ascii_digit()));
    let name = wanted.get(usize::from(numbered)).and_then(Value::atom).unwrap_or("");
    match name.to_ascii_lowercase().as_str() {
        "list" | "lsub" => direct(wanted.get_mut(1), &["$!unordered"]),
        "status" => direct(wanted.get_mut(2), &["$!unordered=2"]),
        "fetch" => {
            if let Some(Value::List(members)) = wanted.get_mut(2) {
                let flags = |value: &Value| {
                    value.atom().is_some_and(|word| word.eq_ignore_ascii_case("flags"))
                };
                if let Some(at) = members.iter().position(flags) {
                    let how = ["$!unordered", "$!noextra", "$!ignore=\\recent"];
                    direct(members.get_mut(at + 1), &how);
                }
            }
            direct(wanted.get_mut(2), &["$!unordered=2"]);
        }
        _ => {}
    }
}

fn direct(list: Option<&mut Value>, directives: &[&str]) {
    let Some(Value::List(members)) = list else { return };
    let told = members.first().and_then(Value::atom).is_some_and(|word| word.starts_with("$!"));
    if !told {
        let words = directives.iter().map(|word| Value::Atom((*word).to_owned()));
        members.splice(0..0, words);
    }
}

#[cfg(test)]
mod tests {
    use super::super::value::values;
    use super::{Variables, add_defaults};
    use crate::talk::Line;

    fn fits(variables: &mut Variables, wanted: &str, said: &str) -> bool {
        let read = |text: &str| values(&Line { text: text.to_owned(), literals: Vec::new() });
        let mut wanted = read(wanted);
        add_defaults(&mut wanted);
        let open = said.to_ascii_lowercase().starts_with("ok");
        variables.fits(&wanted, &read(said), open)
    }

    #[test]
    fn fitting_and_not() {
        let cases = [
            ("2 exists", "2 EXISTS", true),
            ("2 exists", "3 EXISTS", false),
            ("search", "SEARCH", true),
            ("search", "SEARCH 1", false),
            ("1 fetch (uid 3 flags (\\seen))", "1 FETCH (FLAGS (\\Recent \\Seen) UID 3)", true),
            ("1 fetch (flags (\\seen))", "1 FETCH (FLAGS (\\Seen \\Draft))", false),
            ("1 fetch (flags ())", "1 FETCH (FLAGS ($x))", false),
            ("1 fetch (flags ($$x))", "1 FETCH (FLAGS ($x))", true),
            ("1 fetch (flags ($!extra))", "1 FETCH (FLAGS ())", true),
            ("1 fetch (flags $)", "1 FETCH (UID 4 FLAGS (\\Seen))", true),
            ("list () $ a", "LIST (\\HasNoChildren) \"/\" A", true),
            ("list ($!unordered $!ban=\\x) $ a", "LIST (\\x) \"/\" A", false),
            ("status a (messages 1)", "STATUS a (UNSEEN 3 MESSAGES 1)", true),
            ("status a (messages 1)", "STATUS a (UNSEEN 1 MESSAGES 2)", false),
            ("ok [unseen 1]", "OK [UNSEEN 1] here", true),
            ("ok [capability $]", "OK [CAPABILITY A B] here", true),
            ("thread (1)(2 3)", "THREAD (1)(2 3)", true),
            ("x ${case:Ab}", "x Ab", true),
            ("x ${case:Ab}", "x AB", false),
            ("x NIL", "x nil", true),
            ("x NIL", "x \"nil\"", false),
        ];
        for (wanted, said, answer) in cases {
            let mut variables = Variables::default();
            assert_eq!(fits(&mut variables, wanted, said), answer, "{wanted} / {said}");
        }
    }

    #[test]
    fn variables_are_learned_once_and_forgotten_after_a_miss() {
        let mut variables = Variables::default();
        assert!(!fits(&mut variables, "a $x b", "a 5 c"));
        assert!(fits(&mut variables, "ok [copyuid $v $x $y]", "OK [COPYUID 9 5 7] Moved"));
        assert!(!fits(&mut variables, "a $x", "a 6"));
        assert!(fits(&mut variables, "a $x,$y", "a 5,7"));
        assert_eq!(variables.expand("f $x:${y}z $$k").unwrap(), "f 5:7z $k");
        assert!(variables.expand("$unknown").is_err());
        assert!(fits(&mut variables, "m $modseq2", "m 10"));
        assert!(!fits(&mut variables, "m $modseq5", "m 12"));
        assert!(fits(&mut variables, "m $modseq5", "m 13"));
    }

    #[test]
    fn numbers_follow_the_messages() {
        let mut variables = Variables::default();
        variables.number(4);
        assert!(fits(&mut variables, "$3 expunge", "3 EXPUNGE"));
        variables.expunged(1);
        assert!(fits(&mut variables, "$3 expunge", "2 EXPUNGE"));
        variables.expunged(2);
        assert!(!fits(&mut variables, "$3 expunge", "2 EXPUNGE"));
        assert!(fits(&mut variables, "$4 fetch (uid 1)", "2 FETCH (UID 1)"));
    }
}
