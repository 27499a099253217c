//! Data races: what messages order, and what they do not.

use std::sync::atomic::Ordering::Relaxed;

use raddle::port::Port;
use raddle::sync::atomic::AtomicU32;
use raddle::sync::{Arc, mpsc};
use raddle::thread;
use raddle_tests::races::{Shared, checker, is_clean, is_racy, races_in};

/// The bounds of channels; none is a channel without one.
const BOUNDS: [Option<usize>; 4] = [None, Some(0), Some(1), Some(2)];

/// A way to send, and where it arrives.
type Ends = (Box<dyn Fn(u32) + Send>, mpsc::Receiver<u32>);

fn channel(bound: Option<usize>) -> Ends {
    match bound {
        None => {
            let (sender, receiver) = mpsc::channel();
            (Box::new(move |value| sender.send(value).unwrap()), receiver)
        }
        Some(bound) => {
            let (sender, receiver) = mpsc::sync_channel(bound);
            (Box::new(move |value| sender.send(value).unwrap()), receiver)
        }
    }
}

#[test]
fn a_message_brings_what_its_sender_did_before() {
    for bound in BOUNDS {
        let program = move |late: bool| {
            let shared = Arc::new(Shared::default());
            let other = Arc::clone(&shared);
            let (send, receiver) = channel(bound);
            let thread = thread::spawn(move || {
                if !late {
                    other.write();
                }
                send(1);
                if late {
                    other.write();
                }
            });
            assert_eq!(receiver.recv(), Ok(1));
            shared.read();
            thread.join().unwrap();
        };
        is_clean(move || program(false));
        is_racy(move || program(true));
    }
}

#[test]
fn that_all_senders_are_gone_is_a_message_too() {
    for bound in BOUNDS {
        is_clean(move || {
            let shared = Arc::new(Shared::default());
            let other = Arc::clone(&shared);
            let (send, receiver) = channel(bound);
            let thread = thread::spawn(move || {
                other.write();
                drop(send);
            });
            assert!(receiver.recv().is_err());
            shared.write();
            thread.join().unwrap();
        });
    }
}

#[test]
fn an_empty_channel_brings_nothing_from_a_sender_that_is_gone() {
    is_racy(|| {
        // A weak access, so that the program is not run as a sequentially consistent one.
        AtomicU32::new(0).store(1, Relaxed);
        let shared = Arc::new(Shared::default());
        let other = Arc::clone(&shared);
        let (sender, receiver) = mpsc::channel::<u32>();
        let gone = sender.clone();
        let thread = thread::spawn(move || {
            other.write();
            drop(gone);
        });
        assert_eq!(receiver.try_recv(), Err(mpsc::TryRecvError::Empty));
        shared.read();
        thread.join().unwrap();
        drop(sender);
    });
}

#[test]
fn a_message_brings_nothing_from_those_behind_it() {
    let program = |bounded: bool| {
        let shared = Arc::new(Shared::default());
        let senders: [Box<dyn FnOnce(u32) + Send>; 2];
        let receiver: mpsc::Receiver<u32>;
        if bounded {
            let (sender, end) = mpsc::sync_channel(2);
            let other = sender.clone();
            senders = [
                Box::new(move |value| sender.send(value).unwrap()),
                Box::new(move |value| other.send(value).unwrap()),
            ];
            receiver = end;
        } else {
            let (sender, end) = mpsc::channel();
            let other = sender.clone();
            senders = [
                Box::new(move |value| sender.send(value).unwrap()),
                Box::new(move |value| other.send(value).unwrap()),
            ];
            receiver = end;
        }
        let [first, second] = senders;
        let other = Arc::clone(&shared);
        let threads = [
            thread::spawn(move || first(1)),
            thread::spawn(move || {
                other.write();
                second(2);
            }),
        ];
        if receiver.recv() == Ok(1) {
            shared.read();
        }
        for thread in threads {
            thread.join().unwrap();
        }
        drop(receiver);
    };
    // Either message may be first; if it is the other one, nothing is known of the write.
    for bounded in [false, true] {
        for (racy, classes) in races_in(&checker(), move || program(bounded)) {
            assert!(racy > 0 && racy < classes, "{racy} of {classes}");
        }
    }
}

#[test]
fn room_in_a_channel_says_what_the_receiver_did() {
    for bound in [0, 1, 2] {
        let program = move |sent: u32| {
            let shared = Arc::new(Shared::default());
            let other = Arc::clone(&shared);
            let (sender, receiver) = mpsc::sync_channel(bound);
            let thread = thread::spawn(move || {
                for number in 0..sent {
                    sender.send(number).unwrap();
                }
                other.write();
            });
            shared.write();
            for number in 0..sent {
                assert_eq!(receiver.recv(), Ok(number));
            }
            thread.join().unwrap();
        };
        let sent = bound as u32;
        is_clean(move || program(sent + 1));
        is_racy(move || program(sent));
    }
}

#[test]
fn ports() {
    let program = |late: bool| {
        let shared = Arc::new(Shared::default());
        let other = Arc::clone(&shared);
        let port = Port::asynchronous();
        let sender = port.sender();
        let thread = thread::spawn(move || {
            if !late {
                other.write();
            }
            sender.send(1);
            if late {
                other.write();
            }
        });
        assert_eq!(port.receive(), 1);
        shared.write();
        thread.join().unwrap();
    };
    is_clean(move || program(false));
    is_racy(move || program(true));
}
