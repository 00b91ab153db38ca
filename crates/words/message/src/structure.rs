//! The values that one parse of a message gives: parts, envelope, limits, defects.

use std::ops::Range;

/// Bounds for hostile input. What lies beyond a bound is still part of the message, it is just
/// not taken apart any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Deepest level of parts inside parts; a part at this depth is a leaf.
    pub depth: usize,
    /// Number of parts in all; content behind the last one belongs to its multipart.
    pub parts: usize,
    /// Parameters read from one header field.
    pub parameters: usize,
    /// Addresses read from the whole message.
    pub addresses: usize,
    /// Bytes of one header section whose fields are read; later fields are passed over.
    pub header_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 100,
            parts: 10_000,
            parameters: 1_000,
            addresses: 100_000,
            header_bytes: 1 << 20,
        }
    }
}

/// What a message did not do as the standards ask: a set of flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Defects(pub u32);

impl Defects {
    /// A multipart has no usable boundary or no delimiter line.
    pub const NO_PARTS: Self = Self(1);
    /// A multipart was not closed by its own closing delimiter.
    pub const NOT_CLOSED: Self = Self(2);
    /// A limit of [`Limits`] was met.
    pub const LIMIT: Self = Self(4);
    /// A `Content-Type` could not be read and counts as absent (RFC 2045 §5.2).
    pub const CONTENT_TYPE: Self = Self(8);
    /// A header section holds a line that is no field.
    pub const HEADER_LINE: Self = Self(16);
    /// A composite part has a transfer encoding, which RFC 2045 §6.4 forbids.
    pub const ENCODED_COMPOSITE: Self = Self(32);
    /// A header holds bytes above 127.
    pub const EIGHT_BIT_HEADER: Self = Self(64);
    /// The message holds NUL bytes in a header.
    pub const NUL_HEADER: Self = Self(128);

    /// Whether all flags of `other` are set.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Adds the flags of `other`.
    pub fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether no flag is set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// How a part is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// A body without parts.
    #[default]
    Leaf,
    /// `multipart/*`: always has at least one child. A multipart in which no part can be found
    /// has one `text/plain` child without header that covers its whole body.
    Multipart,
    /// `message/rfc822` or `message/global`: exactly one child, the enclosed message itself,
    /// whose header begins where the body of this part begins.
    Message,
}

/// One entity of the message (RFC 2045 §2.4). Offsets are into the bytes of the whole message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Part {
    /// Index of the enclosing part; `None` for the message itself.
    pub parent: Option<u32>,
    /// Indexes of the parts inside, in order.
    pub children: Vec<u32>,
    /// The header section with the blank line that ends it (when there is one).
    pub header: Range<u64>,
    /// The body, without the line end that belongs to a following delimiter (RFC 2046 §5.1.1).
    pub body: Range<u64>,
    /// Text lines of the body; a last line without line end counts.
    pub lines: u32,
    /// How the part is built. Agrees with the media type: a `multipart/*` or `message/rfc822` that
    /// cannot be opened (too deep, encoded) is told as `application/octet-stream`.
    pub kind: Kind,
    /// Media type in lower case, never empty.
    pub media_type: String,
    /// Media subtype in lower case, never empty.
    pub subtype: String,
    /// Parameters of `Content-Type`: names in lower case, values decoded by RFC 2231.
    pub params: Vec<(String, String)>,
    /// `Content-ID` as it stands.
    pub content_id: Option<Vec<u8>>,
    /// `Content-Description`, unfolded, as it stands.
    pub description: Option<Vec<u8>>,
    /// `Content-Transfer-Encoding` in upper case, `7BIT` when absent.
    pub encoding: String,
    /// `Content-MD5` as it stands.
    pub md5: Option<Vec<u8>>,
    /// `Content-Disposition`: token in lower case and parameters like [`Part::params`].
    pub disposition: Option<(String, Vec<(String, String)>)>,
    /// Tags of `Content-Language` (RFC 3282).
    pub languages: Vec<String>,
    /// `Content-Location`.
    pub location: Option<String>,
    /// For [`Kind::Message`] the envelope of the enclosed message.
    pub envelope: Option<Box<Envelope>>,
}

