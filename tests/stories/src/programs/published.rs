//! Something is made ready and announced, and the announcement does not carry it along. All of
//! these need weak memory: a read that is older than what the thread knows to have happened.
//!
//! *Message*: data and a flag, both relaxed. *Publication*: a record is filled in and its number
//! stored, relaxed. *Double check*: lazy initialisation that looks for the record without the lock
//! first. *Relay*: the reader does everything right, but a thread in between forwards the message
//! with a relaxed store. In the twins the announcement releases and the look acquires.
//!
//! No preemption: the reader comes after everybody else and reads an old value all the same.

use std::sync::atomic::Ordering;

use super::prelude::*;

const fn story(
    name: &'static str,
    pattern: &'static str,
    threads: usize,
    buggy: fn(),
    correct: fn(),
) -> Story {
    Story {
        name,
        pattern,
        buggy,
        correct,
        facts: Facts::new(FailureKind::Panic, threads, 0).weak(),
    }
}

pub(super) const STORIES: &[Story] = &[
    story(
        "message",
        "data is announced by a relaxed flag",
        2,
        || message(Relaxed, Relaxed),
        || message(Release, Acquire),
    ),
    story(
        "publication",
        "a record is published by a relaxed store of where it is",
        3,
        || publication(Relaxed, Acquire),
        || publication(Release, Acquire),
    ),
    story(
        "double_check",
        "lazy initialisation looks without the lock, and does not acquire",
        3,
        || double_check(Relaxed),
        || double_check(Acquire),
    ),
    story(
        "relay",
        "a message is passed on with a relaxed store",
        3,
        || relay(Relaxed),
        || relay(Release),
    ),
];

fn message(announce: Ordering, look: Ordering) {
    let shared = Arc::new([0, 0].map(AtomicUsize::new));
    crowd(2, &shared, move |[data, ready], number| {
        if number == 0 {
            data.store(7, Relaxed);
            ready.store(1, announce);
        } else if ready.load(look) == 1 {
            assert_eq!(data.load(Relaxed), 7, "ready, and not there");
        }
    });
}

#[derive(Default)]
struct Records {
    /// Two fields each; the first record is the old one.
    fields: [[AtomicUsize; 2]; 2],
    current: AtomicUsize,
    read: AtomicUsize,
}

fn publication(announce: Ordering, look: Ordering) {
    crowd(3, &Arc::new(Records::default()), move |records, number| {
        if number == 0 {
            for field in &records.fields[1] {
                field.store(5, Relaxed);
            }
            records.current.store(1, announce);
        } else {
            let current = records.current.load(look);
            let fields = (records.fields[current].each_ref()).map(|field| field.load(Relaxed));
            let expected = [5 * current; 2];
            assert_eq!(fields, expected, "a record that is not complete");
            records.read.fetch_add(1, Relaxed);
        }
    });
}

#[derive(Default)]
struct Lazy {
    lock: Mutex<()>,
    is_made: AtomicBool,
    value: AtomicUsize,
}

fn double_check(look: Ordering) {
    crowd(3, &Arc::new(Lazy::default()), move |lazy, _| {
        if !lazy.is_made.load(look) {
            let _held = lazy.lock.lock().unwrap();
            if !lazy.is_made.load(Relaxed) {
                lazy.value.store(9, Relaxed);
                lazy.is_made.store(true, Release);
            }
        }
        assert_eq!(lazy.value.load(Relaxed), 9, "made, and not there");
    });
}

fn relay(pass_on: Ordering) {
    let shared = Arc::new([0, 0, 0].map(AtomicUsize::new));
    crowd(
        3,
        &shared,
        move |[data, first, second], number| match number {
            0 => {
                data.store(7, Relaxed);
                first.store(1, Release);
            }
            1 => {
                if first.load(Acquire) == 1 {
                    second.store(1, pass_on);
                }
            }
            _ => {
                if second.load(Acquire) == 1 {
                    assert_eq!(data.load(Relaxed), 7, "passed on, and not there");
                }
            }
        },
    );
}
