//! An envelope read where it lies, without copying it.

use super::read::{Source, damaged};
use super::{SummaryError, address_bits, envelope_bits};

type Result<T> = std::result::Result<T, SummaryError>;

/// The envelope of a packed summary, not copied. Fields as in [`crate::Envelope`].
#[derive(Debug, Clone, Copy)]
pub struct EnvelopeView<'a> {
    /// `Date` as it stands.
    pub date: Option<&'a [u8]>,
    /// `Subject` as it stands.
    pub subject: Option<&'a [u8]>,
    /// `In-Reply-To` as it stands.
    pub in_reply_to: Option<&'a [u8]>,
    /// `Message-ID` as it stands.
    pub message_id: Option<&'a [u8]>,
    /// The time of `Date` in seconds since 1970, when it can be read.
    pub sent: Option<i64>,
    /// `From`.
    pub from: AddressesView<'a>,
    /// `Sender`, or `From` when absent.
    pub sender: AddressesView<'a>,
    /// `Reply-To`, or `From` when absent.
    pub reply_to: AddressesView<'a>,
    /// `To`.
    pub to: AddressesView<'a>,
    /// `Cc`.
    pub cc: AddressesView<'a>,
    /// `Bcc`.
    pub bcc: AddressesView<'a>,
    references: &'a [u8],
}

/// Addresses of an envelope, not copied.
#[derive(Debug, Clone, Copy)]
pub struct AddressesView<'a> {
    count: u64,
    bytes: &'a [u8],
}

/// One address, not copied. Fields as in [`crate::Address`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressView<'a> {
    /// Display name.
    pub name: Option<&'a [u8]>,
    /// Source route.
    pub route: Option<&'a [u8]>,
    /// Local part, or the name of a group.
    pub mailbox: Option<&'a [u8]>,
    /// Domain; `None` in group markers.
    pub host: Option<&'a [u8]>,
}

impl<'a> EnvelopeView<'a> {
    /// Looks over all of the section once; what is given later was checked then.
    pub(super) fn read(section: &'a [u8]) -> Result<EnvelopeView<'a>> {
        let mut source = Source::new(section);
        let bits = source.number()?;
        if bits > envelope_bits::ALL {
            return Err(damaged("envelope bits"));
        }
        let there = |bit: u64| bits & bit != 0;
        let mut optional = |bit: u64| there(bit).then(|| source.text_bytes()).transpose();
        let date = optional(envelope_bits::DATE)?;
        let subject = optional(envelope_bits::SUBJECT)?;
        let in_reply_to = optional(envelope_bits::IN_REPLY_TO)?;
        let message_id = optional(envelope_bits::MESSAGE_ID)?;
        let sent = there(envelope_bits::SENT).then(|| source.signed()).transpose()?;
        let from = AddressesView::read(&mut source)?;
        let mut other = |bit: u64| match there(bit) {
            true => AddressesView::read(&mut source),
            false => Ok(from),
        };
        let sender = other(envelope_bits::SENDER)?;
        let reply_to = other(envelope_bits::REPLY_TO)?;
        let to = AddressesView::read(&mut source)?;
        let cc = AddressesView::read(&mut source)?;
        let bcc = AddressesView::read(&mut source)?;
        let references = source.rest();
        Ok(EnvelopeView {
            date,
            subject,
            in_reply_to,
            message_id,
            sent,
            from,
            sender,
            reply_to,
            to,
            cc,
            bcc,
            references,
        })
    }

    /// Message ids of `References`, with their angle brackets.
    pub fn references(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut source = Source::new(self.references);
        let count = source.number().unwrap_or(0);
        (0..count).map_while(move |_| source.text_bytes().ok())
    }
}

impl<'a> AddressesView<'a> {
    fn read(source: &mut Source<'a>) -> Result<AddressesView<'a>> {
        let count = source.number()?;
        let before = source.rest();
        for _ in 0..count {
            AddressView::read(source)?;
        }
        Ok(AddressesView { count, bytes: &before[..before.len() - source.rest().len()] })
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The addresses.
    pub fn iter(&self) -> impl Iterator<Item = AddressView<'a>> + use<'a> {
        let mut source = Source::new(self.bytes);
        (0..self.count).map_while(move |_| AddressView::read(&mut source).ok())
    }
}

impl<'a> AddressView<'a> {
    fn read(source: &mut Source<'a>) -> Result<AddressView<'a>> {
        let bits = source.byte()?;
        if bits > address_bits::ALL {
            return Err(damaged("address bits"));
        }
        let mut field = |bit: u8| (bits & bit != 0).then(|| source.text_bytes()).transpose();
        Ok(AddressView {
            name: field(address_bits::NAME)?,
            route: field(address_bits::ROUTE)?,
            mailbox: field(address_bits::MAILBOX)?,
            host: field(address_bits::HOST)?,
        })
    }
}
