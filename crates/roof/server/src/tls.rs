//! Certificates: those given, or a self-signed one made at the first start.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;

use crate::layout::write_whole;

/// Why TLS cannot be offered.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read or written.
    #[error("a certificate or key file is in trouble")]
    File(#[from] io::Error),
    /// A file cannot be read.
    #[error("{}, where {expected} should be, cannot be read: {problem}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What should be in it.
        expected: &'static str,
        /// What the system says.
        problem: String,
    },
    /// A file holds something else than expected.
    #[error("{}: not a PEM file with {expected}: {problem}", file.display())]
    Pem {
        /// The file.
        file: PathBuf,
        /// What should be in it.
        expected: &'static str,
        /// What the reader says.
        problem: String,
    },
    /// Certificate and key do not fit together, or cannot be used.
    #[error("{} and its key cannot be used", file.display())]
    Unusable {
        /// The certificate.
        file: PathBuf,
        /// The reason.
        source: rustls::Error,
    },
    /// TLS itself cannot be configured.
    #[error("TLS cannot be configured")]
    Versions(#[source] rustls::Error),
    /// No certificate could be made.
    #[error("a self-signed certificate cannot be made")]
    Making(#[from] rcgen::Error),
}

/// The certificate in use, which can be read again while the server runs.
#[derive(Debug)]
pub struct Certificates {
    current: RwLock<Arc<CertifiedKey>>,
}

impl Certificates {
    /// Reads the certificate and key in the two files.
    ///
    /// # Errors
    /// A file is missing, holds no PEM, or the two do not fit together.
    pub fn load(certificate: &Path, key: &Path) -> Result<Arc<Self>, TlsError> {
        let current = RwLock::new(Arc::new(read(certificate, key)?));
        Ok(Arc::new(Self { current }))
    }

    /// Reads files again; new connections use what they hold now.
    ///
    /// # Errors
    /// As [`Certificates::load`]; the certificate in use then stays.
    pub fn reload(&self, certificate: &Path, key: &Path) -> Result<(), TlsError> {
        let fresh = read(certificate, key)?;
        *self.current.write() = Arc::new(fresh);
        Ok(())
    }

    /// What begins TLS on a connection.
    ///
    /// # Errors
    /// TLS cannot be configured.
    pub fn acceptor(self: &Arc<Self>) -> Result<TlsAcceptor, TlsError> {
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Versions)?
            .with_no_client_auth()
            .with_cert_resolver(self.clone());
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.read().clone())
    }
}

fn read(certificate: &Path, key: &Path) -> Result<CertifiedKey, TlsError> {
    let chain = read_chain(certificate)?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| pem(key, "a key", &error))?;
    let read = CertifiedKey::from_der(chain, secret, &ring::default_provider());
    read.map_err(|source| TlsError::Unusable { file: certificate.to_owned(), source })
}

fn read_chain(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let expected = "a certificate";
    let certificates = CertificateDer::pem_file_iter(file)
        .map_err(|error| pem(file, expected, &error))?
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| pem(file, expected, &error))?;
    if certificates.is_empty() {
        let problem = "it holds none".to_owned();
        return Err(TlsError::Pem { file: file.to_owned(), expected, problem });
    }
    Ok(certificates)
}

fn pem(file: &Path, expected: &'static str, error: &rustls::pki_types::pem::Error) -> TlsError {
    match error {
        rustls::pki_types::pem::Error::Io(source) => {
            TlsError::Unreadable { file: file.to_owned(), expected, problem: source.to_string() }
        }
        error => TlsError::Pem { file: file.to_owned(), expected, problem: error.to_string() },
    }
}

/// Makes a self-signed certificate for the names, unless a certificate is there.
///
/// # Errors
/// The files cannot be written.
pub fn ensure(certificate: &Path, key: &Path, names: &[String]) -> Result<bool, TlsError> {
    if certificate.exists() {
        return Ok(false);
    }
    let made = rcgen::generate_simple_self_signed(names)?;
    write_whole(key, made.signing_key.serialize_pem().as_bytes())?;
    write_whole(certificate, made.cert.pem().as_bytes())?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_made_once_and_serves() {
        let dir = tempfile::tempdir().unwrap();
        let (certificate, key) = (dir.path().join("a.pem"), dir.path().join("a.key"));
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        assert!(ensure(&certificate, &key, &names).unwrap());
        let before = std::fs::read(&certificate).unwrap();
        assert!(!ensure(&certificate, &key, &names).unwrap());
        assert_eq!(std::fs::read(&certificate).unwrap(), before);
        let certificates = Certificates::load(&certificate, &key).unwrap();
        certificates.acceptor().unwrap();
        certificates.reload(&certificate, &key).unwrap();
        std::fs::write(&certificate, "gone").unwrap();
        assert!(certificates.reload(&certificate, &key).is_err());
    }

    #[test]
    fn other_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (certificate, key) = (dir.path().join("a.pem"), dir.path().join("a.key"));
        std::fs::write(&certificate, "hello").unwrap();
        std::fs::write(&key, "hello").unwrap();
        let error = Certificates::load(&certificate, &key).unwrap_err();
        assert!(error.to_string().contains("a.pem"), "{error}");
        std::fs::remove_file(&certificate).unwrap();
        let error = Certificates::load(&certificate, &key).unwrap_err().to_string();
        assert!(error.contains("a.pem") && error.contains("cannot be read: No such"), "{error}");
    }
}
