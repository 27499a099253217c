//! Plain ports, and selections among them.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::Port;

#[test]
fn messages_are_received_in_the_order_they_were_sent() {
    let port = Port::asynchronous();
    let (first, second) = (port.sender(), port.sender().clone());
    first.send(1);
    second.send(2);
    first.send(3);
    assert_eq!([port.receive(), port.receive(), port.receive()], [1, 2, 3]);
    assert_eq!(format!("{port:?} {first:?}"), "Port { .. } Sender { .. }");
}

#[test]
fn nothing_is_lost_between_many_threads() {
    for port in [Port::asynchronous(), Port::synchronous(), Port::bounded(2)] {
        thread::scope(|scope| {
            for sender in 0..4 {
                let end = port.sender();
                scope.spawn(move || (0..100).for_each(|number| end.send((sender, number))));
            }
            let mut next = [0; 4];
            for _ in 0..400 {
                let (sender, number) = port.receive();
                assert_eq!(number, next[sender]);
                next[sender] += 1;
            }
        });
    }
}

#[test]
fn a_synchronous_send_waits_until_the_message_is_received() {
    let port = Port::synchronous();
    let received = AtomicUsize::new(0);
    let (done, sends) = mpsc::channel();
    thread::scope(|scope| {
        let (end, received) = (port.sender(), &received);
        scope.spawn(move || {
            for number in 1..=50 {
                end.send(number);
                assert!(received.load(SeqCst) + 1 >= number);
                done.send(number).unwrap();
            }
        });
        assert!(sends.recv_timeout(Duration::from_millis(20)).is_err());
        for number in 1..=50 {
            assert_eq!(port.receive(), number);
            received.store(number, SeqCst);
            assert_eq!(sends.recv(), Ok(number));
        }
    });
}

#[test]
fn a_bounded_port_makes_senders_wait_for_room() {
    let port = Port::bounded(2);
    let (done, sends) = mpsc::channel();
    thread::scope(|scope| {
        let end = port.sender();
        scope.spawn(move || {
            for number in 0..3 {
                end.send(number);
                done.send(number).unwrap();
            }
        });
        assert_eq!((sends.recv(), sends.recv()), (Ok(0), Ok(1)));
        assert!(sends.recv_timeout(Duration::from_millis(20)).is_err());
        assert_eq!(port.receive(), 0);
        assert_eq!(sends.recv(), Ok(2));
    });
}

#[test]
#[should_panic(expected = "use `Port::synchronous`")]
fn a_port_without_room_is_refused() {
    Port::<()>::bounded(0);
}
