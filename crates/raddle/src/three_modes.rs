//! One small script for each primitive, which has the same result in all modes: inside a check in
//! every execution, outside a check, and without the feature.
//!
//! Compiled here, where the feature is off or on, and once more by `tests/tests/three_modes.rs`,
//! which also runs the scripts inside checks. The table in the book lists the same primitives.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use raddle::cell::UnsafeCell;
use raddle::future::AtomicWaker;
use raddle::monitor::{Discipline, Monitor};
use raddle::port::Port;
use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed, Ordering::SeqCst, fence};
use raddle::sync::{
    Arc, Barrier, BinarySemaphore, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, Semaphore,
    TrackedArc, mpsc,
};
use raddle::time::Instant;
use raddle::{future, hint, thread};

/// Passes the list to a macro. For each primitive: its script, its name, the result of the script,
/// and its number of classes inside a check.
macro_rules! each_primitive {
    ($macro:ident) => {
        $macro! {
            // Either of two comes first; the same in all lines with 2 and no comment.
            mutex, "sync::Mutex", "2", 2;
            rw_lock, "sync::RwLock", "whole", 2;
            // Set before the wait; or waited, set, notified; or woken spuriously before it was set,
            // or after and before the notification.
            condvar, "sync::Condvar", "ready", 4;
            barrier, "sync::Barrier", "one leads", 2;
            once, "sync::Once", "1", 2;
            once_lock, "sync::OnceLock", "same", 2;
            lazy_lock, "sync::LazyLock", "1", 2;
            atomic, "sync::atomic", "2", 2;
            // One reads the other's store, the other way round, or both.
            fences, "sync::atomic::fence", "seen", 3;
            channel, "sync::mpsc::channel", "3", 2;
            // The second message is sent before the first is received, or after.
            sync_channel, "sync::mpsc::sync_channel", "[1, 2]", 2;
            semaphore, "sync::Semaphore", "2", 2;
            binary_semaphore, "sync::BinarySemaphore", "2", 2;
            // Either of the two drops the value.
            tracked_arc, "sync::TrackedArc", "1", 2;
            arc, "sync::Arc", "7", 1;
            // Set before main enters, or main waits.
            monitor, "monitor::Monitor", "ready", 2;
            port, "port::Port", "3", 2;
            select, "select!", "3", 2;
            spawn, "thread::spawn", "7", 1;
            builder, "thread::Builder", "ann", 1;
            scope, "thread::scope", "7", 1;
            // The flag is set at once; or parked and unparked; or woken spuriously before it was
            // set, and then parked and unparked, or after.
            park, "thread::park", "unparked", 4;
            // Set before the first poll, and the waker taken before it was registered, or after; or waited and
            // woken; or polled spuriously before it was set, and then waited and woken, or after, with the
            // waker taken before it was registered again, or after.
            block_on, "future::block_on", "woken", 6;
            sleep, "thread::sleep", "slept", 1;
            yield_now, "thread::yield_now", "yielded", 1;
            thread_local, "thread_local!", "(1, 0)", 1;
            instant, "time::Instant", "later", 1;
            spin_loop, "hint::spin_loop", "spun", 1;
            unsafe_cell, "cell::UnsafeCell", "7", 1;
            label, "label!", "0", 1;
            states, "reachable!", "0", 1;
            // Either of two comes first.
            atomic_block, "atomic_block!", "2", 2;
            data_set, "data_set!", "0", 1;
        }
    };
}

/// Runs two closures on two threads, the second of which is the caller.
fn together<R: Send>(first: impl FnOnce() -> R + Send, second: impl FnOnce() -> R) -> (R, R) {
    thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = second();
        (first.join().unwrap(), second)
    })
}

/// Counts on both threads, between two calls that must keep them apart.
fn counted(before: impl Fn() + Sync, after: impl Fn() + Sync) -> String {
    struct Count(UnsafeCell<u32>);
    // SAFETY: it is accessed by one thread at a time.
    unsafe impl Sync for Count {}
    let count = Count(UnsafeCell::new(0));
    // SAFETY: as above.
    let add = |count: &Count| count.0.with_mut(|count| unsafe { *count += 1 });
    let section = || {
        before();
        add(&count);
        after();
    };
    together(section, section);
    count.0.into_inner().to_string()
}

pub(crate) fn mutex() -> String {
    let count = Mutex::new(0);
    let add = || *count.lock().unwrap() += 1;
    together(add, add);
    count.into_inner().unwrap().to_string()
}

pub(crate) fn rw_lock() -> String {
    let pair = RwLock::new((0, 0));
    let write = || {
        let mut pair = pair.write().unwrap();
        pair.0 += 1;
        pair.1 += 1;
        true
    };
    let read = || {
        let pair = pair.read().unwrap();
        pair.0 == pair.1
    };
    match together(write, read) {
        (true, true) => "whole",
        _ => "torn",
    }
    .to_owned()
}

