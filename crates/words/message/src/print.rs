//! MIME parameters in printable ASCII (RFC 2231).

use std::borrow::Cow;
use std::fmt::Write as _;

/// A parameter for readers of ASCII: as it is when printable, else in the extended form `name*`
/// with value `UTF-8''…`. Quotes and backslashes are left to the grammar of the asker.
pub fn encode_param<'a>(name: &'a str, value: &'a str) -> (Cow<'a, str>, Cow<'a, str>) {
    if value.bytes().all(|b| (b' '..=b'~').contains(&b)) {
        return (Cow::Borrowed(name), Cow::Borrowed(value));
    }
    let mut encoded = String::with_capacity(value.len() * 3);
    encoded.push_str("UTF-8''");
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"!#$&+-.^_`{|}~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    (Cow::Owned(format!("{name}*")), Cow::Owned(encoded))
}

#[cfg(test)]
mod tests;
