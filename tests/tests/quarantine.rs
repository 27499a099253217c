//! Memory that is used after it was freed, with the allocator that notices.

use std::ptr;

use raddle::alloc::Quarantine;
use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};
use raddle::sync::{Arc, Mutex};
use raddle::{Checker, Failure, FailureKind, Guarantee, Memory, Strategy, thread};
use raddle_tests::races::{is_clean, is_racy};
use raddle_tests::{shared_nodes, test_name};

#[global_allocator]
static ALLOCATOR: Quarantine = Quarantine;

fn failure(program: impl Fn() + Send + Sync) -> Failure {
    let checker = Checker::new().strategy(Strategy::Exhaustive);
    let report = checker.run(program);
    report.failures.into_iter().next().expect("it fails")
}

struct Node {
    value: AtomicU32,
    next: *mut Node,
}

/// A stack whose nodes are freed by the thread that takes them out.
#[derive(Default)]
struct Stack {
    head: AtomicPtr<Node>,
}

impl Stack {
    fn push(&self, value: u32) {
        let node = Box::into_raw(Box::new(Node {
            value: AtomicU32::new(value),
            next: self.head.load(Acquire),
        }));
        self.head.store(node, Release);
    }

    /// Looks at the node before it is its own.
    fn pop(&self) -> Option<u32> {
        let node = self.head.load(Acquire);
        if node.is_null() {
            return None;
        }
        // SAFETY: none, another thread may have freed it, which is the bug under test.
        let value = unsafe { &(*node).value }.load(Relaxed);
        // SAFETY: as above.
        let next = unsafe { (*node).next };
        let taken = self.head.compare_exchange(node, next, AcqRel, Acquire);
        taken.ok().map(|node| {
            // SAFETY: the exchange succeeded, so this thread alone has taken it.
            drop(unsafe { Box::from_raw(node) });
            value
        })
    }
}

#[test]
fn an_atomic_that_was_freed_is_a_failure_with_both_sides() {
    let program = || {
        let stack = Arc::new(Stack::default());
        stack.push(7);
        let other = Arc::clone(&stack);
        let thread = thread::Builder::new().name("taker".to_owned());
        let thread = thread.spawn(move || other.pop()).unwrap();
        let mine = stack.pop();
        let other = thread.join().unwrap();
        assert_eq!(mine.or(other), Some(7));
    };
    let found = failure(program);
    assert_eq!(found.kind, FailureKind::UseAfterFree, "{found}");
    let message = &found.message;
    assert!(
        message.contains("uses an atomic variable at tests/tests/quarantine.rs:49"),
        "{message}"
    );
    assert!(message.contains("it was freed by"), "{message}");
    assert!(message.contains("quarantine.rs:52"), "{message}");
    // The same again, from the schedule.
    let replay = Strategy::Replay(found.schedule.clone());
    let again = Checker::new().strategy(replay).run(program);
    assert_eq!(again.failures[0].message, found.message);
}

#[test]
fn a_lock_that_was_freed() {
    let found = failure(|| {
        let lock = Box::into_raw(Box::new(Mutex::new(1)));
        // SAFETY: not used, but by mistake.
        drop(unsafe { Box::from_raw(lock) });
        // SAFETY: the mistake.
        drop(unsafe { &*lock }.lock());
    });
    assert_eq!(found.kind, FailureKind::UseAfterFree);
    let message = &found.message;
    assert!(message.starts_with("main uses an object at "), "{message}");
}

#[test]
fn a_cell_that_was_freed() {
    let found = failure(|| {
        let cell = Box::into_raw(Box::new(UnsafeCell::new(1)));
        // SAFETY: not used, but by mistake.
        drop(unsafe { Box::from_raw(cell) });
        // SAFETY: the mistake.
        unsafe { &*cell }.with(|_| ());
    });
    assert_eq!(found.kind, FailureKind::UseAfterFree);
    assert!(
        found.message.contains("it was freed by main"),
        "{}",
        found.message
    );
}

#[test]
fn what_was_freed_is_found_the_same_in_every_run() {
    let read = std::sync::Mutex::new(Vec::new());
    raddle_tests::executions(5, || {
        let value = Box::into_raw(Box::new(0x1234_5678_u32));
        // SAFETY: not used, but by mistake.
        drop(unsafe { Box::from_raw(value) });
        let others: Vec<_> = (0..10).map(Box::new).collect();
        // SAFETY: the mistake; the memory is held.
        read.lock()
            .unwrap()
            .push(unsafe { ptr::read_volatile(value) });
        drop(others);
    });
    assert_eq!(read.into_inner().unwrap(), [0xdbdb_dbdb; 5]);
}

#[test]
fn nothing_is_made_where_memory_was_only_asked_for() {
    let found = failure(|| {
        let place = Box::<UnsafeCell<u32>>::new_uninit();
        // SAFETY: it is not, but the identity is looked at first.
        unsafe { &*place.as_ptr() }.with(|_| ());
    });
    assert_eq!(found.kind, FailureKind::UseAfterFree);
    assert!(
        found.message.contains("that was never initialised"),
        "{}",
        found.message
    );
}

