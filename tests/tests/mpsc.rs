//! Channels inside a check, each program run by the search and by plain enumeration; and parity with
//! std outside one.
//!
//! The programs that fail stand at the top, so that their line numbers stay what the stories say.

use std::collections::BTreeSet;
use std::time::Duration;

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::mpsc::{self, RecvTimeoutError, TryRecvError, TrySendError};
use raddle::{Checker, Strategy, thread};
use raddle_tests::compare::{compared, outcomes};
use raddle_tests::parity::{panics, text};
use raddle_tests::same;

const MOMENT: Duration = Duration::from_millis(1);

fn looks_too_early() {
    let (sender, receiver) = mpsc::channel();
    let other = sender.clone();
    let thread = thread::spawn(move || other.send(1).unwrap());
    drop(sender);
    assert_eq!(receiver.recv(), Ok(1));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
    thread.join().unwrap();
}

fn too_many() {
    let (sender, receiver) = mpsc::sync_channel(1);
    let other = sender.clone();
    thread::spawn(move || other.send(1).unwrap());
    sender.send(2).unwrap();
    sender.send(3).unwrap();
    drop(receiver);
}

fn nobody_comes() {
    let (sender, receiver) = mpsc::sync_channel::<u32>(0);
    let _keeps_it_open = sender.clone();
    thread::spawn(move || assert!(receiver.recv().is_ok()));
    drop(sender);
    let (sender, _receiver) = mpsc::sync_channel(0);
    sender.send(1).unwrap();
}

fn story(program: fn()) -> String {
    let checker = Checker::new().strategy(Strategy::Exhaustive).named("it");
    let report = checker.run(program);
    let failure = &report.failures[0];
    let again = Checker::new().strategy(Strategy::Replay(failure.schedule.clone()));
    assert_eq!(again.run(program).failures[0].message, failure.message);
    failure.to_string()
}

#[test]
fn a_panic_because_a_sender_is_still_there() {
    assert_eq!(
        story(looks_too_early),
        "\
panic after 1 execution (exhaustive)

  main panicked at tests/tests/mpsc.rs:25:5:
  assertion `left == right` failed
    left: Err(Empty)
   right: Err(Disconnected)

   step │ main                                        │ main.1
      1 │ spawn main.1 :22                            │
      2 │ drop Sender#1 :20                           │
      3 │                                             │ look for Receiver: there :22
      4 │                                             │ send to Channel :22
      5 │ receive from Channel (from main.1) :24      │
      6 │ try-receive from Channel: nothing there :25 │
      7 │ look for Sender#1: gone :25                 │
      8 │ look for Sender#2: there :25                │
      9 │ drop Receiver :20                           │
     10 │                                             │ drop Sender#2 :21

  Sender#1 was made at tests/tests/mpsc.rs:20
  Receiver was made at tests/tests/mpsc.rs:20
  Sender#2 was made at tests/tests/mpsc.rs:21
  Channel was made at tests/tests/mpsc.rs:20

  replay: RADDLE_REPLAY='raddle schedule 1; main: begin spawn hang-up; main.1: begin load send; \
         main: receive try-receive load load store end; main.1: hang-up end' cargo test it -- --exact
"
    );
}

#[test]
fn a_deadlock_because_nobody_receives() {
    assert_eq!(
        story(too_many),
        "\
deadlock after 1 execution (exhaustive)

  main waits at tests/tests/mpsc.rs:34 for room in Channel
  main.1 waits at tests/tests/mpsc.rs:32 for room in Channel

   step │ main                        │ main.1
      1 │ clone sender of Channel :31 │
      2 │ spawn main.1 :32            │
      3 │ send to Channel :33         │
      4 │ ⏳ send to Channel :34      │
      5 │                             │ ⏳ send to Channel :32

  Channel was made at tests/tests/mpsc.rs:30

  replay: RADDLE_REPLAY='raddle schedule 1; main: begin clone spawn send; main.1: begin' cargo \
         test it -- --exact
"
    );
}

#[test]
fn a_deadlock_because_nobody_comes() {
    assert_eq!(
        story(nobody_comes),
        "\
deadlock after 1 execution (exhaustive)

  main waits at tests/tests/mpsc.rs:44 for its message to be received from Channel#2
  main.1 waits at tests/tests/mpsc.rs:41 for a message from Channel#1

   step │ main                          │ main.1
      1 │ clone sender of Channel#1 :40 │
      2 │ spawn main.1 :41              │
      3 │ drop sender of Channel#1 :39  │
      4 │ send to Channel#2 (waits) :44 │
      5 │                               │ receive from Channel#1 (waits) :41
      6 │ ⏳ deliver to Channel#2 :44   │
      7 │                               │ ⏳ receive from Channel#1 :41

  Channel#1 was made at tests/tests/mpsc.rs:39
  Channel#2 was made at tests/tests/mpsc.rs:43

  replay: RADDLE_REPLAY='raddle schedule 1; main: begin clone spawn hang-up send; main.1: begin \
         receive' cargo test it -- --exact
"
    );
}

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
    let (seen, _) = outcomes(|| {
        let (sender, receiver) = mpsc::channel::<u32>();
        let shared = Arc::new(sender);
        for _ in 0..2 {
            let shared = Arc::clone(&shared);
            thread::spawn(move || drop(mpsc::Sender::clone(&shared)));
        }
        std::mem::forget(shared);
        receiver.try_recv().is_err()
    });
    assert_eq!(seen, BTreeSet::from([true]));
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

