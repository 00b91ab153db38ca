//! No 250 leaves before the log is synced.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "house/house.rs"]
mod house;

use house::House;
use smtp::Listener;
use std::sync::Arc;
use txlog::RealDisk;
use txlog::faults::GatedDisk;

#[tokio::test(flavor = "multi_thread")]
async fn the_reply_to_data_waits_for_the_sync_of_the_log() {
    let disk = Arc::new(GatedDisk::new(Arc::new(RealDisk)));
    let house = House::over(|_| {}, |options| options.disk = disk.clone());
    let mut client = house.connect(Listener::Relay);
    client.reply().await;
    for command in ["EHLO a.test", "MAIL FROM:<>", "RCPT TO:<bob@example.test>", "DATA"] {
        client.ask(command).await;
    }
    disk.shut();
    let (reached, before) = (disk.syncs(), disk.passed());
    client.send(b"Subject: held\r\n\r\ntext\r\n.\r\n").await;
    let waiting = disk.clone();
    let wait = move || waiting.wait_for_syncs(reached + 1);
    tokio::task::spawn_blocking(wait).await.unwrap();
    // The message is in the log's hands and its sync has begun: nothing may be said yet.
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
        assert!(!client.has_reply(), "a reply left before the sync");
    }
    assert_eq!(disk.passed(), before);
    disk.open_gate();
    assert!(client.reply().await.starts_with("250 2.0.0"));
    assert!(disk.passed() > before);
    assert!(house.store.log().durable_lsn() > txlog::Lsn::ZERO);
}
