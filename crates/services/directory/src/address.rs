//! Internet addresses: `Mailbox` of RFC 5321 section 4.1.2 with the local part unquoted.

use std::fmt;

/// Longest local part in octets; RFC 5321 section 4.5.3.1.1 asks for 64, senders use more.
pub const LOCAL_BYTES_MAX: usize = 255;
/// Longest domain in octets (RFC 5321 section 4.5.3.1.2).
pub const DOMAIN_BYTES_MAX: usize = 255;

/// An address; `local` without quotes and escapes, both in the letter case given.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mailbox {
    /// Local part, unquoted: `"bob"` and `bob` are the same (RFC 5321 section 4.1.2).
    pub local: String,
    /// Domain or address literal; empty for `<postmaster>` alone (section 4.5.1).
    pub domain: String,
}

/// Why a text is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// No `@`.
    #[error("the address has no domain")]
    NoDomain,
    /// The local part is not a dot-string nor a quoted string.
    #[error("the part before the @ is malformed")]
    Local,
    /// The domain is not a domain name nor an address literal.
    #[error("the domain is malformed")]
    Domain,
    /// Longer than RFC 5321 section 4.5.3.1 allows.
    #[error("the address is too long")]
    TooLong,
}

impl Mailbox {
    /// Parses `local@domain` (no brackets, no source route), and `postmaster` alone.
    pub fn parse(text: &str) -> Result<Mailbox, AddressError> {
        let (local, rest) =
            if text.starts_with('"') { quoted_local(text)? } else { plain_local(text)? };
        if local.len() > LOCAL_BYTES_MAX {
            return Err(AddressError::TooLong);
        }
        let domain = match rest.strip_prefix('@') {
            Some(domain) => domain,
            None if rest.is_empty() && local.eq_ignore_ascii_case("postmaster") => "",
            None if rest.is_empty() => return Err(AddressError::NoDomain),
            None => return Err(AddressError::Local),
        };
        if rest.starts_with('@') {
            check_domain(domain)?;
        }
        Ok(Mailbox { local, domain: domain.to_string() })
    }

    /// The key under which an address is looked up: both parts in lower case.
    pub(crate) fn key(&self) -> String {
        let mut key = self.local.to_lowercase();
        key.push('@');
        let domain = self.domain.strip_suffix('.').unwrap_or(&self.domain);
        key.push_str(&domain.to_lowercase());
        key
    }
}

impl fmt::Display for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_dot_string(&self.local) {
            f.write_str(&self.local)?;
        } else {
            f.write_str("\"")?;
            for c in self.local.chars() {
                if c == '"' || c == '\\' {
                    f.write_str("\\")?;
                }
                write!(f, "{c}")?;
            }
            f.write_str("\"")?;
        }
        if self.domain.is_empty() { Ok(()) } else { write!(f, "@{}", self.domain) }
    }
}

/// `Quoted-string` (RFC 5321 section 4.1.2); gives the text without quotes, and the rest.
fn quoted_local(text: &str) -> Result<(String, &str), AddressError> {
    let mut local = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '"' if local.is_empty() => return Err(AddressError::Local),
            '"' => return Ok((local, &text[at + 1..])),
            '\\' => match chars.next() {
                Some((_, escaped)) if (' '..='~').contains(&escaped) => local.push(escaped),
                _ => return Err(AddressError::Local),
            },
            c if c.is_control() => return Err(AddressError::Local),
            c => local.push(c),
        }
    }
    Err(AddressError::Local)
}

fn plain_local(text: &str) -> Result<(String, &str), AddressError> {
    let end = text.find('@').unwrap_or(text.len());
    let (local, rest) = text.split_at(end);
    if is_dot_string(local) { Ok((local.to_string(), rest)) } else { Err(AddressError::Local) }
}

/// `Dot-string` with the UTF-8 of RFC 6531 section 3.3.
pub(crate) fn is_dot_string(local: &str) -> bool {
    !local.is_empty() && local.split('.').all(|atom| !atom.is_empty() && atom.chars().all(is_atext))
}

