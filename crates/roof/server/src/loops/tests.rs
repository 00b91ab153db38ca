//! Tests of the network loops.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream as Client};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::Loops;

#[test]
fn connections_take_turns_and_stay_where_they_are() {
    let loops = Loops::start(2).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut clients = Vec::new();
    for _ in 0..4 {
        clients.push(Client::connect(listener.local_addr().unwrap()).unwrap());
        let (stream, _) = listener.accept().unwrap();
        stream.set_nonblocking(true).unwrap();
        loops.serve(stream, |mut stream| async move {
            while stream.read_u8().await.is_ok() {
                let thread = std::thread::current();
                stream.write_all(thread.name().unwrap().as_bytes()).await.unwrap();
            }
        });
    }
    for round in 0..3 {
        for (number, client) in clients.iter_mut().enumerate() {
            client.write_all(b"?").unwrap();
            let mut name = [0; 9];
            client.read_exact(&mut name).unwrap();
            assert_eq!(name, *format!("network-{}", number % 2).as_bytes(), "round {round}");
        }
    }
    loops.stop(Duration::from_secs(20));
    for client in &mut clients {
        assert_eq!(client.read(&mut [0; 1]).unwrap_or(0), 0, "the connection was ended");
    }
}
