use super::*;

#[test]
fn everybody_joins_once_in_an_order_by_lot() {
    let mut order = order_of_joining(100, &mut Dice::of(7, JOINING));
    assert_eq!(order, order_of_joining(100, &mut Dice::of(7, JOINING)));
    assert_ne!(order, order_of_joining(100, &mut Dice::of(8, JOINING)));
    assert_ne!(order, (1..=100).collect::<Vec<_>>());
    order.sort_unstable();
    assert_eq!(order, (1..=100).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_stop_is_heard_by_everybody() {
    let stop = Stop::new();
    let other = stop.clone();
    assert!(!other.asked());
    let far = Instant::now() + Duration::from_secs(3600);
    let (waited, ()) = tokio::join!(wait_until(far, &stop), async { other.ask() });
    assert!(!waited);
    assert!(stop.asked());
    assert!(!wait_until(Instant::now(), &stop).await);
}

mod doors {
    use super::*;
    use crate::ledger;
    use crate::target::{Endpoint, People, Tls};

    fn target(ports: &[&str]) -> Target {
        let endpoint = |name: &str| {
            ports.contains(&name).then(|| Endpoint {
                address: [127, 0, 0, 1].into(),
                host: "localhost".to_owned(),
                port: 1,
                tls: Tls::None,
            })
        };
        Target {
            smtp: endpoint("smtp"),
            imap: endpoint("imap"),
            pop3: endpoint("pop3"),
            http: endpoint("http"),
            ldap: None,
            ldap_base: String::new(),
            people: People {
                before: "u".to_owned(),
                digits: 2,
                after: "@example.test".to_owned(),
                password: "p".to_owned(),
                count: 10,
            },
        }
    }

    fn plan(workload: &str, users: u32, via: Via) -> Plan {
        Plan {
            workload: Arc::new(crate::workload::named(workload).unwrap()),
            via,
            users,
            ramp: Duration::ZERO,
            steady: Duration::ZERO,
            speed: 1.0,
            seed: 7,
            run_id: "r".to_owned(),
            replicas: None,
            pool: PoolOptions { attachments: 1, repeat_share: 0.0 },
            timeouts: Timeouts::default(),
        }
    }

    fn world(plan: Plan, ports: &[&str]) -> Result<World, Trouble> {
        let meters = Arc::new(Meters::new(plan.workload.actions()));
        let ledger = Arc::new(Ledger::new(10, ledger::Options::default()));
        World::new(Arc::new(plan), Arc::new(target(ports)), meters, ledger)
    }

    #[test]
    fn what_is_missing_is_told_before_the_run() {
        let cases: [(&str, &[&str], Option<&str>); 6] = [
            ("R6IMAP", &["smtp", "imap"], None),
            ("R6IMAP", &["imap"], Some("--smtp-port")),
            ("R6IMAP", &["smtp"], Some("--imap-port")),
            ("SMTP-POP3", &["smtp", "pop3"], None),
            ("SMTP-POP3", &["smtp", "imap"], Some("--pop3-port")),
            ("N85Entmail", &["smtp", "imap"], None),
        ];
        for (workload, ports, missing) in cases {
            match (world(plan(workload, 10, Via::Imap), ports), missing) {
                (Ok(_), None) => {}
                (Err(error), Some(option)) => {
                    assert!(error.to_string().contains(option), "{error}")
                }
                (other, _) => panic!("{workload} with {ports:?}: {:?}", other.err()),
            }
        }
        let over_http = world(plan("Webmail", 10, Via::Http), &["http"]).err().unwrap();
        assert!(over_http.to_string().contains("--via imap"), "{over_http}");
        assert!(world(plan("R5Mail", 11, Via::Imap), &["smtp", "imap"]).is_err());
        assert!(
            world(Plan { speed: 0.0, ..plan("R5Mail", 1, Via::Imap) }, &["smtp", "imap"]).is_err()
        );
    }

    #[test]
    fn replicas_are_an_exact_and_even_share() {
        let mut plan = plan("N85Entmail", 10, Via::Imap);
        plan.replicas = Some(0.3);
        let world = world(plan, &["smtp", "imap"]).unwrap();
        let with: Vec<u32> = (1..=20).filter(|n| world.has_replica(*n)).collect();
        assert_eq!(with, [4, 7, 10, 14, 17, 20]);
    }

    /// Thousands of people wait at any time: what one costs is bounded.
    #[test]
    fn a_person_who_waits_is_small() {
        let world = Arc::new(world(plan("N85Entmail", 10, Via::Imap), &["smtp", "imap"]).unwrap());
        let ending = watch::Sender::new(false);
        let life = Person::new(&world, 1, ending.subscribe()).live();
        let octets = size_of_val(&life);
        assert!(octets <= 4096, "{octets}");
    }
}
