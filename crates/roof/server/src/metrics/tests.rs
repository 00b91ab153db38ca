//! Tests of the metrics port: what is answered to which request.

use super::{Response, health, route};

fn status(request: &[u8]) -> &'static str {
    let page = |path: &str| (path == "/metrics").then(|| Response::text("200 OK", "x 1"));
    route(request, &page).status
}

#[test]
fn requests_are_told_apart() {
    let cases: &[(&[u8], &str)] = &[
        (b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "200 OK"),
        (b"GET /metrics?x=1 HTTP/1.0\r\n\r\n", "200 OK"),
        (b"GET / HTTP/1.1\r\n\r\n", "404 Not Found"),
        (b"GET /../metrics HTTP/1.1\r\n\r\n", "404 Not Found"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
        (b"GET /metrics HTTP/2\r\n\r\n", "505 HTTP Version Not Supported"),
        (b"GET /metrics\r\n\r\n", "400 Bad Request"),
        (b"GET  /metrics HTTP/1.1\r\n\r\n", "400 Bad Request"),
        (b"\xff\xfe\r\n\r\n", "400 Bad Request"),
        (b"\r\n\r\n", "400 Bad Request"),
        (b"", "400 Bad Request"),
    ];
    for (request, expected) in cases {
        assert_eq!(status(request), *expected, "{}", String::from_utf8_lossy(request));
    }
}

#[test]
fn a_failed_log_is_unhealthy() {
    assert_eq!(health(None).status, "200 OK");
    assert_eq!(health(Some("the log has stopped")).status, "503 Service Unavailable");
}
