//! Channels inside a check, each program run by the search and by plain enumeration.

use std::collections::BTreeSet;
use std::time::Duration;

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::mpsc::{self, RecvTimeoutError, TryRecvError, TrySendError};
use raddle::{Checker, thread};
use raddle_tests::compare::{compared, outcomes};

const MOMENT: Duration = Duration::from_millis(1);

#[test]
fn messages_of_two_senders_arrive_in_either_order() {
    let (seen, classes) = outcomes(|| {
        let (sender, receiver) = mpsc::channel();
        let other = sender.clone();
        thread::spawn(move || sender.send(1).unwrap());
        thread::spawn(move || other.send(2).unwrap());
        receiver.iter().collect::<Vec<_>>()
    });
    assert_eq!(seen, BTreeSet::from([vec![1, 2], vec![2, 1]]));
    assert_eq!(classes, 2);
}

/// Unlike in a port, a message that was sent after another one was is received after it.
#[test]
fn messages_never_overtake_each_other() {
    let (seen, classes) = outcomes(|| {
        let (sender, receiver) = mpsc::channel();
        let (told, told_by) = mpsc::channel();
        let second = sender.clone();
        thread::spawn(move || {
            sender.send(1).unwrap();
            told.send(()).unwrap();
        });
        thread::spawn(move || {
            told_by.recv().unwrap();
            second.send(2).unwrap();
        });
        [receiver.recv(), receiver.recv(), receiver.recv()]
            .map(|result| result.map_err(|error| error.to_string()))
    });
    let closed = Err("receiving on a closed channel".to_owned());
    assert_eq!(seen, BTreeSet::from([[Ok(1), Ok(2), closed]]));
    assert_eq!(classes, 1);
}

#[test]
fn trying_finds_a_message_or_none() {
    let (seen, classes) = outcomes(|| {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || sender.send(1).unwrap());
        let found = receiver.try_recv().map_err(|error| format!("{error:?}"));
        thread.join().unwrap();
        found
    });
    assert_eq!(seen, BTreeSet::from([Ok(1), Err("Empty".to_owned())]));
    // Found at once; found when the sender had gone meanwhile; not found.
    assert_eq!(classes, 3);
}

#[test]
fn trying_finds_out_that_all_senders_are_gone() {
    let (seen, classes) = outcomes(|| {
        let (sender, receiver) = mpsc::channel::<u32>();
        let other = sender.clone();
        thread::spawn(move || drop(sender));
        thread::spawn(move || drop(other));
        [receiver.try_recv(), receiver.try_recv()]
            .map(|result| format!("{:?}", result.unwrap_err()))
    });
    let both = |first: &str, second: &str| [first.to_owned(), second.to_owned()];
    let expected = [
        both("Empty", "Empty"),
        both("Empty", "Disconnected"),
        both("Disconnected", "Disconnected"),
    ];
    assert_eq!(seen, BTreeSet::from(expected));
    // Each attempt sees the first sender, the second only, or none: 3 ways for the first attempt. If
    // it saw the first one, 3 again for the second attempt; if the second only, 2; if none, 1.
    assert_eq!(classes, 6);
}

/// Senders that are cloned by threads at the same time are looked at in the same order whatever the
/// schedule.
#[test]
fn trying_is_deterministic_whoever_clones_first() {
    let (seen, _) = outcomes(|| {
        let (sender, receiver) = mpsc::channel::<u32>();
        thread::scope(|scope| {
            for number in 0..2 {
                let sender = &sender;
                scope.spawn(move || {
                    let own = sender.clone();
                    own.send(number).unwrap();
                });
            }
        });
        drop(sender);
        let found = BTreeSet::from([receiver.try_recv().ok(), receiver.try_recv().ok()]);
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
        found
    });
    assert_eq!(seen, BTreeSet::from([BTreeSet::from([Some(0), Some(1)])]));
}

#[test]
fn a_send_finds_out_that_the_receiver_is_gone() {
    let (seen, classes) = outcomes(|| {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || drop(receiver));
        [sender.send(1), sender.send(2)].map(|result| result.map_err(|error| error.0))
    });
    let expected = [[Ok(()), Ok(())], [Ok(()), Err(2)], [Err(1), Err(2)]];
    assert_eq!(seen, BTreeSet::from(expected));
    assert_eq!(classes, 3);
}

#[test]
fn the_time_may_run_out() {
    let program = || {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || sender.send(1).unwrap());
        let results = [receiver.recv_timeout(MOMENT), receiver.recv_timeout(MOMENT)];
        thread.join().unwrap();
        results.map(|result| result.map_err(|error| format!("{error:?}")))
    };
    let (timeout, closed) = (Err("Timeout".to_owned()), Err("Disconnected".to_owned()));
    let (seen, _) = outcomes(program);
    let expected = [
        [Ok(1), closed.clone()],
        [Ok(1), timeout.clone()],
        [timeout.clone(), Ok(1)],
        [timeout.clone(), timeout],
    ];
    assert_eq!(seen, BTreeSet::from(expected));
    let patient = compared(&Checker::new().timeouts(false), program);
    assert_eq!(patient.outcomes, BTreeSet::from([[Ok(1), closed]]));
    assert_eq!(patient.classes, 1);
}