pub(crate) fn condvar() -> String {
    let (ready, changed) = (Mutex::new("not ready"), Condvar::new());
    let set = || {
        *ready.lock().unwrap() = "ready";
        changed.notify_one();
        ""
    };
    let wait = || {
        let guard = ready.lock().unwrap();
        *changed.wait_while(guard, |text| *text != "ready").unwrap()
    };
    together(set, wait).1.to_owned()
}

pub(crate) fn barrier() -> String {
    let barrier = Barrier::new(2);
    let wait = || barrier.wait().is_leader();
    match together(wait, wait) {
        (true, false) | (false, true) => "one leads",
        (true, true) => "both lead",
        (false, false) => "no leader",
    }
    .to_owned()
}

pub(crate) fn once() -> String {
    let (once, count) = (Once::new(), AtomicU32::new(0));
    let run = || {
        once.call_once(|| _ = count.fetch_add(1, SeqCst));
    };
    together(run, run);
    count.into_inner().to_string()
}

pub(crate) fn once_lock() -> String {
    let cell = OnceLock::new();
    let (first, second) = together(|| *cell.get_or_init(|| 1), || *cell.get_or_init(|| 2));
    let same = first == second && cell.into_inner() == Some(first);
    if same { "same" } else { "two values" }.to_owned()
}

pub(crate) fn lazy_lock() -> String {
    let count = AtomicU32::new(0);
    let lazy = LazyLock::new(|| count.fetch_add(1, SeqCst) + 1);
    let (first, second) = together(|| *lazy, || *lazy);
    assert_eq!(first, second);
    count.load(SeqCst).to_string()
}

pub(crate) fn atomic() -> String {
    let count = AtomicU32::new(0);
    let add = || count.fetch_add(1, SeqCst);
    together(add, add);
    count.into_inner().to_string()
}

pub(crate) fn fences() -> String {
    let flags = [AtomicBool::new(false), AtomicBool::new(false)];
    let section = |mine: usize| {
        flags[mine].store(true, Relaxed);
        fence(SeqCst);
        flags[1 - mine].load(Relaxed)
    };
    match together(|| section(0), || section(1)) {
        (false, false) => "not seen",
        _ => "seen",
    }
    .to_owned()
}

pub(crate) fn channel() -> String {
    let (sender, receiver) = mpsc::channel();
    let other = sender.clone();
    together(move || other.send(1).unwrap(), || sender.send(2).unwrap());
    (receiver.recv().unwrap() + receiver.recv().unwrap()).to_string()
}

pub(crate) fn sync_channel() -> String {
    let (sender, receiver) = mpsc::sync_channel(2);
    let send = || {
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        [0, 0]
    };
    let receive = || [receiver.recv().unwrap(), receiver.recv().unwrap()];
    format!("{:?}", together(send, receive).1)
}

pub(crate) fn semaphore() -> String {
    let permits = Semaphore::new(1);
    counted(|| permits.acquire(), || permits.release())
}

pub(crate) fn binary_semaphore() -> String {
    let permit = BinarySemaphore::new(true);
    counted(|| permit.acquire(), || permit.release())
}

