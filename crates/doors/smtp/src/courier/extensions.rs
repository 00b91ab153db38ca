//! What a host says it can do (the reply to EHLO), and replies as such.

use router::Said;

/// Service extensions of the other host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    /// SIZE (RFC 1870): the largest message; 0 when it names no limit.
    pub size: Option<u64>,
    pub pipelining: bool,
    pub eight_bit: bool,
    pub dsn: bool,
    pub utf8: bool,
    pub starttls: bool,
    pub auth_plain: bool,
    pub auth_login: bool,
}

impl Extensions {
    /// Reads the lines of the reply to EHLO behind its first one.
    pub fn parse(lines: &[String]) -> Extensions {
        let mut found = Extensions::default();
        for line in lines.iter().skip(1) {
            let mut words = line.split([' ', '=']);
            match words.next().unwrap_or_default().to_ascii_uppercase().as_str() {
                "SIZE" => found.size = Some(words.next().unwrap_or("0").parse().unwrap_or(0)),
                "PIPELINING" => found.pipelining = true,
                "8BITMIME" => found.eight_bit = true,
                "DSN" => found.dsn = true,
                "SMTPUTF8" => found.utf8 = true,
                "STARTTLS" => found.starttls = true,
                "AUTH" => {
                    for word in words {
                        found.auth_plain |= word.eq_ignore_ascii_case("PLAIN");
                        found.auth_login |= word.eq_ignore_ascii_case("LOGIN");
                    }
                }
                _ => {}
            }
        }
        found
    }
}

/// A reply of one or more lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    pub code: u16,
    /// The texts of its lines.
    pub lines: Vec<String>,
}

impl Reply {
    pub fn is_fine(&self) -> bool {
        self.code / 100 == 2
    }

    /// The host closes the connection.
    pub fn is_farewell(&self) -> bool {
        self.code == 421
    }

    /// What the host said, with its enhanced status code or one made of the code.
    pub fn said(&self) -> Said {
        let whole = self.lines.join(" ");
        let (first, rest) = whole.split_once(' ').unwrap_or((&whole, ""));
        let class = self.code / 100;
        let is_status = first.starts_with(&format!("{class}."))
            && first.split('.').count() == 3
            && first.split('.').all(|part| !part.is_empty() && part.len() <= 3)
            && first.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let (status, text) = match is_status {
            true => (first.to_owned(), rest.to_owned()),
            false => (format!("{class}.0.0"), whole.clone()),
        };
        Said { code: self.code, status, text }
    }
}

/// Splits a line of a reply: code, whether more lines follow, text.
pub fn parse_line(line: &[u8]) -> Option<(u16, bool, String)> {
    let code = line.get(..3)?;
    if !code.iter().all(u8::is_ascii_digit) || !(b'2'..=b'5').contains(&code[0]) {
        return None;
    }
    let more = match line.get(3) {
        None | Some(b' ') => false,
        Some(b'-') => true,
        Some(_) => return None,
    };
    let number = code.iter().fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'));
    let text = String::from_utf8_lossy(line.get(4..).unwrap_or_default());
    let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    Some((number, more, plain.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_read_in_any_form() {
        let lines =
            ["mail.far.test Hello", "size 1000", "AUTH=LOGIN", "auth PLAIN CRAM-MD5", "Dsn"];
        let found = Extensions::parse(&lines.map(str::to_owned));
        let wanted = Extensions {
            size: Some(1_000),
            auth_login: true,
            auth_plain: true,
            dsn: true,
            ..Extensions::default()
        };
        assert_eq!(found, wanted);
        let odd = ["x", "SIZE", "SIZE ten", "", "8BITMIME extra"].map(str::to_owned);
        let found = Extensions::parse(&odd);
        assert_eq!((found.size, found.eight_bit), (Some(0), true));
    }

    #[test]
    fn replies_are_read_or_refused() {
        type Case<'a> = (&'a [u8], Option<(u16, bool, &'a str)>);
        let cases: [Case<'_>; 8] = [
            (b"250 2.0.0 OK", Some((250, false, "2.0.0 OK"))),
            (b"250-more", Some((250, true, "more"))),
            (b"250", Some((250, false, ""))),
            (b"25", None),
            (b"150 x", None),
            (b"abc x", None),
            (b"250x", None),
            (b"250 a\tb\xff", Some((250, false, "a b\u{fffd}"))),
        ];
        for (line, wanted) in cases {
            let wanted = wanted.map(|(code, more, text)| (code, more, text.to_owned()));
            assert_eq!(parse_line(line), wanted, "{line:?}");
        }
    }

    #[test]
    fn the_status_is_the_hosts_or_made_of_the_code() {
        let said = |code, text: &str| Reply { code, lines: vec![text.to_owned()] }.said();
        let cases = [
            (550, "5.1.1 nobody", "5.1.1", "nobody"),
            (550, "nobody here", "5.0.0", "nobody here"),
            (450, "5.1.1 odd", "4.0.0", "5.1.1 odd"),
            (450, "4.2. odd", "4.0.0", "4.2. odd"),
            (554, "", "5.0.0", ""),
        ];
        for (code, text, status, rest) in cases {
            let said = said(code, text);
            assert_eq!((said.status.as_str(), said.text.as_str()), (status, rest), "{text}");
        }
    }

    #[test]
    fn any_bytes_are_read_without_a_panic() {
        let mut seed = 11_u64;
        let alphabet = b"0123459-. \xc5\xbe\r\tSIZEAUTH=";
        for _ in 0..20_000 {
            let mut line = b"2".to_vec();
            for _ in 0..10 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                line.push(alphabet[(seed >> 33) as usize % alphabet.len()]);
            }
            if let Some((code, _, text)) = parse_line(&line) {
                assert!((200..600).contains(&code) && !text.contains(char::is_control));
                let lines = vec![String::new(), text];
                let said = Reply { code, lines: lines.clone() }.said();
                assert!(said.status.starts_with(&format!("{}.", code / 100)), "{said:?}");
                Extensions::parse(&lines);
            }
        }
    }
}
