//! TLS: STARTTLS and the implicit port, over real sockets.

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
    assert!(line(&mut stream).await.contains(" STARTTLS"));
    // The second command was slipped in before the handshake: it must not be run after it.
    stream.write_all(b"a STARTTLS\r\nb LOGOUT\r\n").await.unwrap();
    assert!(line(&mut stream).await.starts_with("a OK"));
    let tls = connector.connect(name(), stream).await.unwrap();
    let mut client = Client::new(tls);
    let capabilities = client.ok("CAPABILITY").await.lines();
    assert!(!capabilities[0].contains("STARTTLS"), "{capabilities:?}");
    assert!(client.run("STARTTLS").await.tagged.starts_with("BAD"));
    client.ok("LOGIN alice pw-alice-1").await;
    let replies = client.ok("LOGOUT").await.lines();
    assert!(replies[0].starts_with("* BYE"));
    client.ends().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_implicit_port_begins_with_the_handshake() {
    let (acceptor, connector) = pair();
    let server = Server::with(Choices { tls: Some(acceptor), ..Choices::default() });
    let stream = connect(&server, true).await;
    let mut client = Client::new(connector.connect(name(), stream).await.unwrap());
    assert!(client.line().await.starts_with("* OK [CAPABILITY"));
    client.ok("LOGIN alice pw-alice-1").await;
    client.append("INBOX", &vec![b'x'; 200_000]).await;
    client.ok("SELECT INBOX").await;
    let replies = client.ok("FETCH 1 (BODY.PEEK[])").await;
    assert!(replies.untagged[0].len() > 200_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_certificate_there_is_no_tls() {
    let server = Server::start();
    let mut client = server.connect();
    assert!(!client.line().await.contains("STARTTLS"));
    assert!(client.run("STARTTLS").await.tagged.starts_with("NO"));
}