pub(crate) fn tracked_arc() -> String {
    struct Counts(Arc<std::sync::atomic::AtomicU32>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    let drops = Arc::default();
    let value = TrackedArc::new(Counts(Arc::clone(&drops)));
    let other = value.clone();
    together(move || drop(other), move || drop(value));
    drops.load(Relaxed).to_string()
}

pub(crate) fn arc() -> String {
    let value = Arc::new(7);
    let other = Arc::clone(&value);
    let thread = thread::spawn(move || *other);
    assert_eq!(thread.join().unwrap(), *value);
    Arc::into_inner(value).unwrap().to_string()
}

pub(crate) fn monitor() -> String {
    let monitor = Monitor::new(Discipline::SignalContinue, "not ready");
    let changed = monitor.condition();
    let set = || {
        let mut text = monitor.enter();
        *text = "ready";
        text.signal(changed);
        ""
    };
    let wait = || {
        let mut text = monitor.enter();
        while *text != "ready" {
            text.wait(changed);
        }
        *text
    };
    together(set, wait).1.to_owned()
}

pub(crate) fn port() -> String {
    let port = Port::asynchronous();
    let (first, second) = (port.sender(), port.sender());
    together(move || first.send(1), || second.send(2));
    (port.receive() + port.receive()).to_string()
}

pub(crate) fn select() -> String {
    let (ones, twos) = (Port::asynchronous(), Port::asynchronous());
    let (one, two) = (ones.sender(), twos.sender());
    together(move || one.send(1), || two.send(2));
    let mut sum = 0;
    for _ in 0..2 {
        raddle::select! {
            number = ones.receive() => sum += number,
            number = twos.receive() => sum += number,
        }
    }
    sum.to_string()
}

pub(crate) fn spawn() -> String {
    thread::spawn(|| 7).join().unwrap().to_string()
}

pub(crate) fn builder() -> String {
    let builder = thread::Builder::new().name("ann".to_owned());
    let thread = builder.spawn(|| thread::current().name().map(str::to_owned));
    thread.unwrap().join().unwrap().unwrap()
}

pub(crate) fn scope() -> String {
    let number = 7;
    thread::scope(|scope| scope.spawn(|| number.to_string()).join().unwrap())
}

pub(crate) fn park() -> String {
    let set = AtomicBool::new(false);
    let main = thread::current();
    let unpark = || {
        set.store(true, SeqCst);
        main.unpark();
    };
    let park = || {
        while !set.load(SeqCst) {
            thread::park();
        }
    };
    together(unpark, park);
    "unparked".to_owned()
}

pub(crate) fn block_on() -> String {
    let (set, waker) = (AtomicBool::new(false), AtomicWaker::new());
    let wake = || {
        set.store(true, SeqCst);
        waker.wake();
    };
    let wait = || {
        future::block_on(poll_fn(|context| {
            waker.register_by_ref(context.waker());
            match set.load(SeqCst) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        }));
    };
    together(wake, wait);
    "woken".to_owned()
}

pub(crate) fn sleep() -> String {
    let (start, time) = (Instant::now(), Duration::from_millis(2));
    thread::sleep(time);
    let slept = start.elapsed() >= time;
    if slept { "slept" } else { "awake" }.to_owned()
}

pub(crate) fn yield_now() -> String {
    together(thread::yield_now, thread::yield_now);
    "yielded".to_owned()
}

pub(crate) fn thread_local() -> String {
    use std::cell::Cell;
    raddle::thread_local!(static NUMBER: Cell<u32> = const { Cell::new(0) });
    let add = || {
        NUMBER.set(NUMBER.get() + 1);
        NUMBER.get()
    };
    let first = together(add, || 0).0;
    format!("{:?}", (first, NUMBER.get()))
}

pub(crate) fn instant() -> String {
    let start = Instant::now();
    thread::sleep(Duration::from_millis(1));
    let later = Instant::now() > start;
    if later { "later" } else { "at once" }.to_owned()
}

pub(crate) fn spin_loop() -> String {
    together(hint::spin_loop, hint::spin_loop);
    "spun".to_owned()
}

pub(crate) fn unsafe_cell() -> String {
    struct Shared(UnsafeCell<u32>);
    // SAFETY: it is accessed by one thread at a time.
    unsafe impl Sync for Shared {}
    let shared = Shared(UnsafeCell::new(0));
    let write = |shared: &Shared| {
        // SAFETY: the other thread only waits.
        unsafe { *shared.0.get() = 7 };
    };
    together(|| write(&shared), || ());
    // SAFETY: the other thread has ended.
    shared.0.with(|value| unsafe { *value }).to_string()
}

pub(crate) fn label() -> String {
    let lock = Mutex::new(0);
    raddle::label!("count", &lock);
    raddle::event!("made {}", "count");
    lock.into_inner().unwrap().to_string()
}

pub(crate) fn states() -> String {
    let lock = Mutex::new(0);
    raddle::reachable!("the lock exists");
    raddle::sometimes!(lock.try_lock().is_ok());
    raddle::sometimes!(*lock.lock().unwrap() > 0, "it has a value");
    lock.into_inner().unwrap().to_string()
}

pub(crate) fn atomic_block() -> String {
    let count = Mutex::new(0);
    let add = || raddle::atomic_block!("add", { *count.lock().unwrap() += 1 });
    together(add, add);
    raddle::atomic_block!({ count.into_inner().unwrap().to_string() })
}

pub(crate) fn data_set() -> String {
    let pair = Arc::new((Mutex::new(0), AtomicU32::new(0)));
    raddle::data_set!("pair", &pair.0, &pair.1);
    raddle::data_set!("pair", struct pair);
    pair.1.load(Relaxed).to_string()
}

macro_rules! test_each {
    ($($script:ident, $name:literal, $result:literal, $classes:literal;)*) => {$(
        #[test]
        fn $script() {
            assert_eq!(super::$script(), $result, $name);
        }
    )*};
}

/// The scripts outside a check, or without the feature.
#[cfg(test)]
mod plain {
    each_primitive!(test_each);
}
