//! TLS: STLS and the implicit port, over real sockets.

use tokio::net::TcpStream;

use crate::client::Client;
use crate::fixture::{Choices, Server};
use crate::secure::{line, name, pair, sockets};

async fn connect(server: &Server, implicit: bool) -> TcpStream {
    let (near, far) = sockets().await;
    let door = server.door.clone();
    tokio::spawn(door.serve_connection(far, implicit, server.stopping.clone()));
    near
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_can_be_started_and_what_came_before_is_forgotten() {
    use tokio::io::AsyncWriteExt;
    let (acceptor, connector) = pair();
    let server = Server::with(Choices { tls: Some(acceptor), ..Choices::default() });
    let mut stream = connect(&server, false).await;
    assert!(line(&mut stream).await.starts_with("+OK"));
    stream.write_all(b"USER alice\r\n").await.unwrap();
    assert!(line(&mut stream).await.starts_with("+OK"));
    // The second command was slipped in before the handshake: it must not be run after it.
    stream.write_all(b"STLS\r\nQUIT\r\n").await.unwrap();
    assert!(line(&mut stream).await.starts_with("+OK"));
    let tls = connector.connect(name(), stream).await.unwrap();
    let mut client = Client::new(tls);
    let capabilities = client.lines("CAPA").await;
    assert!(!capabilities.contains(&String::from("STLS")), "{capabilities:?}");
    assert!(client.run("STLS").await.starts_with("-ERR"));
    assert_eq!(client.run("PASS pw alice 1").await, "-ERR USER comes first");
    client.ok("USER alice").await;
    client.ok("PASS pw alice 1").await;
    client.ok("QUIT").await;
    client.ends().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_implicit_port_begins_with_the_handshake() {
    let (acceptor, connector) = pair();
    let server = Server::with(Choices { tls: Some(acceptor), ..Choices::default() });
    let letter = b"a line\r\n".repeat(30_000);
    server.put(&letter);
    let stream = connect(&server, true).await;
    let mut client = Client::new(connector.connect(name(), stream).await.unwrap());
    assert!(client.line().await.starts_with("+OK"));
    client.ok("USER alice").await;
    client.ok("PASS pw alice 1").await;
    assert!(client.long("RETR 1").await == letter);
    client.ok("QUIT").await;
    client.ends().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_certificate_there_is_no_tls() {
    let server = Server::start();
    let mut client = server.guest().await;
    assert!(!client.lines("CAPA").await.contains(&String::from("STLS")));
    assert!(client.run("STLS").await.starts_with("-ERR"));
}
