//! Tests of the control socket.

use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use super::asking::ask_with;
use super::{Control, Reached, ShortPath, ask, reach};
use crate::layout::DataDir;
use crate::progress::{Progress, Unheard};
use crate::request::{Reply, Request};

/// A data directory whose path is longer than a socket path may be.
fn long_place(dir: &tempfile::TempDir) -> DataDir {
    let data = DataDir::new(dir.path().join("d".repeat(120)));
    data.make().unwrap();
    data
}

fn echo(request: Request, progress: &mut dyn Progress) -> Reply {
    match request {
        Request::Console { line } if line == "long" => {
            let mut done = 0;
            while progress.step("counting", done, 0).is_continue() {
                done += 1;
                std::thread::yield_now();
            }
            Reply::done("stopped in order")
        }
        Request::Console { line } if line == "bug" => panic!("announced by the test"),
        Request::Console { line } => Reply::done(line),
        _ => Reply::refused("only console"),
    }
}

fn line(text: &str) -> Request {
    Request::Console { line: text.to_owned() }
}

#[test]
fn requests_and_replies_go_round() {
    let dir = tempfile::tempdir().unwrap();
    let data = long_place(&dir);
    assert_eq!(ask(&data.run(), &Request::Status).unwrap(), None);
    let control = Control::open(&data.run()).unwrap();
    assert_eq!(ask(&data.run(), &Request::Status).unwrap(), Some(Reply::Starting));
    control.answer_with(Arc::new(echo));
    let long = "x".repeat(500_000);
    assert_eq!(ask(&data.run(), &line(&long)).unwrap(), Some(Reply::done(long)));
    let refused = ask(&data.run(), &Request::Status).unwrap().unwrap();
    assert_eq!(refused.exit_code(), 2);
    control.close();
    assert_eq!(ask(&data.run(), &Request::Status).unwrap(), None);
}

#[test]
fn the_socket_is_private_and_a_left_over_one_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let data = long_place(&dir);
    std::fs::write(data.run().join("control.sock"), "left over").unwrap();
    let _control = Control::open(&data.run()).unwrap();
    let mode = std::fs::metadata(data.run().join("control.sock")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_bug_in_a_command_ends_that_command_only() {
    let dir = tempfile::tempdir().unwrap();
    let data = long_place(&dir);
    let control = Control::open(&data.run()).unwrap();
    control.answer_with(Arc::new(echo));
    let trouble = ask(&data.run(), &line("bug")).unwrap().unwrap();
    assert_eq!(trouble.exit_code(), 3);
    assert_eq!(ask(&data.run(), &line("fine")).unwrap(), Some(Reply::done("fine")));
}

#[test]
fn hostile_lines_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let data = long_place(&dir);
    let control = Control::open(&data.run()).unwrap();
    control.answer_with(Arc::new(echo));
    for bytes in [&b"{}\n"[..], b"[[[[\n", b"\xff\xfe\n", b"no end of line", b"\n"] {
        let path = ShortPath::open(&data.run()).unwrap();
        let mut stream = UnixStream::connect(path.socket()).unwrap();
        stream.write_all(bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.is_empty() || answer.contains("refused"), "{answer}");
    }
    assert_eq!(ask(&data.run(), &line("fine")).unwrap(), Some(Reply::done("fine")));
}

#[test]
fn without_a_holder_the_command_takes_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    let data = long_place(&dir);
    let Reached::Owned(lock) =
        reach(&data, &Request::Status, Duration::ZERO, &mut Unheard).unwrap()
    else {
        panic!("nobody was there to answer")
    };
    let error = reach(&data, &Request::Status, Duration::ZERO, &mut Unheard).unwrap_err();
    assert!(error.to_string().contains("did not answer"), "{error}");
    let control = Control::open(&data.run()).unwrap();
    control.answer_with(Arc::new(echo));
    let reached = reach(&data, &line("there"), Duration::ZERO, &mut Unheard).unwrap();
    assert!(matches!(reached, Reached::Server(reply) if reply == Reply::done("there")));
    drop(lock);
}

#[test]
fn a_starting_server_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let data = long_place(&dir);
    let _lock = data.lock().unwrap().unwrap();
    let control = Arc::new(Control::open(&data.run()).unwrap());
    let asking = {
        let data = data.clone();
        std::thread::spawn(move || {
            reach(&data, &line("late"), Duration::from_secs(30), &mut Unheard).unwrap()
        })
    };
    control.answer_with(Arc::new(echo));
    let reached = asking.join().unwrap();
    assert!(matches!(reached, Reached::Server(reply) if reply == Reply::done("late")));
}

/// Stops the work after some steps were heard.
struct Impatient {
    heard: usize,
    steps_max: usize,
}

impl Progress for Impatient {
    fn step(&mut self, what: &str, _: u64, _: u64) -> ControlFlow<()> {
        assert_eq!(what, "counting");
        self.heard += 1;
        self.look()
    }

    fn look(&mut self) -> ControlFlow<()> {
        match self.heard >= self.steps_max {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

#[test]
fn long_work_tells_its_steps_and_is_stopped_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let data = long_place(&dir);
    let control = Control::open(&data.run()).unwrap();
    control.answer_with(Arc::new(echo));
    for steps_max in [1, 2] {
        let mut asker = Impatient { heard: 0, steps_max };
        let reply = ask_with(&data.run(), &line("long"), &mut asker).unwrap();
        assert_eq!(reply, Some(Reply::done("stopped in order")));
        assert!(asker.heard >= steps_max);
    }
}

#[test]
fn work_ends_when_the_command_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let data = long_place(&dir);
    let control = Control::open(&data.run()).unwrap();
    let (ended, end) = std::sync::mpsc::channel();
    control.answer_with(Arc::new(move |request, progress: &mut dyn Progress| {
        let reply = echo(request, progress);
        ended.send(()).unwrap();
        reply
    }));
    let path = ShortPath::open(&data.run()).unwrap();
    let mut stream = UnixStream::connect(path.socket()).unwrap();
    let mut request = serde_json::to_vec(&line("long")).unwrap();
    request.push(b'\n');
    stream.write_all(&request).unwrap();
    drop(stream);
    end.recv_timeout(Duration::from_secs(60)).unwrap();
}