fn is_atext(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || "!#$%&'*+-/=?^_`{|}~".contains(c)
        || (!c.is_ascii() && !c.is_control())
}

fn check_domain(domain: &str) -> Result<(), AddressError> {
    if domain.len() > DOMAIN_BYTES_MAX {
        return Err(AddressError::TooLong);
    }
    if let Some(literal) = domain.strip_prefix('[') {
        let inner = literal.strip_suffix(']').ok_or(AddressError::Domain)?;
        let fine = !inner.is_empty()
            && inner.bytes().all(|b| b.is_ascii_graphic() && !b"[]\\".contains(&b));
        return if fine { Ok(()) } else { Err(AddressError::Domain) };
    }
    let name = domain.strip_suffix('.').unwrap_or(domain);
    if !name.is_empty() && name.split('.').all(is_label) {
        Ok(())
    } else {
        Err(AddressError::Domain)
    }
}

/// A label of letters, digits, inner hyphens; underscores and UTF-8 are met in the field.
fn is_label(label: &str) -> bool {
    let inner = |c: char| {
        c.is_ascii_alphanumeric() || c == '-' || c == '_' || (!c.is_ascii() && !c.is_control())
    };
    !label.is_empty()
        && label.len() <= 63
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label.chars().all(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_parse_and_print() {
        let cases = [
            ("bob@example.test", "bob", "example.test", "bob@example.test"),
            ("\"bob\"@example.test", "bob", "example.test", "bob@example.test"),
            ("\"two words\"@x.test", "two words", "x.test", "\"two words\"@x.test"),
            (r#""a\"b\\c"@x.test"#, r#"a"b\c"#, "x.test", r#""a\"b\\c"@x.test"#),
            ("\"a@b\"@x.test", "a@b", "x.test", "\"a@b\"@x.test"),
            ("a.b+c@x.test", "a.b+c", "x.test", "a.b+c@x.test"),
            ("ölaf@bücher.test", "ölaf", "bücher.test", "ölaf@bücher.test"),
            ("a@[127.0.0.1]", "a", "[127.0.0.1]", "a@[127.0.0.1]"),
            ("a@[IPv6:::1]", "a", "[IPv6:::1]", "a@[IPv6:::1]"),
            ("Postmaster", "Postmaster", "", "Postmaster"),
            ("a@my_host", "a", "my_host", "a@my_host"),
        ];
        for (text, local, domain, printed) in cases {
            let parsed = Mailbox::parse(text).unwrap();
            assert_eq!((parsed.local.as_str(), parsed.domain.as_str()), (local, domain), "{text}");
            assert_eq!(parsed.to_string(), printed);
            assert_eq!(Mailbox::parse(printed).unwrap(), parsed);
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let long = format!("{}@x.test", "a".repeat(LOCAL_BYTES_MAX + 1));
        let far = format!("a@{}", "a.".repeat(150));
        let cases = [
            ("", AddressError::Local),
            ("bob", AddressError::NoDomain),
            ("@x.test", AddressError::Local),
            ("bob@", AddressError::Domain),
            ("a..b@x.test", AddressError::Local),
            (".a@x.test", AddressError::Local),
            ("a b@x.test", AddressError::Local),
            ("\"\"@x.test", AddressError::Local),
            ("\"open@x.test", AddressError::Local),
            ("\"a\"b@x.test", AddressError::Local),
            ("a@b@c", AddressError::Domain),
            ("a@-x.test", AddressError::Domain),
            ("a@x..test", AddressError::Domain),
            ("a@x.test>", AddressError::Domain),
            ("a@[]", AddressError::Domain),
            ("a@[1.2.3.4", AddressError::Domain),
            ("a\r\n@x.test", AddressError::Local),
            ("\"a\r\n\"@x.test", AddressError::Local),
            (long.as_str(), AddressError::TooLong),
            (far.as_str(), AddressError::TooLong),
        ];
        for (text, error) in cases {
            assert_eq!(Mailbox::parse(text), Err(error), "{text:?}");
        }
    }
}
