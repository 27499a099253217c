//! Permits that come and go. *Leaked permit*: a thread takes a permit, finds what it needs busy and
//! goes away with it. *Ticket overflow*: tickets are counted in too few bits, so that with enough
//! threads two have the same. *Too many connections*: a pool opens another connection if there are
//! fewer than it may have, and counts it when it is open.
//!
//! Leaked permit: who holds what is needed is interrupted (one), and the others take all permits
//! with them. Ticket overflow: the first holder is interrupted inside; the others wait, but the one
//! with the same ticket (one). Connections: one, between the look and the count.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[
    Story {
        name: "leaked_permit",
        pattern: "a permit is not given back on the way out that is rarely taken",
        buggy: || leak(|_| ()),
        correct: || leak(release),
        facts: Facts::new(FailureKind::Deadlock, 3, 1),
    },
    Story {
        name: "ticket_overflow",
        pattern: "more threads than there are different tickets",
        buggy: || tickets(2),
        correct: || tickets(3),
        facts: Facts::new(FailureKind::Panic, 3, 1),
    },
    Story {
        name: "too_many_connections",
        pattern: "a connection is counted when it is open, not when it is decided on",
        buggy: || {
            connect(|open| {
                let allowed = open.load(SeqCst) < 2;
                if allowed {
                    open.fetch_add(1, SeqCst);
                }
            })
        },
        correct: || {
            connect(|open| {
                let next = |open| (open < 2).then_some(open + 1);
                let _ = open.fetch_update(SeqCst, SeqCst, next);
            })
        },
        facts: Facts::new(FailureKind::Panic, 3, 1),
    },
];

struct Permits {
    left: Mutex<usize>,
    given_back: Condvar,
    printer: Mutex<()>,
}

fn acquire(permits: &Permits) {
    let left = permits.left.lock().unwrap();
    let wait = permits.given_back.wait_while(left, |left| *left == 0);
    *wait.unwrap() -= 1;
}

fn release(permits: &Permits) {
    *permits.left.lock().unwrap() += 1;
    permits.given_back.notify_one();
}

fn leak(when_busy: fn(&Permits)) {
    let permits = Arc::new(Permits {
        left: Mutex::new(2),
        given_back: Condvar::new(),
        printer: Mutex::new(()),
    });
    crowd(3, &permits, move |permits, _| {
        for _ in 0..2 {
            acquire(permits);
            let Ok(_printer) = permits.printer.try_lock() else {
                when_busy(permits);
                continue;
            };
            release(permits);
        }
    });
}

#[derive(Default)]
struct Counter {
    next: AtomicUsize,
    serving: Mutex<usize>,
    changed: Condvar,
    inside: AtomicUsize,
}

/// A ticket lock whose tickets count modulo `different`.
fn tickets(different: usize) {
    crowd(3, &Arc::new(Counter::default()), move |counter, _| {
        let ticket = counter.next.fetch_add(1, SeqCst) % different;
        let serving = counter.serving.lock().unwrap();
        let wait = (counter.changed).wait_while(serving, |serving| *serving != ticket);
        drop(wait.unwrap());
        let others = counter.inside.fetch_add(1, SeqCst);
        assert_eq!(others, 0, "two threads have the same ticket");
        counter.inside.fetch_sub(1, SeqCst);
        *counter.serving.lock().unwrap() = (ticket + 1) % different;
        counter.changed.notify_all();
    });
}

fn connect(open: fn(&AtomicUsize)) {
    let connections = Arc::new(AtomicUsize::new(0));
    crowd(3, &connections, move |connections, _| open(connections));
    let open = connections.load(SeqCst);
    assert!(open <= 2, "{open} connections are open");
}
