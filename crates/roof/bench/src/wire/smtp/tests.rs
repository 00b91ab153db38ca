use std::sync::LazyLock;

use super::{Smtp, Tls};
use crate::letters::{Kind, Letter, Letters, Order, PoolOptions, Profile};
use crate::wire::script::{PATIENCE, calls, play, print};

/// `$N` in a dialogue is its size.
static LETTER: LazyLock<Letter> = LazyLock::new(|| {
    let profile = Profile::fixed(300).unwrap();
    let letters = Letters::new(1, "test", &profile, PoolOptions::default()).unwrap();
    letters.letter(&mut letters.author(1), &Order::new(Kind::Memo, "a@x.test", &[]))
});

async fn run(tls: Tls, dialogue: &str) {
    let letter = &*LETTER;
    let dialogue = dialogue.replace("$N", &letter.octets.to_string());
    let played = play(&dialogue, tls).await;
    let mut smtp = None;
    for (call, expected) in calls(&dialogue) {
        let words: Vec<&str> = call.split(' ').collect();
        let outcome = match (&words[..], &mut smtp) {
            (["connect"], _) => match Smtp::connect(&played.endpoint, "me.test", PATIENCE).await {
                Ok(connected) => {
                    smtp = Some(connected);
                    "()".to_owned()
                }
                Err(error) => format!("error {error}"),
            },
            (["auth", user, password], Some(smtp)) => print(smtp.auth(user, password).await),
            (["send", from, to @ ..], Some(smtp)) => {
                let to: Vec<_> = to.iter().map(|word| (*word).to_owned()).collect();
                print(smtp.send(from, &to, letter).await)
            }
            (["traffic"], Some(smtp)) => format!("{}", smtp.take_traffic().requests),
            (["quit"], smtp) => print(smtp.take().unwrap().quit().await),
            _ => panic!("{call}"),
        };
        assert!(outcome.starts_with(&expected), "{call}: {outcome}\nin\n{dialogue}");
    }
    drop(smtp);
    played.finish(&dialogue).await;
}

