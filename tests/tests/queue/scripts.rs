//! Steps on a server of Redis send the digests of their scripts, which the server may lose.

use std::io::{Read, Write};
use std::net::TcpStream;

use raddle_queue::{Queue, Run};

use crate::proxy::Proxy;
use crate::server::{Kind, Server};

fn connect(address: &str) -> Box<dyn Queue> {
    raddle_queue::connect(&address.parse().unwrap()).unwrap()
}

fn run() -> Run {
    Run {
        version: "1".to_owned(),
        environment: Vec::new(),
    }
}

/// Sends a command to a server and returns the reply.
pub fn command(port: u16, line: &str) -> String {
    let mut connection = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(connection, "{line}\r\nQUIT\r\n").unwrap();
    let mut reply = String::new();
    connection.read_to_string(&mut reply).unwrap();
    reply
}

#[test]
fn scripts_that_the_server_has_lost_are_sent_again() {
    let Some(server) = Server::own(Kind::Redis) else {
        return;
    };
    let mut queue = connect(&server.address());
    queue.open_run(&run()).unwrap();
    for _ in 0..2 {
        let reply = command(server.port(), "SCRIPT FLUSH");
        assert!(reply.starts_with("+OK"), "{reply}");
        assert_eq!(queue.run().unwrap(), Some(run()));
    }
    queue.remove_run().unwrap();
    assert_eq!(queue.run().unwrap(), None);
}

#[test]
fn a_script_is_sent_once_and_not_with_each_step() {
    let Some(server) = Server::own(Kind::Redis) else {
        return;
    };
    let proxy = Proxy::start(server.port());
    let mut queue = connect(&server.address_by(proxy.port()));
    let mut bytes = |times: u64| {
        let before = proxy.bytes();
        (0..times).for_each(|_| assert_eq!(queue.run().unwrap(), None));
        proxy.bytes() - before
    };
    let (first, later) = (bytes(1), bytes(100) / 100);
    // The names of all keys are in every step; a script has some thousand bytes.
    assert!(first > 2_500, "{first} bytes in the first step");
    assert!(later < 1_000, "{later} bytes in each later step");
}
