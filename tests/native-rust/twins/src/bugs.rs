//! Programs with one bug each.

use super::cell::UnsafeCell;
use super::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use super::sync::{Arc, Barrier, Condvar, Mutex, Once, RwLock, mpsc};
use super::thread;

use Ordering::{Acquire, Relaxed, Release, SeqCst};

/// Two who add one in two steps.
pub fn lost_update() {
    let counter = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&counter);
    let thread = thread::spawn(move || {
        let value = other.load(SeqCst);
        other.store(value + 1, SeqCst);
    });
    let value = counter.load(SeqCst);
    counter.store(value + 1, SeqCst);
    thread.join().unwrap();
    assert_eq!(counter.load(SeqCst), 2, "an update was lost");
}

/// The same in a scope.
pub fn scoped_update() {
    let counter = AtomicU32::new(0);
    let add = || {
        let value = counter.load(SeqCst);
        counter.store(value + 1, SeqCst);
    };
    thread::scope(|scope| {
        scope.spawn(add);
        scope.spawn(add);
    });
    assert_eq!(counter.load(SeqCst), 2, "an update was lost");
}

/// Two locks, taken in two orders.
pub fn opposite_orders() {
    let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
    let other = Arc::clone(&locks);
    let thread = thread::spawn(move || {
        let _first = other.0.lock().unwrap();
        let _second = other.1.lock().unwrap();
    });
    let second = locks.1.lock().unwrap();
    let first = locks.0.lock().unwrap();
    drop((first, second));
    thread.join().unwrap();
}

/// The same by threads that have names.
pub fn named_threads() {
    let forks = Arc::new([Mutex::new(()), Mutex::new(())]);
    let start = |name: &str, first: usize| {
        let forks = Arc::clone(&forks);
        let eat = move || {
            let _first = forks[first].lock().unwrap();
            let _second = forks[1 - first].lock().unwrap();
        };
        thread::Builder::new().name(name.into()).spawn(eat).unwrap()
    };
    let guests = [start("alice", 0), start("bob", 1)];
    for guest in guests {
        guest.join().unwrap();
    }
}

/// The flag is set without the lock that who waits for it holds.
pub fn lost_wakeup() {
    let shared = Arc::new((Mutex::new(()), Condvar::new(), AtomicBool::new(false)));
    let other = Arc::clone(&shared);
    let thread = thread::spawn(move || {
        let (lock, condition, ready) = &*other;
        let mut guard = lock.lock().unwrap();
        while !ready.load(SeqCst) {
            guard = condition.wait(guard).unwrap();
        }
    });
    let (_, condition, ready) = &*shared;
    ready.store(true, SeqCst);
    condition.notify_one();
    thread.join().unwrap();
}

/// Who waits does not look again when woken.
pub fn woken_without_reason() {
    let shared = Arc::new((Mutex::new(false), Condvar::new()));
    let other = Arc::clone(&shared);
    let thread = thread::spawn(move || {
        let (ready, condition) = &*other;
        let mut guard = ready.lock().unwrap();
        if !*guard {
            guard = condition.wait(guard).unwrap();
        }
        assert!(*guard, "too early");
    });
    let (ready, condition) = &*shared;
    *ready.lock().unwrap() = true;
    condition.notify_one();
    thread.join().unwrap();
}

/// What was looked at under a lock is relied on after it.
pub fn check_then_act() {
    let balance = Arc::new(Mutex::new(10));
    let other = Arc::clone(&balance);
    let thread = thread::spawn(move || {
        if *other.lock().unwrap() >= 7 {
            *other.lock().unwrap() -= 7;
        }
    });
    if *balance.lock().unwrap() >= 7 {
        *balance.lock().unwrap() -= 7;
    }
    thread.join().unwrap();
    assert!(*balance.lock().unwrap() >= 0, "overdrawn");
}

/// More is received than is sent.
pub fn too_few_messages() {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        receiver.recv().unwrap();
        receiver.recv().unwrap();
    });
    sender.send(1).unwrap();
    thread.join().unwrap();
}

/// Both want to be received from before they receive.
pub fn both_send_first() {
    let (question, questions) = mpsc::sync_channel(0);
    let (answer, answers) = mpsc::sync_channel(0);
    let thread = thread::spawn(move || {
        answer.send(1).unwrap();
        questions.recv().unwrap();
    });
    question.send(1).unwrap();
    answers.recv().unwrap();
    thread.join().unwrap();
}

