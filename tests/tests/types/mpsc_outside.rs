//! Channels outside a check are std's: the same calls on both, the same results.

use std::time::Duration;

use raddle::Checker;
use raddle::sync::mpsc;
use raddle_tests::parity::{panics, text};
use raddle_tests::same;

const MOMENT: Duration = Duration::from_millis(1);

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
        for left in &receiver {
            results.push(text(left));
        }
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
