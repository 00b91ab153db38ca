//! The metrics port: `/metrics` and `/healthz` over the little of HTTP/1.1 (RFC 9112) they need.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::server::Running;
use crate::stats;

#[cfg(test)]
mod tests;

/// Longest request head in bytes.
const HEAD_BYTES_MAX: usize = 8 * 1024;
/// Longest time a request may take.
const REQUEST_WAIT: Duration = Duration::from_secs(5);
/// Requests answered at once.
pub(crate) const REQUESTS_MAX: usize = 32;

/// An answer.
#[derive(Debug, PartialEq, Eq)]
struct Response {
    status: &'static str,
    kind: &'static str,
    body: String,
}

impl Response {
    fn text(status: &'static str, body: &str) -> Self {
        Self { status, kind: "text/plain; charset=utf-8", body: format!("{body}\n") }
    }
}

/// Answers one request and closes the connection.
pub(crate) async fn serve(mut stream: TcpStream, running: Arc<Running>) {
    let answered = timeout(REQUEST_WAIT, async {
        let response = match read_head(&mut stream).await {
            Some(head) => answer(&head, &running),
            None => Response::text("400 Bad Request", "the request cannot be read"),
        };
        write(&mut stream, &response).await
    });
    // Whoever does not wait for the answer does not need it.
    let _ = answered.await;
}

async fn read_head(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut head = Vec::with_capacity(512);
    while head.len() < HEAD_BYTES_MAX {
        let count = stream.read_buf(&mut head).await.ok()?;
        if head.windows(4).any(|window| window == b"\r\n\r\n") {
            return Some(head);
        }
        if count == 0 {
            return None;
        }
    }
    None
}

async fn write(stream: &mut TcpStream, response: &Response) -> std::io::Result<()> {
    let head = format!(
        "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        response.status,
        response.kind,
        response.body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(response.body.as_bytes()).await?;
    stream.shutdown().await
}

fn answer(head: &[u8], running: &Running) -> Response {
    let page = |path: &str| match path {
        "/metrics" => Some(Response {
            status: "200 OK",
            kind: "text/plain; version=0.0.4; charset=utf-8",
            body: stats::print_prometheus(&stats::collect(running)),
        }),
        "/healthz" => Some(health(running.failure().as_deref())),
        _ => None,
    };
    route(head, &page)
}

fn health(failure: Option<&str>) -> Response {
    match failure {
        None => Response::text("200 OK", "ok"),
        Some(reason) => Response::text("503 Service Unavailable", reason),
    }
}

/// Finds the page of a request; anything but GET of a known page is refused.
fn route(head: &[u8], page: &dyn Fn(&str) -> Option<Response>) -> Response {
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let words: Vec<&str> = std::str::from_utf8(line).unwrap_or_default().split(' ').collect();
    let [method, target, version] = words.as_slice() else {
        return Response::text("400 Bad Request", "the request line cannot be read");
    };
    if !version.starts_with("HTTP/1.") {
        return Response::text("505 HTTP Version Not Supported", "HTTP/1.1 is spoken here");
    }
    if *method != "GET" {
        return Response::text("405 Method Not Allowed", "only GET is answered here");
    }
    let path = target.split('?').next().unwrap_or_default();
    let unknown = || Response::text("404 Not Found", "there are /metrics and /healthz");
    page(path).unwrap_or_else(unknown)
}
