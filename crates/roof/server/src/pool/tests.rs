//! Tests of the worker pool.

use std::sync::mpsc;

use session::{Broken, Pool, Weight, run};

use super::WorkerPool;

#[tokio::test]
async fn a_panic_ends_one_job_only() {
    let pool = WorkerPool::start(1, 16).unwrap();
    assert_eq!(run(&*pool, Weight::Heavy, || 1).await, Ok(1));
    assert_eq!(
        run(&*pool, Weight::Heavy, || -> u8 { panic!("announced by the test") }).await,
        Err(Broken)
    );
    assert_eq!(run(&*pool, Weight::Heavy, || 2).await, Ok(2));
    pool.stop();
    let status = pool.status();
    assert_eq!((status.panics, status.done, status.busy), (1, 3, 0));
}

#[tokio::test]
async fn a_full_queue_refuses() {
    let pool = WorkerPool::start(1, 1).unwrap();
    let (go, wait) = mpsc::channel::<()>();
    let (begun, has_begun) = mpsc::channel::<()>();
    pool.submit(Box::new(move || {
        begun.send(()).unwrap();
        wait.recv().unwrap();
    }));
    has_begun.recv().unwrap();
    let (done, is_done) = mpsc::channel::<()>();
    pool.submit(Box::new(move || done.send(()).unwrap()));
    assert_eq!(run(&*pool, Weight::Heavy, || 3).await, Err(Broken));
    assert_eq!(pool.status().refused, 1);
    go.send(()).unwrap();
    is_done.recv().unwrap();
    pool.stop();
}

#[tokio::test]
async fn a_stopped_pool_does_what_waits_and_takes_no_more() {
    let pool = WorkerPool::start(2, 100).unwrap();
    let (tell, told) = mpsc::channel();
    for number in 0..50 {
        let tell = tell.clone();
        pool.submit(Box::new(move || tell.send(number).unwrap()));
    }
    pool.stop();
    drop(tell);
    assert_eq!(told.iter().count(), 50);
    assert_eq!(run(&*pool, Weight::Heavy, || 4).await, Err(Broken));
}