const PIPELINED: &str = "
    > connect
    = ()
    S: 220-mail.test ESMTP
    S: 220 ready
    C: EHLO me.test
    S: 250-mail.test
    S: 250-PIPELINING
    S: 250-SIZE 1000000
    S: 250-auth login plain
    S: 250 8BITMIME
    > auth u p
    = ()
    C: AUTH PLAIN AHUAcA==
    S: 235 2.7.0 Welcome
    > send a@x.test b@x.test c@x.test
    = Accepted { refused: [(\"c@x.test\", \"550 no such user\")] }
    C: MAIL FROM:<a@x.test> SIZE=$N
    C: RCPT TO:<b@x.test>
    C: RCPT TO:<c@x.test>
    C: DATA
    S: 250 ok
    S: 250 ok
    S: 550 no such user
    S: 354 go on
    C# $N
    C: .
    S: 250 2.0.0 queued
    > traffic
    = 6
    > quit
    = ()
    C: QUIT
    S: 221 bye
";

const ONE_BY_ONE: &str = "
    > connect
    = ()
    S: 220 mail.test
    C: EHLO me.test
    S: 250 mail.test
    > auth u p
    = error refused: AUTH neither PLAIN nor LOGIN is offered
    > send a@x.test b@x.test
    = error refused: 451 later
    C: MAIL FROM:<a@x.test>
    S: 451 later
    C: RSET
    S: 250 ok
    > send a@x.test b@x.test
    = Accepted { refused: [] }
    C: MAIL FROM:<a@x.test>
    S: 250 ok
    C: RCPT TO:<b@x.test>
    S: 251 forwarded
    C: DATA
    S: 354 go on
    C# $N
    C: .
    S: 250 ok
";

/// Nobody is left, and the server asks for the letter all the same.
const NOBODY: &str = "
    > connect
    = ()
    S: 220 mail.test
    C: EHLO me.test
    S: 250-mail.test
    S: 250 PIPELINING
    > send a@x.test b@x.test
    = error refused: 550 no such user
    C: MAIL FROM:<a@x.test>
    C: RCPT TO:<b@x.test>
    C: DATA
    S: 250 ok
    S: 550 no such user
    S: 354 go on
    C: .
    S: 554 nobody
    > send a@x.test b@x.test
    = error refused: 550 no such user
    C: MAIL FROM:<a@x.test>
    C: RCPT TO:<b@x.test>
    C: DATA
    S: 250 ok
    S: 550 no such user
    S: 554 no valid recipients
    C: RSET
    S: 250 ok
    > send a@x.test b@x.test
    = error refused: 552 too big
    C: MAIL FROM:<a@x.test>
    C: RCPT TO:<b@x.test>
    C: DATA
    S: 250 ok
    S: 250 ok
    S: 354 go on
    C# $N
    C: .
    S: 552 too big
";

/// The answer to the letter never comes: it may have been taken, and the client is spent.
const BROKEN: &str = "
    > connect
    = ()
    S: 220 mail.test
    C: EHLO me.test
    S: 250 mail.test
    > send a@x.test b@x.test
    = error the connection is closed
    C: MAIL FROM:<a@x.test>
    S: 250 ok
    C: RCPT TO:<b@x.test>
    S: 250 ok
    C: DATA
    S: 354 go on
    C# $N
    C: .
    END
    > send a@x.test b@x.test
    = error the connection is closed
";

const LOGIN_ONLY: &str = "
    > connect
    = ()
    S: 220 mail.test
    C: EHLO me.test
    S: 250-mail.test
    S: 250 AUTH=LOGIN
    > auth u p
    = error refused: 535 no
    C: AUTH LOGIN
    S: 334 VXNlcm5hbWU6
    C: dQ==
    S: 334 UGFzc3dvcmQ6
    C: cA==
    S: 535 no
";

#[tokio::test]
async fn letters_are_handed_in() {
    for dialogue in [PIPELINED, ONE_BY_ONE, NOBODY, BROKEN, LOGIN_ONLY] {
        run(Tls::None, dialogue).await;
    }
}

#[tokio::test]
async fn odd_servers_are_errors() {
    let cases = [
        ("S: 554 go away", "error refused: 554 go away"),
        ("S: hello", "error no reply code: \"hello\""),
        ("S: 99 hello", "error no reply code"),
        ("S: 220_hello", "error no reply code"),
        ("S~ 3 220-again\\r\\n\n END", "error the connection is closed"),
        ("S~ 200 220-again\\r\\n", "error a reply is longer than 128"),
        ("S~ 3000 220-aga", "error a line is longer than 8192"),
        ("END", "error the connection is closed"),
    ];
    for (said, outcome) in cases {
        run(Tls::None, &format!("> connect\n= {outcome}\n{said}\n")).await;
    }
}

#[tokio::test]
async fn tls_secures_the_connection() {
    let hello = "C: EHLO me.test\n S: 250-x\n S: 250 STARTTLS\n";
    let start = "C: STARTTLS\n S: 220 go\n";
    let upgrade = format!("> connect\n = ()\n S: 220 x\n {hello} {start} TLS\n {hello}");
    run(Tls::Upgrade, &upgrade).await;
    run(Tls::Implicit, &format!("> connect\n = ()\n TLS\n S: 220 x\n {hello}")).await;
    let none =
        "> connect\n = error refused: STARTTLS not offered\n S: 220 x\n C: EHLO *\n S: 250 x\n";
    run(Tls::Upgrade, none).await;
    // What somebody put behind the go-ahead is not taken for the server's.
    let hello = "S: 220 x\n C: EHLO *\n S: 250 STARTTLS\n C: STARTTLS\n";
    let ahead = format!("{hello} S~ 1 220 go\\r\\n250 x\\r\\n");
    run(Tls::Upgrade, &format!("> connect\n = error data in the clear before TLS\n {ahead}\n"))
        .await;
}
