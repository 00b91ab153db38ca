use bytes::Bytes;

use super::{Http, Request, Tls};
use crate::wire::script::{PATIENCE, calls, play, print};

/// A call: method, path, and then a body, all without spaces.
async fn run(dialogue: &str) {
    let played = play(dialogue, Tls::None).await;
    let mut http = Http::connect(&played.endpoint, PATIENCE).await.unwrap();
    for (call, expected) in calls(dialogue) {
        let words: Vec<&str> = call.split(' ').collect();
        let request = Request {
            method: words[0].to_owned(),
            path: words.get(1).map(|path| (*path).to_owned()).unwrap_or_default(),
            body: words.get(2).map_or(Bytes::new(), |body| Bytes::from(body.to_string())),
            sign_in: call.contains("secret").then(|| ("u".to_owned(), "p".to_owned())),
            keep_octets: 4,
            ..Request::default()
        };
        let outcome = print(http.send(&request).await);
        assert!(outcome.starts_with(&expected), "{call}: {outcome}\nin\n{dialogue}");
    }
    drop(http);
    played.finish(dialogue).await;
}

const KEPT: &str = "
    > GET /secret
    = Response { status: 200, octets: 6, body: [97, 98, 99, 100] }
    C: GET /secret HTTP/1.1
    C: Host: localhost
    C: Authorization: Basic dTpw
    C:
    S: HTTP/1.1 100 Continue
    S:
    S: HTTP/1.1 200 OK
    S: content-length: 6
    S: Set-Cookie: sid=1; Path=/
    S: Set-Cookie: sid=2; Path=/
    S:
    S- abcdef
    > POST /b xyz
    = Response { status: 201, octets: 9, body: [97, 98, 99, 100] }
    C: POST /b HTTP/1.1
    C: Host: localhost
    C: Content-Length: 3
    C: Cookie: sid=2
    C:
    C# 3
    S: HTTP/1.1 201
    S: Transfer-Encoding: chunked
    S:
    S: 4;x=y
    S: abcd
    S: 5
    S: efghi
    S: 0
    S: Trailer: 1
    S:
    > HEAD /c
    = Response { status: 200, octets: 0, body: [] }
    C: HEAD /c HTTP/1.1
    C: Host: localhost
    C: Cookie: sid=2
    C:
    S: HTTP/1.1 200 OK
    S: Content-Length: 600
    S:
    > GET /d
    = Response { status: 404, octets: 3, body: [97, 98, 99] }
    C: GET /d HTTP/1.1
    C: Host: localhost
    C: Cookie: sid=2
    C:
    S: HTTP/1.0 404 None
    S:
    S- abc
    END
";

#[tokio::test]
async fn requests_are_answered() {
    run(KEPT).await;
}

#[tokio::test]
async fn odd_servers_are_errors() {
    let cases = [
        ("S: hello", "error no answer of HTTP/1"),
        ("S: HTTP/2 200 OK\n S:", "error no answer of HTTP/1"),
        ("S: HTTP/1.1 99 OK\n S:", "error no answer of HTTP/1"),
        ("S: HTTP/1.1 200 OK\n S: Content-Length: -1\n S:", "error no length"),
        (
            "S: HTTP/1.1 200 OK\n S: Content-Length: 1\n S: Content-Length: 2\n S:",
            "error two lengths",
        ),
        ("S: HTTP/1.1 200 OK\n S: Content-Length: 9999999999\n S:", "error a body is longer"),
        (
            "S: HTTP/1.1 200 OK\n S: Content-Length: 5\n S:\n S- ab\n END",
            "error the connection is closed",
        ),
        ("S: HTTP/1.1 200 OK\n S: Transfer-Encoding: gzip\n S:", "error an encoding nobody"),
        (
            "S: HTTP/1.1 200 OK\n S: Transfer-Encoding: chunked\n S:\n S: x",
            "error no size of a chunk",
        ),
        (
            "S: HTTP/1.1 200 OK\n S: Transfer-Encoding: chunked\n S:\n S: ffffffffffffffff",
            "error a body is longer",
        ),
        (
            "S: HTTP/1.1 200 OK\n S: Transfer-Encoding: chunked\n S:\n S: 1\n S: abc",
            "error a line is longer than 2",
        ),
        ("S: HTTP/1.1 200 OK\n S~ 9000 X-Field: x\\r\\n", "error a line is longer than 65536"),
        ("END", "error the connection is closed"),
    ];
    for (said, outcome) in cases {
        let asked = "C: GET / HTTP/1.1\n C: Host: localhost\n C:";
        run(&format!("> GET /\n = {outcome}\n {asked}\n {said}\n")).await;
    }
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused() {
    run("> GET\n = error refused: REQUEST\n").await;
    run("> GET /\u{7}\n = error refused: REQUEST\n").await;
}
