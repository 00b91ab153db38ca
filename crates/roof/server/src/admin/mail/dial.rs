//! Connections to other IMAP servers: TCP with bounded waits, and TLS with the name checked.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ::migrate::{Dial, Stream};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::admin::Failure;
use crate::request::{ImapAccount, MailSecurity};

/// Longest wait for a connection.
const CONNECT_WAIT: Duration = Duration::from_secs(30);
/// Longest silence of the other side.
const SILENCE: Duration = Duration::from_secs(120);
/// Ports of IMAP with TLS from the first byte, and without.
const PORTS: (u16, u16) = (993, 143);

/// How connections to one server are made.
pub(super) struct Network {
    host: String,
    port: u16,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

impl Network {
    /// The way to a server.
    pub(super) fn new(account: &ImapAccount) -> Result<Self, Failure> {
        let usual = if account.security == MailSecurity::Tls { PORTS.0 } else { PORTS.1 };
        let port = account.port.unwrap_or(usual);
        let network = Self { host: account.host.clone(), port, tls: None };
        if account.security == MailSecurity::Plain {
            return Ok(network);
        }
        let name = ServerName::try_from(account.host.clone());
        let name = name.map_err(|error| Failure::Refused(format!("{}: {error}", account.host)))?;
        let config = trusting(account.ca_file.as_deref())?;
        Ok(Self { tls: Some((Arc::new(config), name)), ..network })
    }

    /// Addresses of the server; without TLS only those of this machine.
    fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        let found: Vec<SocketAddr> = (self.host.as_str(), self.port).to_socket_addrs()?.collect();
        let is_here = |address: &SocketAddr| address.ip().to_canonical().is_loopback();
        if self.tls.is_none() && !found.iter().all(is_here) {
            let problem = "without TLS only a server on this machine is asked";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
        }
        Ok(found)
    }
}

/// TLS that trusts the usual authorities and those of a file.
fn trusting(ca_file: Option<&Path>) -> Result<ClientConfig, Failure> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(path) = ca_file {
        let wrong = |problem: String| Failure::Refused(format!("{}: {problem}", path.display()));
        let certificates = CertificateDer::pem_file_iter(path);
        for one in certificates.map_err(|error| wrong(error.to_string()))? {
            let one = one.map_err(|error| wrong(error.to_string()))?;
            roots.add(one).map_err(|error| wrong(error.to_string()))?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::Trouble(error.to_string()))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

impl Dial for Network {
    fn connect(&mut self) -> io::Result<Box<dyn Stream>> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the server has no address");
        for address in self.addresses()? {
            match TcpStream::connect_timeout(&address, CONNECT_WAIT) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(SILENCE))?;
                    stream.set_write_timeout(Some(SILENCE))?;
                    return Ok(Box::new(stream));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn secure(&mut self, plain: Box<dyn Stream>) -> io::Result<Box<dyn Stream>> {
        let Some((config, name)) = &self.tls else {
            return Err(io::Error::other("this connection is without TLS"));
        };
        let connection = ClientConnection::new(config.clone(), name.clone());
        let connection = connection.map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(connection, plain);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(Box::new(stream))
    }
}
