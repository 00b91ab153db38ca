use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::ber::{Element, Writer};
use super::{Endpoint, Error, Found, Ldap, Tls};
use crate::wire::script::PATIENCE;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}

/// A server that hears each of these requests and gives the answer beside it.
async fn serve(exchanges: &[(&str, &str)]) -> Endpoint {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let exchanges: Vec<_> = exchanges.iter().map(|(heard, said)| (hex(heard), hex(said))).collect();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        for (expected, said) in exchanges {
            let mut heard = vec![0; expected.len()];
            stream.read_exact(&mut heard).await.unwrap();
            let same = if heard == expected { &said[..] } else { b"another request" };
            stream.write_all(same).await.unwrap();
        }
    });
    let (host, port) = ("localhost".into(), address.port());
    Endpoint { address: address.ip(), host, port, tls: Tls::None }
}

const BIND: &str = "30 0c 02 01 01  60 07 02 01 03 04 00 80 00";
const BOUND: &str = "30 0c 02 01 01  61 07 0a 01 00 04 00 04 00";
/// base `o`, mail=a.
const SEARCH: &str = "30 2e 02 01 02  63 29 04 01 6f 0a 01 02 0a 01 00 02 01 00 02 01 00 01 01 00 \
    a3 09 04 04 6d 61 69 6c 04 01 61  30 0a 04 04 6d 61 69 6c 04 02 63 6e";

#[tokio::test]
async fn entries_are_counted() {
    // Two entries, a reference, the end; one of the entries in the long form of length.
    let answer = "30 09 02 01 02  64 04 04 00 30 00 \
        30 84 00 00 00 09 02 01 02  64 04 04 00 30 00 \
        30 05 02 01 02  73 00   30 0c 02 01 02  65 07 0a 01 00 04 00 04 00";
    let endpoint = serve(&[(BIND, BOUND), (SEARCH, answer)]).await;
    let mut ldap = Ldap::connect(&endpoint, PATIENCE).await.unwrap();
    ldap.bind("", "").await.unwrap();
    let found = ldap.search("o", "mail", "a").await.unwrap();
    assert_eq!(found, Found { entries: 2, fitting: 0 });
    assert_eq!(ldap.take_traffic().requests, 2);
}

#[tokio::test]
async fn entries_that_do_not_hold_what_was_searched_for_are_told_apart() {
    const MAIL: &str = "04 04 6d 61 69 6c";
    let attributes = [
        (format!("30 0d 30 0b {MAIL} 31 03 04 01 61"), "64 11", "30 16", Ok(1)),
        // MAIL=A
        ("30 0d 30 0b 04 04 4d 41 49 4c 31 03 04 01 41".to_owned(), "64 11", "30 16", Ok(1)),
        // the second value of two
        (format!("30 10 30 0e {MAIL} 31 06 04 01 62 04 01 61"), "64 14", "30 19", Ok(1)),
        (format!("30 0d 30 0b {MAIL} 31 03 04 01 62"), "64 11", "30 16", Ok(0)),
        // cn=a
        ("30 0b 30 09 04 02 63 6e 31 03 04 01 61".to_owned(), "64 0f", "30 14", Ok(0)),
        (format!("30 08 30 06 {MAIL}"), "64 0c", "30 11", Err("a short entry")),
        (String::new(), "64 02", "30 07", Err("a short entry")),
    ];
    for (attributes, entry, message, expected) in attributes {
        let done = "30 0c 02 01 02 65 07 0a 01 00 04 00 04 00";
        let answer = format!("{message} 02 01 02 {entry} 04 00 {attributes} {done}");
        let endpoint = serve(&[(BIND, BOUND), (SEARCH, &answer)]).await;
        let mut ldap = Ldap::connect(&endpoint, PATIENCE).await.unwrap();
        ldap.bind("", "").await.unwrap();
        let found = ldap.search("o", "mail", "a").await;
        match expected {
            Ok(fitting) => assert_eq!(found.unwrap(), Found { entries: 1, fitting }, "{answer}"),
            Err(begin) => assert!(found.unwrap_err().to_string().starts_with(begin), "{answer}"),
        }
    }
}

#[tokio::test]
async fn odd_servers_are_errors() {
    let cases = [
        ("30 0f 02 01 01  61 0a 0a 01 31 04 00 04 03 62 61 64", "refused: 49 bad"),
        ("30 0c 02 01 07  61 07 0a 01 00 04 00 04 00", "an answer to nothing"),
        ("30 0c 02 01 00  78 07 0a 01 34 04 00 04 00", "the connection is closed"),
        ("30 0c 02 01 01  65 07 0a 01 00 04 00 04 00", "another answer"),
        ("30 05 02 01 01  61 00", "a short result"),
        ("30 03 02 01 01", "no answer"),
        ("30 00", "no message id"),
        ("30 80", "no message of LDAP"),
        ("31 00", "no message of LDAP"),
        ("30 85 01 01 01 01 01", "no message of LDAP"),
        ("30 84 7f ff ff ff", "a message is longer than 1048576"),
        ("30 0c 02 01 01  61 7f 0a 01 00 04 00 04 00", "an element without end"),
        ("30 04 1f 02 01 01", "an element without end"),
        ("30 04 02 02 ff 01", "no number"),
    ];
    for (said, expected) in cases {
        let endpoint = serve(&[(BIND, said)]).await;
        let mut ldap = Ldap::connect(&endpoint, PATIENCE).await.unwrap();
        let error: Error = ldap.bind("", "").await.unwrap_err();
        assert!(error.to_string().starts_with(expected), "{said}: {error}");
    }
}

#[test]
fn numbers_and_lengths_come_back() {
    for number in [0, 1, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0x7fff_ffff, u32::MAX] {
        let mut writer = Writer::default();
        writer.integer(0x02, number);
        let octets = writer.finish();
        assert_eq!(Element::parse(&octets).unwrap().integer().unwrap(), u64::from(number));
    }
    for length in [0, 1, 127, 128, 255, 256, 65_535, 65_536, 100_000] {
        let mut writer = Writer::default();
        writer.octets(0x04, &vec![7; length]);
        let octets = writer.finish();
        assert_eq!(Element::parse(&octets).unwrap().octets.len(), length);
        assert!(Element::parse(&octets[..octets.len() - 1]).is_err());
    }
}
