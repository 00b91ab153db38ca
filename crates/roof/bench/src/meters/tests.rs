use std::sync::Arc;

use super::summary::{Measured, saturated};
use super::*;
use crate::outcome::Figures;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn summary(meters: &Arc<Meters>, run: impl FnOnce(&Meters)) -> Measured {
    let sources = Sources { pids: vec![std::process::id()], ..Sources::default() };
    let watch = Watch::start(Arc::clone(meters), sources.clone(), ms(1000), |_| {}).unwrap();
    run(meters);
    let seen = watch.finish().unwrap();
    meters.summary(&seen, &sources, 2)
}

fn near(figures: &Figures, name: &str, exact: f64) {
    let measured = figures.get(name).unwrap();
    assert!((measured - exact).abs() <= exact * 0.001, "{name}: {measured}, exactly {exact}");
}

#[test]
fn histograms_agree_with_exact_values() {
    let meters = Arc::new(Meters::new(&["read".to_owned(), "send".to_owned()]));
    let measured = summary(&meters, |meters| {
        let now = Instant::now();
        meters.record(0, now, ms(9_000_000), true);
        meters.window_start();
        std::thread::scope(|scope| {
            for part in 0..4 {
                scope.spawn(move || {
                    for took in (1..=10_000).filter(|n| n % 4 == part) {
                        meters.record(0, now, ms(took), true);
                    }
                });
            }
        });
        meters.record(1, now, ms(7), false);
        meters.lag(ms(3));
        meters.window_end();
        meters.record(1, now, ms(9_000_000), true);
    });
    let figures = &measured.figures;
    for (name, exact) in [
        ("transactions", 10_000.0),
        ("errors", 1.0),
        ("response_mean_ms", 5000.5),
        ("response_p50_ms", 5000.0),
        ("response_p95_ms", 9500.0),
        ("response_p99_ms", 9900.0),
        ("response_max_ms", 10_000.0),
        ("driver_lag_p99_ms", 3.0),
    ] {
        near(figures, name, exact);
    }
    let read = &measured.actions[0];
    assert_eq!((read.count, read.errors, read.name.as_str()), (10_000, 0, "read"));
    let send = &measured.actions[1];
    assert_eq!((send.count, send.errors, send.mean_ms), (0, 1, 0.0));
    assert!(measured.window_s > 0.0 && figures.get("server_cpu_s").is_some());
    let missing: Vec<&str> = measured.not_measured.iter().map(|m| m.what.as_str()).collect();
    assert_eq!(missing, ["reads and writes of the device", "sync calls"]);
}

#[test]
fn without_a_window_there_are_no_figures() {
    let meters = Arc::new(Meters::new(&["read".to_owned()]));
    let measured = summary(&meters, |meters| {
        meters.record(0, Instant::now(), ms(5), true);
        meters.joined();
        meters.window_end();
    });
    assert_eq!(measured.figures.get("transactions"), Some(0.0));
    assert_eq!(measured.figures.get("response_mean_ms"), None);
    assert_eq!(measured.not_measured[0].what, "all figures");
    assert_eq!((meters.people(), meters.window()), (1, None));
}

#[test]
fn times_beyond_all_measure_count_as_the_longest() {
    let meters = Arc::new(Meters::new(&["read".to_owned()]));
    let measured = summary(&meters, |meters| {
        meters.window_start();
        meters.record(0, Instant::now(), Duration::MAX, true);
        meters.record(7, Instant::now(), ms(1), true);
        meters.window_end();
    });
    near(&measured.figures, "response_max_ms", TOOK_US_MAX as f64 / 1000.0);
    assert_eq!(measured.figures.get("transactions"), Some(1.0));
}

#[test]
fn a_driver_that_is_behind_is_told() {
    let told = |cpu_percent, lag_ms, mean_ms| {
        let mut figures = Figures::default();
        figures.put("driver_cpu_percent", cpu_percent);
        figures.put("driver_lag_p99_ms", lag_ms);
        figures.put("response_mean_ms", mean_ms);
        saturated(&figures, 2)
    };
    assert_eq!(told(10.0, 49.0, 1.0), None);
    assert!(told(10.0, 80.0, 1.0).unwrap().contains("limit 50 ms"));
    assert_eq!(told(10.0, 80.0, 100.0), None);
    assert_eq!(told(180.0, 1.0, 1.0), None);
    assert!(told(181.0, 1.0, 1.0).unwrap().contains("181 % CPU of the 200 %"));
    assert_eq!(saturated(&Figures::default(), 2), None);
}

#[test]
fn traffic_is_counted_between_the_ends_of_the_window() {
    let meters = Arc::new(Meters::new(&[]));
    let measured = summary(&meters, |meters| {
        meters.traffic(5, 50, 500);
        meters.window_start();
        meters.window_end();
    });
    assert_eq!(meters.sent(), Sent { requests: 5, octets_in: 50, octets_out: 500 });
    assert_eq!(measured.figures.get("written_per_logical"), None);
}
