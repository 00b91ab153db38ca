//! Mail on its way out: the router's courier to other hosts (RFC 5321 as a client).

mod dialogue;
mod extensions;
mod link;
mod route;
mod stuffing;
mod tls;

use crate::courier::dialogue::Dialogue;
use crate::courier::link::{Connected, Links};
use router::{Line, Trouble};
use rustls::ClientConfig;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

pub use route::{Route, TlsMode};

/// How mail leaves this server.
#[derive(Clone, Debug)]
pub struct CourierSettings {
    /// Which host gets mail for which domain; the first that fits is taken.
    pub routes: Vec<Route>,
    /// File with the certificates (PEM) that other hosts' certificates must lead to; `None`: those
    /// that browsers trust.
    pub ca_file: Option<PathBuf>,
    /// What this server calls itself.
    pub host_name: String,
    /// Longest time for a connection, and for a TLS handshake.
    pub connect_wait: Duration,
    /// Longest time for a reply (RFC 5321 §4.5.3.2: 5 minutes).
    pub reply_wait: Duration,
    /// Longest time that a piece of 64 KiB of message data may take (§4.5.3.2.5: 3 minutes).
    pub data_wait: Duration,
    /// Longest time for the reply to a whole message (§4.5.3.2.6: 10 minutes).
    pub end_wait: Duration,
}

impl Default for CourierSettings {
    fn default() -> Self {
        CourierSettings {
            routes: Vec::new(),
            ca_file: None,
            host_name: String::from("localhost"),
            connect_wait: Duration::from_secs(30),
            reply_wait: Duration::from_secs(300),
            data_wait: Duration::from_secs(180),
            end_wait: Duration::from_secs(600),
        }
    }
}

/// Why a courier cannot work with its settings.
#[derive(Debug, Error)]
pub enum CourierError {
    /// The file with certificates cannot be used.
    #[error("the certificates in {path} cannot be used: {cause}")]
    Certificates {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: String,
    },
    /// A host name that TLS cannot check.
    #[error("{0:?} is not a host name or address")]
    Host(String),
    /// TLS itself.
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
}

/// Carries mail to the hosts of its routes.
#[derive(Debug)]
pub struct Courier {
    settings: CourierSettings,
    verified: Arc<ClientConfig>,
    /// For TLS that is better than none (RFC 7435).
    unverified: Arc<ClientConfig>,
    links: Arc<Links>,
}

impl Courier {
    /// A courier with these routes. Nothing is connected yet.
    ///
    /// # Errors
    /// A host name is none, or the certificates cannot be read.
    pub fn new(settings: CourierSettings) -> Result<Arc<Courier>, CourierError> {
        for route in &settings.routes {
            route.server_name()?;
        }
        let verified = tls::verified(settings.ca_file.as_deref())?;
        let unverified = tls::unverified()?;
        Ok(Arc::new(Courier { settings, verified, unverified, links: Arc::default() }))
    }

    fn route(&self, fits: impl Fn(&Route) -> bool) -> Option<&Route> {
        self.settings.routes.iter().find(|route| fits(route))
    }

    fn connect(&self, route: &Route) -> Result<Connected, Trouble> {
        let wait = self.settings.connect_wait;
        self.links
            .connect(&route.host, route.port, wait)
            .map_err(|error| trouble(format!("{} does not answer: {error}", route.destination())))
    }

    /// Greets, secures and signs in.
    fn introduce(&self, route: &Route, secure: bool) -> Result<Dialogue, Trouble> {
        let mut link = self.connect(route)?;
        let config = if route.is_verified() { &self.verified } else { &self.unverified };
        let name = route.server_name().map_err(|error| trouble(error.to_string()))?;
        if route.tls == TlsMode::Implicit {
            link.start_tls(config, name.clone(), self.settings.connect_wait)?;
        }
        let mut dialogue = Dialogue::greet(link, &self.settings, &route.host)?;
        if matches!(route.tls, TlsMode::Opportunistic | TlsMode::Starttls) && secure {
            if dialogue.offers_tls() {
                dialogue = dialogue.start_tls(config, name)?;
            } else if route.is_verified() {
                return Err(trouble(format!("{} does not offer STARTTLS", route.destination())));
            }
        }
        if let Some(user) = &route.user {
            dialogue.sign_in(user, route.password.as_deref().unwrap_or_default())?;
        }
        Ok(dialogue)
    }
}

/// What keeps everything from a destination.
fn trouble(text: String) -> Trouble {
    Trouble { text, destination: true }
}

impl router::Courier for Courier {
    fn destination(&self, domain: &str) -> Option<Arc<str>> {
        self.route(|route| route.fits(domain)).map(Route::destination)
    }

    fn open(&self, destination: &str) -> Result<Box<dyn Line>, Trouble> {
        let route = self.route(|route| *route.destination() == *destination);
        let route = route.ok_or_else(|| trouble(format!("there is no way to {destination}")))?;
        match self.introduce(route, true) {
            Ok(dialogue) => Ok(Box::new(dialogue)),
            // TLS that was only offered does not keep the mail back when it does not work.
            Err(error) if route.tls == TlsMode::Opportunistic && !route.is_verified() => {
                tracing::debug!(destination, %error, "tried again without TLS");
                Ok(Box::new(self.introduce(route, false)?))
            }
            Err(error) => Err(error),
        }
    }

    fn stop(&self) {
        self.links.stop();
    }
}
