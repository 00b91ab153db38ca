//! The server: three listeners on loopback, all in this process.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use bench::target::{Endpoint, People, Target, Tls};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::imap::imap;
use super::ldap::ldap;
use super::store::{Fault, Store};
use super::wire::{Wire, pop3, smtp};

/// Sessions of one door at once.
const SESSIONS_MAX: usize = 256;

pub struct Server {
    pub store: Arc<Store>,
    pub target: Target,
    doors: JoinSet<()>,
}

impl Server {
    /// A server with this fault at each `every`th chance, for so many people.
    pub async fn start(people: u32, fault: Fault, every: u32) -> Self {
        let people = People {
            before: "u".into(),
            digits: 4,
            after: "@bench.test".into(),
            password: "secret".into(),
            count: people,
        };
        let addresses: Vec<String> = (1..=people.count).map(|n| people.address(n)).collect();
        let store = Arc::new(Store::new(&addresses, fault, every));
        let mut doors = JoinSet::new();
        let smtp = open(&mut doors, &store, smtp).await;
        let imap = open(&mut doors, &store, imap).await;
        let pop3 = open(&mut doors, &store, pop3).await;
        let ldap = open(&mut doors, &store, ldap).await;
        let target = Target {
            smtp: Some(smtp),
            imap: Some(imap),
            pop3: Some(pop3),
            http: None,
            ldap: Some(ldap),
            ldap_base: "dc=bench,dc=test".into(),
            people,
        };
        Self { store, target, doors }
    }

    /// Ends all sessions and listens no more.
    pub async fn stop(&mut self) {
        self.doors.shutdown().await;
    }
}

async fn open<F>(doors: &mut JoinSet<()>, store: &Arc<Store>, serve: fn(Wire) -> F) -> Endpoint
where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let listener = TcpListener::bind((address, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let store = store.clone();
    doors.spawn(async move {
        let mut sessions = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            while sessions.try_join_next().is_some() {}
            if sessions.len() < SESSIONS_MAX {
                sessions.spawn(serve(Wire::new(stream, store.clone())));
            }
        }
    });
    Endpoint { address, host: "127.0.0.1".into(), port, tls: Tls::None }
}
