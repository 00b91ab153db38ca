//! TLS: STLS and the implicit port, over real sockets.

use std::sync::Arc;

use rustls::pki_types::{PrivateKeyDer, ServerName};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::client::Client;
use crate::fixture::{Choices, Server};

fn pair() -> (TlsAcceptor, TlsConnector) {
    let made = rcgen::generate_simple_self_signed(vec![String::from("localhost")]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let cert = made.cert.der().clone();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.clone()], key)
        .unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(cert).unwrap();
    let client = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    (TlsAcceptor::from(Arc::new(server)), TlsConnector::from(Arc::new(client)))
}

async fn connect(server: &Server, implicit: bool) -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (far, _) = listener.accept().await.unwrap();
    let door = server.door.clone();
    tokio::spawn(door.serve_connection(far, implicit, server.stopping.clone()));
    near
}

fn name() -> ServerName<'static> {
    ServerName::try_from("localhost").unwrap()
}

/// Reads one line byte by byte, so that nothing of what follows is taken.
async fn line(stream: &mut TcpStream) -> String {
    use tokio::io::AsyncReadExt;
    let mut line = String::new();
    while !line.ends_with("\r\n") {
        line.push(char::from(stream.read_u8().await.unwrap()));
    }
    line
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
