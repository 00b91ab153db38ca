//! Processor time per delivery: deposits and deliveries in one process, without any door.
//!
//! `cargo run --release -p router --example cpu -- [MESSAGES] [RECIPIENTS] [BYTES] [1]`
//!
//! With the last one all of it is journaled.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::time::Instant;

use directory::{Directory, NewPerson};
use router::{Deposit, JournalChoice, JournalOptions, JournalTo, JournalTrouble};
use router::{Recipient, Ret, Router, RouterOptions};
use store::{Store, StoreOptions};

/// Mail files that the deliveries go to.
const PEOPLE: usize = 50;
/// Deposits between two waits for the log.
const TOGETHER: usize = 32;

/// User and system time of this process in seconds.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: f64 = fields[11..13].iter().map(|field| field.parse::<f64>().unwrap()).sum();
    ticks / 100.0
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<usize>().unwrap());
    let messages = arguments.next().unwrap_or(20_000);
    let recipients = arguments.next().unwrap_or(1).clamp(1, PEOPLE);
    let bytes = arguments.next().unwrap_or(3_000);
    let journal = (arguments.next() == Some(1)).then(|| JournalOptions {
        to: JournalTo::Database { path: "mailjrn.nsf".to_owned(), rollover_days: 0 },
        choice: JournalChoice::default(),
        in_trouble: JournalTrouble::Hold,
    });
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(StoreOptions::new(dir.path())).unwrap();
    let directory = Directory::create(store.clone(), "demo.test", "mail1/Demo").unwrap();
    let person = |number: usize| NewPerson {
        full_name: format!("Person {number}"),
        short_name: format!("u{number}"),
        ..NewPerson::default()
    };
    directory.add_people((0..PEOPLE).map(person).collect()).unwrap();
    let options = RouterOptions { journal, ..RouterOptions::default() };
    let router = Router::start(store.clone(), directory, options).unwrap();
    let head = "Return-Path: <x@far.test>\r\nReceived: from a by b\r\nFrom: x@far.test\r\n\
                To: people@demo.test\r\nSubject: some words\r\nMessage-ID: <1@far.test>\r\n\r\n";
    let line = "Some words of an ordinary line that a person could have written here.\r\n";
    let message = format!("{head}{}", line.repeat(bytes / line.len() + 1));
    let (started, before) = (Instant::now(), cpu_s());
    let mut last = None;
    for number in 0..messages {
        let to = (0..recipients).map(|other| Recipient {
            address: format!("u{}@demo.test", (number + other) % PEOPLE),
            ..Recipient::default()
        });
        let deposit = Deposit {
            sender: Some("x@far.test".to_owned()),
            recipients: to.collect(),
            message: message.as_bytes(),
            envelope_id: None,
            ret: Ret::Unset,
            authenticated: None,
        };
        last = Some(router.deposit(deposit).unwrap().lsn);
        if number % TOGETHER == TOGETHER - 1 {
            store.durable(last.unwrap()).wait().unwrap();
        }
    }
    store.durable(last.unwrap()).wait().unwrap();
    router.wait_idle();
    let (cpu, wall) = (cpu_s() - before, started.elapsed().as_secs_f64());
    let delivered = router.stats().delivered;
    let each = cpu * 1e6 / delivered as f64;
    println!("{delivered} deliveries, {each:.0} us of processor time each, {wall:.1} s in all");
}