#[test]
fn publishing_a_new_cell_is_publishing_what_is_in_it() {
    struct Published(AtomicPtr<UnsafeCell<u32>>);
    let program = |store, load| {
        let published = Arc::new(Published(AtomicPtr::default()));
        let other = Arc::clone(&published);
        let thread = thread::spawn(move || {
            let cell = Box::into_raw(Box::new(UnsafeCell::new(5)));
            other.0.store(cell, store);
        });
        let cell = published.0.load(load);
        if !cell.is_null() {
            // SAFETY: it is freed when the other thread has ended.
            unsafe { &*cell }.with(|value| assert_eq!(unsafe { *value }, 5));
        }
        thread.join().unwrap();
        // SAFETY: the only other user has been joined.
        drop(unsafe { Box::from_raw(published.0.load(SeqCst)) });
    };
    is_clean(move || program(Release, Acquire));
    is_racy(move || program(Relaxed, Acquire));
    is_racy(move || program(Release, Relaxed));
    let found = failure(move || program(Relaxed, Relaxed));
    let message = &found.message;
    assert!(
        message.starts_with("UnsafeCell was made by main.1, after `begin`"),
        "{message}"
    );
}

#[test]
fn programs_without_mistakes_do_not_notice() {
    let report = Checker::new().max_executions(200).run(|| {
        let list = Arc::new(Mutex::new(Vec::new()));
        let threads: Vec<_> = (0..2_usize)
            .map(|number| {
                let list = Arc::clone(&list);
                thread::spawn(move || {
                    for more in 0..20 {
                        list.lock().unwrap().push(vec![number; more]);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        let list = list.lock().unwrap();
        assert_eq!(list.iter().map(Vec::len).sum::<usize>(), 380);
        assert!(
            list.iter()
                .all(|list| list.iter().all(|&number| number < 2))
        );
    });
    report.assert_ok();
}

/// A stack whose nodes are taken out by a compare-exchange of the address alone.
#[derive(Default)]
struct Treiber {
    head: AtomicPtr<Plain>,
}

struct Plain {
    value: u32,
    next: *mut Plain,
}

impl Treiber {
    fn push(&self, value: u32) {
        let node = Box::into_raw(Box::new(Plain {
            value,
            next: ptr::null_mut(),
        }));
        loop {
            let head = self.head.load(Acquire);
            // SAFETY: the node is not published yet.
            unsafe { (*node).next = head };
            let pushed = self.head.compare_exchange(head, node, AcqRel, Relaxed);
            if pushed.is_ok() {
                return;
            }
        }
    }

    fn pop(&self) -> Option<u32> {
        loop {
            let node = self.head.load(Acquire);
            if node.is_null() {
                return None;
            }
            // SAFETY: no other thread runs between the load and this; freed memory is held.
            let (value, next) = unsafe { ((*node).value, (*node).next) };
            let popped = self.head.compare_exchange(node, next, AcqRel, Relaxed);
            if popped.is_ok() {
                // SAFETY: this thread has taken it out.
                drop(unsafe { Box::from_raw(node) });
                return Some(value);
            }
        }
    }
}

/// One thread pops; main pops and pushes another value. Returns the values that were popped.
fn pops_and_pushes() -> Vec<u32> {
    let stack = Arc::new(Treiber::default());
    stack.push(1);
    let other = Arc::clone(&stack);
    let thread = thread::spawn(move || other.pop());
    let first = stack.pop();
    stack.push(2);
    let mut popped: Vec<u32> = first.into_iter().chain(thread.join().unwrap()).collect();
    popped.extend(std::iter::from_fn(|| stack.pop()));
    popped.sort_unstable();
    popped
}

/// The ABA problem: the node of the second push is at the address of the first one.
#[test]
fn a_new_node_is_taken_for_the_old_one_where_memory_is_reused() {
    let program = || assert_eq!(pops_and_pushes(), [1, 2]);
    let checker = Checker::new()
        .strategy(Strategy::Exhaustive)
        .memory(Memory::Sc);
    let fresh = checker.clone().run(program);
    fresh.assert_ok();
    assert_eq!(fresh.guarantee(), Guarantee::Exhaustive);
    let checker = checker.reuse_memory(true);
    let report = checker.clone().run(program);
    let [found] = &report.failures[..] else {
        panic!("{report}");
    };
    assert_eq!(found.kind, FailureKind::Panic, "{found}");
    assert!(found.message.contains("[1, 1]"), "{found}");
    // Only with reuse does its schedule fail again.
    let replay = checker.strategy(Strategy::Replay(found.schedule.clone()));
    let again = replay.run(program);
    assert_eq!(again.failures[0].message, found.message);
}

/// What is in memory when a thread follows an old pointer is no part of a class.
#[test]
fn where_memory_is_reused_not_every_behaviour_is_promised() {
    let checker = Checker::new()
        .strategy(Strategy::Exhaustive)
        .reuse_memory(true);
    let report = checker.clone().memory(Memory::Sc).run(|| {
        drop(Box::new(1_u64));
    });
    report.assert_ok();
    assert_ne!(report.guarantee(), Guarantee::Exhaustive, "{report}");
    let refused = std::panic::catch_unwind(|| checker.run(|| ()));
    let message = *refused.unwrap_err().downcast::<&str>().unwrap();
    assert!(message.contains("memory = \"sc\""), "{message}");
}

#[test]
#[ignore = "run by others"]
fn write_down() {
    shared_nodes::write_down();
}

/// As with the allocator of the system.
#[test]
fn processes_with_other_addresses_agree() {
    shared_nodes::assert_processes_agree(&test_name!("write_down"));
}

mod freed_early;
