use super::{Dotted, Pop3, Tls};
use crate::wire::script::{PATIENCE, calls, play, print};

async fn run(tls: Tls, dialogue: &str) {
    let played = play(dialogue, tls).await;
    let mut pop3 = None;
    for (call, expected) in calls(dialogue) {
        let words: Vec<&str> = call.split(' ').collect();
        let outcome = match (&words[..], &mut pop3) {
            (["connect"], _) => match Pop3::connect(&played.endpoint, PATIENCE).await {
                Ok(connected) => {
                    pop3 = Some(connected);
                    "()".to_owned()
                }
                Err(error) => format!("error {error}"),
            },
            (["login", user, password], Some(pop3)) => print(pop3.login(user, password).await),
            (["stat"], Some(pop3)) => print(pop3.stat().await),
            (["uidl"], Some(pop3)) => print(pop3.uidl().await),
            (["list"], Some(pop3)) => print(pop3.list().await),
            (["retrieve", n], Some(pop3)) => print(pop3.retrieve(n.parse().unwrap()).await),
            (["delete", n], Some(pop3)) => print(pop3.delete(n.parse().unwrap()).await),
            (["quit"], pop3) => print(pop3.take().unwrap().quit().await),
            _ => panic!("{call}"),
        };
        assert!(outcome.starts_with(&expected), "{call}: {outcome}\nin\n{dialogue}");
    }
    drop(pop3);
    played.finish(dialogue).await;
}

const SESSION: &str = "
    > connect
    = ()
    S: +OK ready <1.2@x>
    > login u p
    = error refused: -ERR wrong
    C: USER u
    S: +OK
    C: PASS p
    S: -ERR wrong
    > login u p
    = ()
    C: USER u
    S: +OK
    C: PASS p
    S: +OK 2 messages
    > stat
    = (2, 320)
    C: STAT
    S: +OK 2 320
    > list
    = [(1, 120), (2, 200)]
    C: LIST
    S: +OK 2 messages
    S: 1 120
    S: 2 200
    S: .
    > uidl
    = [(1, \"aa..b\"), (2, \"cc\")]
    C: UIDL
    S: +OK
    S: 1 aa..b
    S: 2 cc
    S: .
    > retrieve 1
    = Read { octets: 31, message_id: \"<a@b>\", tail_octets: 25, tail_sum: 4273486453 }
    C: RETR 1
    S: +OK 120 octets
    S: X: 1
    S: Message-ID: <a@b>
    S:
    S: ...
    S: .
    > retrieve 3
    = error refused: -ERR no such message
    C: RETR 3
    S: -ERR no such message
    > delete 1
    = ()
    C: DELE 1
    S: +OK
    > quit
    = ()
    C: QUIT
    S: +OK bye
";

#[tokio::test]
async fn a_maildrop_is_read() {
    run(Tls::None, SESSION).await;
}

#[tokio::test]
async fn odd_servers_are_errors() {
    let cases = [
        ("connect", "error neither +OK nor -ERR: \"* OK hello\"", "S: * OK hello"),
        ("connect", "error refused: -ERR busy", "S: -ERR busy"),
        ("connect", "error a line is longer than 8192", "S~ 3000 +OKxxx"),
        ("stat", "error no counts: \"many\"", "S: +OK\n C: STAT\n S: +OK many"),
        ("list", "error no entry: \"1 big\"", "S: +OK\n C: LIST\n S: +OK\n S: 1 big"),
        ("list", "error the connection is closed", "S: +OK\n C: LIST\n S: +OK\n S: 1 2\n END"),
        (
            "retrieve 1",
            "error the connection is closed",
            "S: +OK\n C: RETR 1\n S: +OK\n S: a\n END",
        ),
    ];
    for (call, outcome, said) in cases {
        let connect = if call == "connect" { "" } else { "> connect\n = ()\n" };
        run(Tls::None, &format!("{connect} > {call}\n = {outcome}\n {said}\n")).await;
    }
}

#[tokio::test]
async fn tls_secures_the_connection() {
    let upgrade = "> connect\n = ()\n S: +OK\n C: STLS\n S: +OK\n TLS\n
        > stat\n = (1, 2)\n C: STAT\n S: +OK 1 2";
    run(Tls::Upgrade, upgrade).await;
    run(Tls::Implicit, "> connect\n = ()\n TLS\n S: +OK\n").await;
    let none = "> connect\n = error refused: -ERR what\n S: +OK\n C: STLS\n S: -ERR what\n";
    run(Tls::Upgrade, none).await;
}

#[test]
fn dots_are_taken_off_wherever_the_pieces_end() {
    let cases = [
        ("a\r\n..b\r\n.\r\n", "a\r\n.b\r\n"),
        ("..\r\n.\r\n", ".\r\n"),
        (".\r\n", ""),
        ("a.\r\n.\r\n", "a.\r\n"),
        ("a\r\n.\rb\r\n.\r\n", "a\r\n\rb\r\n"),
        ("\r\n\r\n.\n", "\r\n\r\n"),
        ("a\n.\r\n", "a\n"),
    ];
    const FIELD: &str = "Message-ID: <a@b>\r\n";
    let behind =
        cases.map(|(came, message)| (format!("{FIELD}{came}"), format!("{FIELD}{message}")));
    let bare = cases.map(|(came, message)| (came.to_owned(), message.to_owned()));
    for (came, message) in bare.into_iter().chain(behind) {
        let whole = format!("{came}+OK next");
        for at in 0..whole.len() {
            let mut dotted = Dotted::default();
            let (first, second) = whole.as_bytes().split_at(at);
            let mut taken = dotted.update(first);
            if !dotted.is_done() {
                assert_eq!(taken, first.len());
                taken += dotted.update(second);
            }
            assert!(dotted.is_done(), "{came:?} at {at}");
            assert_eq!(taken, came.len(), "{came:?} at {at}");
            assert_eq!(dotted.octets, message.len() as u64, "{came:?} at {at}");
            if message.starts_with(FIELD) {
                let read = dotted.tail.finish();
                assert_eq!(read.tail_octets, message.len() as u64, "{came:?} at {at}");
                assert_eq!(read.tail_sum, crc32fast::hash(message.as_bytes()), "{came:?} at {at}");
            }
        }
    }
}