/// A request carries the end to answer to; a server that goes away without receiving drops it, so
/// the client does not wait for ever.
#[test]
fn messages_that_nobody_received_are_dropped_with_the_receiver() {
    let (seen, _) = outcomes(|| {
        let (requests, server) = mpsc::channel::<mpsc::Sender<u32>>();
        let server = thread::spawn(move || drop(server));
        let (reply, answer) = mpsc::channel();
        let sent = requests.send(reply).is_ok();
        let answered = answer.recv().is_ok();
        server.join().unwrap();
        (sent, answered)
    });
    assert_eq!(seen, BTreeSet::from([(false, false), (true, false)]));
}

#[test]
fn a_buffer_makes_senders_wait_for_room() {
    let sends_before_a_receive = |bound: usize| {
        let (seen, _) = outcomes(move || {
            let (sender, receiver) = mpsc::sync_channel(bound);
            let done = Arc::new(AtomicU32::new(0));
            let counted = Arc::clone(&done);
            thread::spawn(move || {
                for number in 0..2 {
                    sender.send(number).unwrap();
                    counted.store(number + 1, SeqCst);
                }
            });
            let before = done.load(SeqCst);
            assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1]);
            before
        });
        seen.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(sends_before_a_receive(0), [0]);
    assert_eq!(sends_before_a_receive(1), [0, 1]);
    assert_eq!(sends_before_a_receive(2), [0, 1, 2]);
}

fn tried<T>(result: Result<(), TrySendError<T>>) -> &'static str {
    match result {
        Ok(()) => "sent",
        Err(TrySendError::Full(_)) => "full",
        Err(TrySendError::Disconnected(_)) => "disconnected",
    }
}

#[test]
fn trying_to_send_needs_room() {
    let (seen, classes) = outcomes(|| {
        let (sender, receiver) = mpsc::sync_channel(1);
        let other = sender.clone();
        let thread = thread::spawn(move || tried(other.try_send(1)));
        let own = tried(sender.try_send(2));
        let others = thread.join().unwrap();
        drop(sender);
        (own, others, receiver.iter().collect::<Vec<_>>())
    });
    let expected = [("full", "sent", vec![1]), ("sent", "full", vec![2])];
    assert_eq!(seen, BTreeSet::from(expected));
    // The own attempt comes before the other one, between that and its end, or after both.
    assert_eq!(classes, 3);
}

/// Without a buffer, one side's attempt succeeds only if the other side waits.
#[test]
fn a_meeting_needs_somebody_who_waits() {
    let (seen, _) = outcomes(|| {
        let (sender, receiver) = mpsc::sync_channel(0);
        let thread = thread::spawn(move || receiver.recv().map_err(|error| error.to_string()));
        let sent = tried(sender.try_send(7));
        drop(sender);
        (sent, thread.join().unwrap())
    });
    let closed = Err("receiving on a closed channel".to_owned());
    assert_eq!(seen, BTreeSet::from([("sent", Ok(7)), ("full", closed)]));

    let (seen, _) = outcomes(|| {
        let (sender, receiver) = mpsc::sync_channel(0);
        let thread = thread::spawn(move || sender.send(7).map_err(|error| error.0));
        let received = receiver.try_recv().map_err(|error| format!("{error:?}"));
        drop(receiver);
        (received, thread.join().unwrap())
    });
    let empty = Err("Empty".to_owned());
    assert_eq!(seen, BTreeSet::from([(Ok(7), Ok(())), (empty, Err(7))]));

    let (seen, _) = outcomes(|| {
        let (sender, receiver) = mpsc::sync_channel(0);
        let thread = thread::spawn(move || tried(sender.try_send(7)));
        let received = receiver.try_recv().map_err(|error| format!("{error:?}"));
        (received, thread.join().unwrap())
    });
    let expected = [
        (Err("Disconnected".to_owned()), "full"),
        (Err("Empty".to_owned()), "full"),
    ];
    assert_eq!(seen, BTreeSet::from(expected), "two attempts never meet");
}

#[test]
fn the_time_for_a_meeting_may_run_out() {
    let (seen, _) = outcomes(|| {
        let (sender, receiver) = mpsc::sync_channel(0);
        let thread = thread::spawn(move || tried(sender.try_send(7)));
        let received = receiver.recv_timeout(MOMENT);
        let timed_out = received == Err(RecvTimeoutError::Timeout);
        drop(receiver);
        (received.is_ok(), timed_out, thread.join().unwrap())
    });
    let expected = [
        (true, false, "sent"),
        (false, true, "full"),
        (false, true, "disconnected"),
        (false, false, "full"),
    ];
    assert_eq!(seen, BTreeSet::from(expected));
}

#[test]
fn those_who_wait_are_told_when_the_other_side_goes() {
    for bound in [0, 1] {
        let (seen, _) = outcomes(move || {
            let (sender, receiver) = mpsc::sync_channel(bound);
            let thread = thread::spawn(move || {
                [sender.send(1), sender.send(2)].map(|result| result.map_err(|error| error.0))
            });
            assert_eq!(receiver.recv(), Ok(1));
            drop(receiver);
            thread.join().unwrap()
        });
        let mut expected = BTreeSet::from([[Ok(()), Err(2)]]);
        if bound == 1 {
            expected.insert([Ok(()), Ok(())]);
        }
        assert_eq!(seen, expected);
        let (seen, _) = outcomes(move || {
            let (sender, receiver) = mpsc::sync_channel::<u32>(bound);
            let thread = thread::spawn(move || receiver.recv().is_err());
            drop(sender);
            thread.join().unwrap()
        });
        assert_eq!(seen, BTreeSet::from([true]));
    }
}