/// One mailbox or group marker, as IMAP tells it (RFC 9051 §7.5.2). Group start: only `mailbox`
/// (the group's name) is set; group end: nothing is. In all other addresses mailbox and host are
/// set, though perhaps empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Address {
    /// Display name: quotes and escapes removed, encoded words as they stand.
    pub name: Option<Vec<u8>>,
    /// Source route of RFC 822 (`@a,@b`).
    pub route: Option<Vec<u8>>,
    /// Local part, with quotes removed; or the name of the group that begins here.
    pub mailbox: Option<Vec<u8>>,
    /// Domain; `None` only in group markers.
    pub host: Option<Vec<u8>>,
}

/// The envelope of a message (RFC 9051 §7.5.2). `None` means that the field is absent. Values are
/// unfolded and otherwise as received: encoded words stand, bytes above 127 may occur (see
/// [`crate::encode_words`] for showing them to a client that reads only ASCII).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Envelope {
    /// `Date` as it stands.
    pub date: Option<Vec<u8>>,
    /// `Subject` as it stands.
    pub subject: Option<Vec<u8>>,
    /// `From`.
    pub from: Vec<Address>,
    /// `Sender`, or `From` when absent or empty.
    pub sender: Vec<Address>,
    /// `Reply-To`, or `From` when absent or empty.
    pub reply_to: Vec<Address>,
    /// `To`.
    pub to: Vec<Address>,
    /// `Cc`.
    pub cc: Vec<Address>,
    /// `Bcc`.
    pub bcc: Vec<Address>,
    /// `In-Reply-To` as it stands.
    pub in_reply_to: Option<Vec<u8>>,
    /// `Message-ID` as it stands.
    pub message_id: Option<Vec<u8>>,
    /// Message ids of `References`, with their angle brackets.
    pub references: Vec<String>,
    /// The time of `Date` in seconds since 1970-01-01T00:00:00Z, when it can be read.
    pub sent: Option<i64>,
}

/// A message taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parsed {
    /// All parts in pre-order; the first is the message itself, so there is always one.
    pub parts: Vec<Part>,
    /// The envelope of the message.
    pub envelope: Envelope,
    /// The first words of the text, at most [`crate::PREVIEW_CHARS_MAX`] characters.
    pub preview: String,
    /// What the message did not do as the standards ask.
    pub defects: Defects,
}

impl Part {
    /// A parameter of `Content-Type` by its lower-case name.
    pub fn param(&self, name: &str) -> Option<&str> {
        find(&self.params, name)
    }

    /// The charset of a text part; `us-ascii` when not told.
    pub fn charset(&self) -> &str {
        self.param("charset").unwrap_or("us-ascii")
    }

    /// The name under which the part wants to be saved: `filename` of the disposition, else `name`
    /// of the type; encoded words decoded, since many senders use them here.
    pub fn file_name(&self) -> Option<String> {
        let of_disposition = self.disposition.as_ref().and_then(|d| find(&d.1, "filename"));
        let name = of_disposition.or_else(|| self.param("name"))?;
        Some(crate::decode_words(name.as_bytes()))
    }

    /// Whether media type and subtype are these (lower case).
    pub fn is(&self, media_type: &str, subtype: &str) -> bool {
        self.media_type == media_type && self.subtype == subtype
    }

    /// Whether the disposition says attachment.
    pub fn is_attachment(&self) -> bool {
        self.disposition.as_ref().is_some_and(|d| d.0 == "attachment")
    }
}

fn find<'a>(params: &'a [(String, String)], name: &str) -> Option<&'a str> {
    params.iter().find(|p| p.0 == name).map(|p| p.1.as_str())
}

impl Parsed {
    /// The part that an IMAP section number names (RFC 9051 §6.4.5.1), as index into `parts`;
    /// the empty path is the message itself. For a [`Kind::Message`] the answer is that part,
    /// and `HEADER` or `TEXT` of it are `header` and `body` of its only child.
    pub fn section(&self, path: &[u32]) -> Option<u32> {
        let mut at = 0u32;
        let mut whole_message = true;
        for &number in path {
            let mut part = self.parts.get(at as usize)?;
            if part.kind == Kind::Message && !whole_message {
                at = *part.children.first()?;
                part = self.parts.get(at as usize)?;
                whole_message = true;
            }
            at = match part.kind {
                Kind::Multipart => *part.children.get((number as usize).checked_sub(1)?)?,
                _ if number == 1 && whole_message => at,
                _ => return None,
            };
            whole_message = false;
        }
        Some(at)
    }
}