/// A request carries the end to answer to; a server that goes away without looking lets it go, so
/// nobody waits for ever.
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

#[test]
fn outside_a_check_an_unbounded_channel_is_std_s() {
    same!(|sync, thread| {
        use sync::mpsc;
        let mut results = Vec::new();
        let (sender, receiver) = mpsc::channel();
        results.push(text(&sender));
        results.push(text(&receiver));
        results.push(text((receiver.iter(), receiver.try_iter())));
        results.push(text(receiver.try_recv()));
        results.push(text(receiver.recv_timeout(MOMENT)));
        let other = sender.clone();
        let started = thread::spawn(move || (0..4).for_each(|number| other.send(number).unwrap()));
        results.push(text((receiver.recv(), receiver.recv())));
        started.join().unwrap();
        results.push(text(receiver.recv_timeout(MOMENT)));
        results.push(text(receiver.try_iter().collect::<Vec<_>>()));
        sender.send(4).unwrap();
        drop(sender);
        results.push(text((&receiver).into_iter().collect::<Vec<_>>()));
        results.push(text((receiver.try_recv(), receiver.recv())));
        results.push(text(receiver.recv_timeout(MOMENT)));
        results.push(text(receiver.into_iter()));
        let (sender, receiver) = mpsc::channel();
        drop(receiver);
        let error = sender.send("back").unwrap_err();
        results.push(format!("{error} {error:?} {}", error.0));
        let (sender, receiver) = mpsc::channel();
        sender.send('a').unwrap();
        drop(sender);
        results.push(text(receiver.into_iter().collect::<String>()));
        results
    });
}

#[test]
fn outside_a_check_a_bounded_channel_is_std_s() {
    same!(|sync, thread| {
        use sync::mpsc;
        let mut results = Vec::new();
        let (sender, receiver) = mpsc::sync_channel(1);
        results.push(text(&sender));
        sender.send(1).unwrap();
        let error = sender.try_send(2).unwrap_err();
        results.push(format!("{error} {error:?}"));
        results.push(text((receiver.recv(), receiver.try_recv())));
        results.push(text(sender.clone().try_send(3)));
        let started = thread::spawn(move || sender.send(4).map_err(|error| error.0));
        results.push(text((receiver.recv(), receiver.recv())));
        results.push(text(started.join().unwrap()));
        results.push(text((receiver.recv(), receiver.recv_timeout(MOMENT))));
        let (sender, receiver) = mpsc::sync_channel(0);
        results.push(text((sender.try_send(1), receiver.try_recv())));
        results.push(text(receiver.recv_timeout(MOMENT)));
        let started = thread::spawn(move || receiver.recv());
        results.push(text(sender.send(5)));
        results.push(text(started.join().unwrap()));
        let error = sender.try_send(6).unwrap_err();
        results.push(format!("{error} {error:?}"));
        results.push(text(sender.send(7)));
        results
    });
}

#[test]
fn ends_may_go_where_std_s_may() {
    use std::panic::{RefUnwindSafe, UnwindSafe};
    fn can_be_sent<T: Send>() {}
    fn can_be_shared<T: Sync>() {}
    fn can_be_caught<T: UnwindSafe + RefUnwindSafe>() {}
    same!(|sync, _thread| {
        type Awkward = std::cell::Cell<u32>;
        can_be_sent::<sync::mpsc::Receiver<Awkward>>();
        can_be_shared::<(sync::mpsc::Sender<Awkward>, sync::mpsc::SyncSender<Awkward>)>();
        can_be_caught::<(sync::mpsc::Sender<Awkward>, sync::mpsc::SyncSender<Awkward>)>();
        can_be_caught::<sync::mpsc::Receiver<Awkward>>();
    });
}

#[test]
fn a_channel_is_used_where_it_was_made() {
    let (sender, receiver) = mpsc::channel::<u32>();
    let (bounded, _) = mpsc::sync_channel::<u32>(1);
    let report = Checker::new()
        .keep_going(true)
        .run(|| match raddle::choose(0..3) {
            0 => _ = sender.send(1),
            1 => _ = bounded.send(1),
            _ => _ = bounded.try_send(1),
        });
    assert_eq!(report.failures.len(), 3);
    let told = "outside the check is used inside it; make it inside the body";
    assert!(
        report
            .failures
            .iter()
            .all(|failure| failure.message.contains(told)),
        "{report}"
    );
    sender.send(2).unwrap();
    assert_eq!(receiver.recv(), Ok(2));

    let leaked = std::sync::Mutex::new(None);
    raddle::check(|| {
        let (sender, receiver) = mpsc::channel::<u32>();
        let (bounded, other) = mpsc::sync_channel::<u32>(1);
        *leaked.lock().unwrap() = Some((sender, receiver, bounded, other));
    });
    let (sender, receiver, bounded, other) = leaked.into_inner().unwrap().unwrap();
    let told = "inside a check is used outside its execution";
    assert!(panics(|| _ = sender.send(1)).contains(told));
    assert!(panics(|| _ = receiver.recv()).contains(told));
    assert!(panics(|| _ = bounded.send(1)).contains(told));
    assert!(panics(|| _ = other.try_recv()).contains(told));
}
