use std::time::Duration;

use crate::target::Tls;
use crate::wire::script::{PATIENCE, play};
use crate::wire::{Error, Pop3, Timeouts};

#[tokio::test]
async fn a_call_ends_within_its_time_and_spends_the_client() {
    let dialogue = "S: +OK\n C: USER u\n C: nothing more";
    let played = play(dialogue, Tls::None).await;
    let soon = Timeouts { call: Duration::from_millis(20), ..PATIENCE };
    let mut pop3 = Pop3::connect(&played.endpoint, soon).await.unwrap();
    let late = pop3.login("u", "p").await.unwrap_err();
    assert!(matches!(late, Error::Timeout { what: "USER", .. }), "{late}");
    assert!(matches!(pop3.stat().await, Err(Error::Closed)));
}

#[tokio::test]
async fn a_dropped_call_spends_the_client() {
    let played = play("S: +OK\n C: STAT\n C: nothing more", Tls::None).await;
    let mut pop3 = Pop3::connect(&played.endpoint, PATIENCE).await.unwrap();
    let given_up = tokio::time::timeout(Duration::from_millis(20), pop3.stat()).await;
    assert!(given_up.is_err());
    assert!(matches!(pop3.stat().await, Err(Error::Closed)));
}

#[tokio::test]
async fn an_idle_connection_keeps_no_buffer() {
    let dialogue = "S: +OK\n C: LIST\n S: +OK\n S~ 30000 1 100\\r\\n\n S: .\n C: STAT\n S: +OK 1 2";
    let played = play(dialogue, Tls::None).await;
    let mut pop3 = Pop3::connect(&played.endpoint, PATIENCE).await.unwrap();
    assert_eq!(pop3.list().await.unwrap().len(), 30_000);
    assert!(pop3.kept_octets() <= super::KEPT_OCTETS, "{}", pop3.kept_octets());
    assert_eq!(pop3.stat().await.unwrap(), (1, 2));
    let traffic = pop3.take_traffic();
    assert_eq!((traffic.requests, traffic.octets_out), (2, 12));
    assert_eq!(traffic.octets_in, 5 + 5 + 30_000 * 7 + 3 + 9);
    assert_eq!(pop3.take_traffic().octets_in, 0);
    played.finish(dialogue).await;
}