/// Both read, and want to write before they have stopped reading.
pub fn upgrade() {
    let text = Arc::new(RwLock::new(0));
    let other = Arc::clone(&text);
    let thread = thread::spawn(move || {
        let value = other.read().unwrap();
        *other.write().unwrap() = *value + 1;
    });
    let value = text.read().unwrap();
    drop(value);
    thread.join().unwrap();
}

/// Whether it was done is asked before it is done.
pub fn set_up_twice() {
    let shared = Arc::new((Once::new(), AtomicU32::new(0)));
    let other = Arc::clone(&shared);
    let set_up = |(once, times): &(Once, AtomicU32)| {
        if !once.is_completed() {
            times.fetch_add(1, SeqCst);
            once.call_once(|| {});
        }
    };
    let thread = thread::spawn(move || set_up(&other));
    set_up(&shared);
    thread.join().unwrap();
    assert_eq!(shared.1.load(SeqCst), 1, "set up twice");
}

/// A meeting of three to which two come.
pub fn one_too_few() {
    let barrier = Arc::new(Barrier::new(3));
    let other = Arc::clone(&barrier);
    let thread = thread::spawn(move || {
        other.wait();
    });
    barrier.wait();
    thread.join().unwrap();
}

/// Who is woken has nothing to see yet.
pub fn unparked_too_early() {
    let ready = Arc::new(AtomicBool::new(false));
    let other = Arc::clone(&ready);
    let thread = thread::spawn(move || {
        while !other.load(SeqCst) {
            thread::park();
        }
    });
    thread.thread().unpark();
    ready.store(true, SeqCst);
    thread.join().unwrap();
}

/// A thread panics, and with it who joins it.
pub fn assertion_in_a_thread() {
    let ready = Arc::new(AtomicBool::new(false));
    let other = Arc::clone(&ready);
    let thread = thread::spawn(move || {
        assert!(other.load(SeqCst), "too early");
    });
    ready.store(true, SeqCst);
    thread.join().unwrap();
}

/// A lock that was free is taken.
pub fn lock_is_taken() {
    let value = Arc::new(Mutex::new(0));
    let other = Arc::clone(&value);
    let thread = thread::spawn(move || {
        *other.lock().unwrap() += 1;
    });
    *value.try_lock().expect("nobody has it") += 1;
    thread.join().unwrap();
}

struct Slot {
    answer: UnsafeCell<u32>,
    ready: AtomicBool,
}

// SAFETY: the answer is only read when `ready` says that it is there.
unsafe impl Sync for Slot {}

/// A flag that does not bring with it what was written before.
pub fn published_too_weakly() {
    let slot = Arc::new(Slot {
        answer: UnsafeCell::new(0),
        ready: AtomicBool::new(false),
    });
    let other = Arc::clone(&slot);
    let writer = thread::spawn(move || {
        // SAFETY: `ready` is not set yet, so main does not read.
        other.answer.with_mut(|answer| unsafe { *answer = 42 });
        other.ready.store(true, Relaxed);
    });
    if slot.ready.load(Relaxed) {
        // SAFETY: it is there.
        slot.answer
            .with(|answer| assert_eq!(unsafe { *answer }, 42));
    }
    writer.join().unwrap();
}

/// The same with an atomic value, which is old.
pub fn stale_message() {
    let slot = Arc::new((AtomicU32::new(0), AtomicBool::new(false)));
    let other = Arc::clone(&slot);
    let writer = thread::spawn(move || {
        other.0.store(42, Relaxed);
        other.1.store(true, Relaxed);
    });
    if slot.1.load(Acquire) {
        assert_eq!(slot.0.load(Relaxed), 42, "the message is old");
    }
    writer.join().unwrap();
}

/// Each says that it wants to enter, and sees nothing of the other.
pub fn both_enter() {
    let doors = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
    let other = Arc::clone(&doors);
    let enters = |doors: &[AtomicBool; 2], own: usize| {
        doors[own].store(true, Release);
        !doors[1 - own].load(Acquire)
    };
    let thread = thread::spawn(move || enters(&other, 1));
    let entered = enters(&doors, 0);
    assert!(!(thread.join().unwrap() && entered), "both are inside");
}
