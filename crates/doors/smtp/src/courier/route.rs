//! Which host gets mail for which domain, and how it is spoken to.

use crate::courier::CourierError;
use rustls::pki_types::ServerName;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// When TLS is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsMode {
    /// Never.
    None,
    /// When it is offered, with whatever certificate (RFC 7435). With a user name it counts as
    /// [`TlsMode::Starttls`]: a password is told to nobody unknown.
    Opportunistic,
    /// By STARTTLS, with a certificate that is checked, or not at all.
    #[default]
    Starttls,
    /// From the first byte (RFC 8314), with a certificate that is checked.
    Implicit,
}

impl FromStr for TlsMode {
    type Err = String;
    fn from_str(text: &str) -> Result<TlsMode, String> {
        match text.to_ascii_lowercase().as_str() {
            "none" => Ok(TlsMode::None),
            "opportunistic" => Ok(TlsMode::Opportunistic),
            "starttls" => Ok(TlsMode::Starttls),
            "implicit" => Ok(TlsMode::Implicit),
            _ => Err(format!("{text:?} is none of none, opportunistic, starttls, implicit")),
        }
    }
}

/// A way to another host.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Route {
    /// A domain; `.domain` for all below it; `*` for all.
    pub domain: String,
    /// Name or address of the host.
    pub host: String,
    /// Its port: 25, 587, 465.
    pub port: u16,
    /// When TLS is spoken.
    pub tls: TlsMode,
    /// Whom this server signs in as, if it does.
    pub user: Option<String>,
    /// The password.
    pub password: Option<String>,
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Route { domain, host, port, tls, user, .. } = self;
        write!(f, "Route({domain} to {host}:{port}, {tls:?}, user {user:?})")
    }
}

impl Route {
    /// Whether mail for a domain (in lower case) goes this way.
    pub(super) fn fits(&self, domain: &str) -> bool {
        let wanted = self.domain.to_ascii_lowercase();
        match wanted.strip_prefix('.') {
            Some(_) => domain.ends_with(&wanted),
            None => wanted == "*" || wanted == domain,
        }
    }

    /// The name under which the router knows the host.
    pub(super) fn destination(&self) -> Arc<str> {
        format!("{}:{}", self.host, self.port).into()
    }

    /// Whether the host has to prove who it is.
    pub(super) fn is_verified(&self) -> bool {
        match self.tls {
            TlsMode::None => false,
            TlsMode::Opportunistic => self.user.is_some(),
            TlsMode::Starttls | TlsMode::Implicit => true,
        }
    }

    pub(super) fn server_name(&self) -> Result<ServerName<'static>, CourierError> {
        let bare = self.host.trim_start_matches('[').trim_end_matches(']').to_owned();
        ServerName::try_from(bare).map_err(|_| CourierError::Host(self.host.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_fit_their_route() {
        let route = |domain: &str| Route { domain: domain.to_owned(), ..Route::default() };
        let cases = [
            ("*", "far.test", true),
            ("Far.Test", "far.test", true),
            ("far.test", "not-far.test", false),
            (".far.test", "a.far.test", true),
            (".far.test", "far.test", false),
            (".far.test", "notfar.test", false),
        ];
        for (wanted, domain, fits) in cases {
            assert_eq!(route(wanted).fits(domain), fits, "{wanted} {domain}");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        let password = Some("open sesame".to_owned());
        let shown = format!("{:?}", Route { password, ..Route::default() });
        assert!(!shown.contains("sesame"), "{shown}");
    }
}
