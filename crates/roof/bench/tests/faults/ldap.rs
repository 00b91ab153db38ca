//! A directory that knows everybody's address, as far as RFC 4511 is needed for that.

use std::io;

use super::store::Fault;
use super::wire::Wire;

const ATTRIBUTE: &[u8] = b"mail";
/// A result: success, no name, no words.
const SUCCESS: [u8; 7] = [0x0a, 1, 0, 4, 0, 4, 0];

/// An element; all are short here.
fn element(tag: u8, inner: &[&[u8]]) -> Vec<u8> {
    let inner = inner.concat();
    assert!(inner.len() < 0x80);
    [&[tag, inner.len() as u8], &inner[..]].concat()
}

/// The first element, and what follows it.
fn split(octets: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let [tag, length @ 0..0x80, rest @ ..] = octets else { return None };
    let (inner, rest) = rest.split_at_checked(usize::from(*length))?;
    Some((*tag, inner, rest))
}

/// The address in a search of `mail`: the seventh part of the request is the filter.
fn searched(request: &[u8]) -> Option<String> {
    let mut rest = request;
    for _ in 0..6 {
        (_, _, rest) = split(rest)?;
    }
    let (0xa3, filter, _) = split(rest)? else { return None };
    let (_, attribute, rest) = split(filter)?;
    let (_, value, _) = split(rest)?;
    (attribute == ATTRIBUTE).then(|| String::from_utf8_lossy(value).into_owned())
}

fn entry(address: &str) -> Vec<u8> {
    let values = element(0x31, &[&element(4, &[address.as_bytes()])]);
    let attribute = element(0x30, &[&element(4, &[ATTRIBUTE]), &values]);
    element(0x64, &[&element(4, &[b"cn=x"]), &element(0x30, &[&attribute])])
}

/// LDAP: bind as anybody, search for addresses, unbind.
pub async fn ldap(mut wire: Wire) -> io::Result<()> {
    loop {
        let head = wire.octets(2).await?;
        let message = wire.octets(usize::from(head[1])).await?;
        let asked = split(&message).and_then(|(_, id, rest)| Some((id, split(rest)?)));
        let Some((id, (tag, request, _))) = asked else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let number = match wire.store.fails(Fault::WrongAnswer) {
            true => vec![0x7f],
            false => id.to_vec(),
        };
        let told = |answer: &[u8]| element(0x30, &[&element(2, &[&number]), answer]);
        match tag {
            0x60 => wire.send(told(&element(0x61, &[&SUCCESS]))).await?,
            0x63 => {
                let address = searched(request).filter(|address| wire.store.knows(address));
                let address = address.filter(|_| !wire.store.fails(Fault::LoseEntry));
                let address = address.map(|address| match wire.store.fails(Fault::WrongEntry) {
                    true => wire.store.after(&address),
                    false => address,
                });
                let found = address.map(|address| told(&entry(&address))).unwrap_or_default();
                wire.send([found, told(&element(0x65, &[&SUCCESS]))].concat()).await?;
            }
            _ => return Ok(()),
        }
    }
}
