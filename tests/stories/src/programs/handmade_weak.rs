//! Structures made by hand whose orderings are too weak. All of these need weak memory.
//!
//! *Ring*: a queue of one producer and one consumer, whose counters are relaxed. *Seqlock*: a
//! reader checks that nothing was written meanwhile, but its reads may be later than the check.
//! *Last handle*: a reference count that is given back with a relaxed decrement, so that who frees
//! may not see what others wrote. *Spin lock*: a lock that is let go with a relaxed store.
//! *Statistics*: a total that is counted after its parts, and seen before them.
//!
//! No preemption: stale reads are enough.

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
        "ring",
        "a queue's counters are relaxed",
        2,
        || ring(Relaxed),
        || ring(Release),
    ),
    story(
        "seqlock",
        "nothing keeps the reads of a seqlock before its second check",
        2,
        || seqlock(Relaxed, false),
        || seqlock(Acquire, true),
    ),
    story(
        "last_handle",
        "a reference is given back with a relaxed decrement",
        2,
        || last_handle(Relaxed),
        || last_handle(AcqRel),
    ),
    story(
        "spin_lock",
        "a lock is let go with a relaxed store",
        3,
        || spin_lock(Relaxed),
        || spin_lock(Release),
    ),
    story(
        "statistics",
        "a total is seen before what it is the total of",
        3,
        || statistics(Relaxed),
        || statistics(Release),
    ),
];

#[derive(Default)]
struct Ring {
    places: [AtomicUsize; 2],
    written: AtomicUsize,
    read: AtomicUsize,
}

fn ring(announce: Ordering) {
    crowd(2, &Arc::new(Ring::default()), move |ring, number| {
        for item in 0..3 {
            let place = &ring.places[item % 2];
            if number == 0 {
                if item - ring.read.load(Acquire) == 2 {
                    return;
                }
                place.store(item + 1, Relaxed);
                ring.written.store(item + 1, announce);
            } else {
                if ring.written.load(Acquire) == item {
                    return;
                }
                assert_eq!(place.load(Relaxed), item + 1, "not what was put there");
                ring.read.store(item + 1, Release);
            }
        }
    });
}

#[derive(Default)]
struct Record {
    version: AtomicUsize,
    parts: [AtomicUsize; 2],
}

fn seqlock(read: Ordering, fenced: bool) {
    crowd(2, &Arc::new(Record::default()), move |record, number| {
        if number == 0 {
            record.version.store(1, Relaxed);
            if fenced {
                fence(Release);
            }
            for part in &record.parts {
                part.store(1, Relaxed);
            }
            record.version.store(2, Release);
            return;
        }
        let before = record.version.load(Acquire);
        let parts = (record.parts.each_ref()).map(|part| part.load(read));
        if fenced {
            fence(Acquire);
        }
        let after = record.version.load(Relaxed);
        if before % 2 == 0 && before == after {
            assert_eq!(parts[0], parts[1], "half of one value, half of another");
        }
    });
}

fn last_handle(give_back: Ordering) {
    let shared = Arc::new([2, 0, 0].map(AtomicUsize::new));
    crowd(2, &shared, move |shared, number| {
        let [handles, notes @ ..] = shared;
        notes[number].store(1, Relaxed);
        if handles.fetch_sub(1, give_back) == 1 {
            // Who frees must see what everybody has written.
            let other = notes[1 - number].load(Relaxed);
            assert_eq!(other, 1, "freed under somebody's hands");
        }
    });
}

fn spin_lock(unlock: Ordering) {
    let shared = Arc::new([0, 0, 0].map(AtomicUsize::new));
    crowd(3, &shared, move |[lock, data, entered], _| {
        // Who does not get the lock does without.
        if lock.compare_exchange(0, 1, Acquire, Relaxed).is_ok() {
            entered.fetch_add(1, Relaxed);
            let seen = data.load(Relaxed);
            data.store(seen + 1, Relaxed);
            lock.store(0, unlock);
        }
    });
    let [data, entered] = [1, 2].map(|place: usize| shared[place].load(Relaxed));
    assert_eq!(data, entered, "an update was lost");
}

fn statistics(count: Ordering) {
    let shared = Arc::new([0, 0, 0].map(AtomicUsize::new));
    crowd(
        3,
        &shared,
        move |[hits, misses, total], number| match number {
            2 => {
                let total = total.load(Acquire);
                let parts = hits.load(Relaxed) + misses.load(Relaxed);
                assert!(total <= parts, "{total} requests, {parts} answers");
            }
            number => {
                let part = if number == 0 { hits } else { misses };
                part.fetch_add(1, Relaxed);
                total.fetch_add(1, count);
            }
        },
    );
}
