//! Command arguments: paths, parameters, xtext (RFC 5321 §4.1.2, RFC 3461 §4).

use directory::Mailbox;

#[cfg(test)]
mod tests;

/// Why a path was not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathError {
    /// It does not follow the grammar.
    Syntax,
    /// It holds bytes that are not UTF-8.
    NotText,
}

/// A mailbox as it was written, and as it is looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Local part and domain as written, quotes kept: what goes into Return-Path.
    pub text: String,
    /// What the directory is asked for; the domain is empty in `<postmaster>`.
    pub mailbox: Mailbox,
}

impl Address {
    /// Whether SMTPUTF8 has to be said for it (RFC 6531 §3.3).
    pub fn is_utf8(&self) -> bool {
        !self.text.is_ascii()
    }
}

/// One `KEY=VALUE` or `KEY` behind a path; the key is in upper case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// The keyword in upper case.
    pub key: String,
    /// What stands behind `=`.
    pub value: Option<&'a str>,
}

/// Splits a command line into its verb in upper case and the rest behind one space.
pub fn split_verb(line: &[u8]) -> (String, &[u8]) {
    let end = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
    let verb = String::from_utf8_lossy(&line[..end]).to_ascii_uppercase();
    (verb, line.get(end + 1..).unwrap_or_default())
}

/// Parses `FROM:<path> parameters`; `keyword` is `FROM:` or `TO:`, in any case. Spaces behind the
/// colon are tolerated since some clients write them. `None` as address is the null path `<>`.
///
/// # Errors
/// [`PathError`] when the path is wrong or anything but ` parameter` follows it.
pub fn parse_path<'a>(
    arguments: &'a [u8],
    keyword: &str,
) -> Result<(Option<Address>, Vec<Parameter<'a>>), PathError> {
    let text = std::str::from_utf8(arguments).map_err(|_| PathError::NotText)?;
    let head = text.get(..keyword.len()).ok_or(PathError::Syntax)?;
    if !head.eq_ignore_ascii_case(keyword) {
        return Err(PathError::Syntax);
    }
    let path = text[keyword.len()..].trim_start_matches(' ');
    let inner = path.strip_prefix('<').ok_or(PathError::Syntax)?;
    let end = closing_bracket(inner).ok_or(PathError::Syntax)?;
    let (written, rest) = (skip_route(&inner[..end])?, &inner[end + 1..]);
    let address = if written.is_empty() { None } else { Some(parse_address(written)?) };
    if !(rest.is_empty() || rest.starts_with(' ')) {
        return Err(PathError::Syntax);
    }
    Ok((address, parse_parameters(rest)?))
}

/// Where the `>` stands that is not within quotes.
fn closing_bracket(text: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'>' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

/// A source route is accepted and ignored (RFC 5321 Appendix C).
fn skip_route(path: &str) -> Result<&str, PathError> {
    if !path.starts_with('@') {
        return Ok(path);
    }
    let (route, mailbox) = path.split_once(':').ok_or(PathError::Syntax)?;
    let hops_are_good = route.split(',').all(|hop| hop.strip_prefix('@').is_some_and(is_domain));
    if hops_are_good && !mailbox.is_empty() { Ok(mailbox) } else { Err(PathError::Syntax) }
}

fn parse_address(text: &str) -> Result<Address, PathError> {
    let mut mailbox = Mailbox::parse(text).map_err(|_| PathError::Syntax)?;
    if mailbox.domain.ends_with('.') {
        mailbox.domain.pop();
    }
    Ok(Address { text: text.to_owned(), mailbox })
}

/// Whether the text is a host name as it may stand in a source route.
fn is_domain(text: &str) -> bool {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !text.is_empty() && text.bytes().all(is_good)
}

fn parse_parameters(rest: &str) -> Result<Vec<Parameter<'_>>, PathError> {
    rest.split(' ').filter(|word| !word.is_empty()).map(parse_parameter).collect()
}

fn parse_parameter(word: &str) -> Result<Parameter<'_>, PathError> {
    let (key, value) = match word.split_once('=') {
        Some((key, value)) => (key, Some(value)),
        None => (word, None),
    };
    let key_is_good = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && key.starts_with(|first: char| first.is_ascii_alphanumeric());
    let value_is_good = value
        .is_none_or(|value| !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_graphic()));
    if key_is_good && value_is_good {
        Ok(Parameter { key: key.to_ascii_uppercase(), value })
    } else {
        Err(PathError::Syntax)
    }
}

/// Whether a parameter stands there twice.
pub fn is_repeated(parameters: &[Parameter<'_>]) -> bool {
    let before = |at: usize| parameters[..at].iter().any(|one| one.key == parameters[at].key);
    (1..parameters.len()).any(before)
}

/// Decodes xtext (RFC 3461 §4): `+` and two upper-case hex digits stand for an octet.
/// `None` when it is not xtext or the octets are not printable ASCII.
pub fn decode_xtext(text: &str) -> Option<String> {
    let hex = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    };
    let (mut bytes, mut plain) = (text.bytes(), String::with_capacity(text.len()));
    while let Some(byte) = bytes.next() {
        let octet = match byte {
            b'+' => hex(bytes.next()?)? << 4 | hex(bytes.next()?)?,
            b'=' => return None,
            other => other,
        };
        if !(b' '..=b'~').contains(&octet) {
            return None;
        }
        plain.push(char::from(octet));
    }
    Some(plain)
}

/// Encodes as xtext (RFC 3461 §4). What is not ASCII cannot be and becomes `?`.
pub fn encode_xtext(text: &str) -> String {
    let mut coded = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '+' | '=' => coded.push_str(if character == '+' { "+2B" } else { "+3D" }),
            '!'..='~' => coded.push(character),
            '\0'..='\x7f' => coded.push_str(&format!("+{:02X}", u32::from(character))),
            _ => coded.push('?'),
        }
    }
    coded
}
