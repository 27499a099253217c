//! Lock-free structures under weak memory: right as they are in the literature, and wrong as soon as
//! one ordering that matters is weaker. What they protect is in relaxed atomics, so that a missing
//! edge shows as a stale value.

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering, fence};
use raddle::sync::atomic::{Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed};
use raddle::sync::atomic::{Ordering::Release, Ordering::SeqCst};
use raddle::{Checker, FailureKind, Report, Strategy, hint, thread};

fn exhaust(program: impl Fn() + Send + Sync) -> Report {
    Checker::new().strategy(Strategy::Exhaustive).run(program)
}

/// Passes in every class as it is; with any one of the orderings `Relaxed` it fails, and the failure
/// says where something stale was read.
fn needs_every<const N: usize>(
    right: [Ordering; N],
    program: impl Fn([Ordering; N]) + Send + Sync + Copy,
) {
    let report = exhaust(move || program(right));
    report.assert_ok();
    assert!(report.exhausted, "{report}");
    for weak in 0..N {
        let mut orderings = right;
        orderings[weak] = Relaxed;
        let report = exhaust(move || program(orderings));
        let failure = report.failures.first();
        let failure =
            failure.unwrap_or_else(|| panic!("ordering {weak} does not matter: {report}"));
        assert_eq!(failure.kind, FailureKind::Panic, "{failure}");
        assert!(failure.message.contains("stale: "), "{failure}");
        assert!(failure.message.contains("/lock_free.rs:"), "{failure}");
    }
}

/// No fence at all stands for one that is `Relaxed`.
fn fence_if(ordering: Ordering) {
    if ordering != Relaxed {
        fence(ordering);
    }
}

#[test]
fn publishing() {
    needs_every([Release, Acquire], |[publish, look]| {
        let data = Arc::new(AtomicU32::new(0));
        let ready = Arc::new(AtomicBool::new(false));
        let (to, flag) = (Arc::clone(&data), Arc::clone(&ready));
        let writer = thread::spawn(move || {
            to.store(42, Relaxed);
            flag.store(true, publish);
        });
        if ready.load(look) {
            assert_eq!(data.load(Relaxed), 42);
        }
        writer.join().unwrap();
    });
}

#[test]
fn publishing_with_fences() {
    needs_every([Release, Acquire], |[publish, look]| {
        let data = Arc::new(AtomicU32::new(0));
        let ready = Arc::new(AtomicBool::new(false));
        let (to, flag) = (Arc::clone(&data), Arc::clone(&ready));
        let writer = thread::spawn(move || {
            to.store(42, Relaxed);
            fence_if(publish);
            flag.store(true, Relaxed);
        });
        if ready.load(Relaxed) {
            fence_if(look);
            assert_eq!(data.load(Relaxed), 42);
        }
        writer.join().unwrap();
    });
}

/// Two threads that each add one to a number under a lock of their own making.
fn counted(lock: impl Fn() + Send + Sync, unlock: impl Fn() + Send + Sync) {
    let number = AtomicU32::new(0);
    let add = || {
        lock();
        number.store(number.load(Relaxed) + 1, Relaxed);
        unlock();
    };
    thread::scope(|scope| {
        scope.spawn(add);
        add();
    });
    assert_eq!(number.load(Relaxed), 2);
}

#[test]
fn spin_lock() {
    needs_every([Acquire, Release], |[take, give]| {
        let taken = AtomicBool::new(false);
        counted(
            || {
                while taken.swap(true, take) {
                    hint::spin_loop();
                }
            },
            || taken.store(false, give),
        );
    });
}

#[test]
fn ticket_lock() {
    needs_every([Acquire, Release], |[wait, next]| {
        let (tickets, serving) = (AtomicU32::new(0), AtomicU32::new(0));
        counted(
            || {
                let mine = tickets.fetch_add(1, Relaxed);
                while serving.load(wait) != mine {
                    hint::spin_loop();
                }
            },
            || {
                let mine = serving.load(Relaxed);
                serving.store(mine + 1, next);
            },
        );
    });
}

#[test]
fn seqlock() {
    needs_every(
        [Release, Release, Acquire, Acquire],
        |[begin, end, look, again]| {
            let sequence = AtomicU32::new(0);
            let data = [AtomicU32::new(0), AtomicU32::new(0)];
            thread::scope(|scope| {
                scope.spawn(|| {
                    sequence.store(1, Relaxed);
                    fence_if(begin);
                    data[0].store(7, Relaxed);
                    data[1].store(7, Relaxed);
                    sequence.store(2, end);
                });
                let before = sequence.load(look);
                let seen = [data[0].load(Relaxed), data[1].load(Relaxed)];
                fence_if(again);
                let after = sequence.load(Relaxed);
                if before == after && before.is_multiple_of(2) {
                    assert_eq!(seen[0], seen[1]);
                    assert_eq!(seen[0] == 7, before == 2);
                }
            });
        },
    );
}

/// Nodes are numbered; 0 is no node.
struct Nodes {
    next: [AtomicUsize; 3],
    value: [AtomicU32; 3],
}

impl Nodes {
    fn new() -> Self {
        Nodes {
            next: Default::default(),
            value: Default::default(),
        }
    }
}

#[test]
fn treiber_stack() {
    needs_every([Release, Acquire], |[publish, look]| {
        let (nodes, head) = (Nodes::new(), AtomicUsize::new(0));
        let push = |node: usize| {
            nodes.value[node].store(10 + node as u32, Relaxed);
            loop {
                let old = head.load(Relaxed);
                nodes.next[node].store(old, Relaxed);
                if head.compare_exchange(old, node, publish, Relaxed).is_ok() {
                    break;
                }
            }
        };
        let pop = || {
            loop {
                let top = head.load(look);
                if top == 0 {
                    return None;
                }
                let next = nodes.next[top].load(Relaxed);
                if head.compare_exchange(top, next, Relaxed, Relaxed).is_ok() {
                    return Some((top, nodes.value[top].load(Relaxed)));
                }
            }
        };
        thread::scope(|scope| {
            scope.spawn(|| push(1));
            scope.spawn(|| push(2));
            for _ in 0..2 {
                if let Some((node, value)) = pop() {
                    assert_eq!(value, 10 + node as u32);
                }
            }
        });
    });
}

#[test]
fn michael_scott_queue() {
    needs_every([Release, Acquire], |[publish, look]| {
        // Node 0 is the first dummy, so the end of the list is a number that no node has.
        const NONE: usize = 9;
        let nodes = Nodes::new();
        for next in &nodes.next {
            next.store(NONE, Relaxed);
        }
        let (head, tail) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let enqueue = |node: usize| {
            nodes.value[node].store(10 + node as u32, Relaxed);
            loop {
                let last = tail.load(Acquire);
                let next = nodes.next[last].load(Acquire);
                if next != NONE {
                    let _ = tail.compare_exchange(last, next, Release, Relaxed);
                } else if nodes.next[last]
                    .compare_exchange(NONE, node, publish, Relaxed)
                    .is_ok()
                {
                    let _ = tail.compare_exchange(last, node, Relaxed, Relaxed);
                    break;
                }
            }
        };
        let dequeue = || {
            loop {
                let first = head.load(Acquire);
                let next = nodes.next[first].load(look);
                if next == NONE {
                    return None;
                }
                let value = nodes.value[next].load(Relaxed);
                if head.compare_exchange(first, next, AcqRel, Relaxed).is_ok() {
                    return Some((next, value));
                }
            }
        };
        thread::scope(|scope| {
            scope.spawn(|| enqueue(1));
            if let Some((node, value)) = dequeue() {
                assert_eq!(value, 10 + node as u32);
            }
        });
    });
}

#[test]
fn chase_lev_deque() {
    needs_every([SeqCst, SeqCst], |[pop_fence, steal_fence]| {
        let (top, bottom) = (AtomicUsize::new(0), AtomicUsize::new(2));
        let taken = [AtomicU32::new(0), AtomicU32::new(0)];
        let take = |index: usize| {
            assert_eq!(taken[index].fetch_add(1, Relaxed), 0, "taken twice");
        };
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..2 {
                    let first = top.load(Acquire);
                    fence_if(steal_fence);
                    let end = bottom.load(Acquire);
                    if first < end
                        && top
                            .compare_exchange(first, first + 1, SeqCst, Relaxed)
                            .is_ok()
                    {
                        take(first);
                    }
                }
            });
            let last = bottom.load(Relaxed) - 1;
            bottom.store(last, Relaxed);
            fence_if(pop_fence);
            let first = top.load(Relaxed);
            let alone = first < last;
            let first_of_two = || {
                first == last
                    && top
                        .compare_exchange(first, first + 1, SeqCst, Relaxed)
                        .is_ok()
            };
            if alone || first_of_two() {
                take(last);
            }
        });
    });
}

#[test]
fn reference_counts() {
    needs_every([Release, Acquire], |[drop, last]| {
        let count = AtomicU32::new(2);
        let written = [AtomicU32::new(0), AtomicU32::new(0)];
        let let_go = |index: usize| {
            written[index].store(1, Relaxed);
            if count.fetch_sub(1, drop) == 1 {
                fence_if(last);
                assert_eq!([0, 1].map(|it| written[it].load(Relaxed)), [1, 1]);
            }
        };
        thread::scope(|scope| {
            scope.spawn(|| let_go(0));
            let_go(1);
        });
    });
}

/// Two threads that try to be inside at the same time; `enter` says whether a thread is let in, and
/// leaves again.
fn never_both(enter: impl Fn(usize, &dyn Fn()) + Send + Sync) {
    let inside = AtomicU32::new(0);
    let visit = || {
        assert_eq!(inside.fetch_add(1, Relaxed), 0, "both are inside");
        inside.fetch_sub(1, Relaxed);
    };
    thread::scope(|scope| {
        scope.spawn(|| enter(0, &visit));
        enter(1, &visit);
    });
}

fn peterson(wants: Ordering, looks: Ordering) -> Report {
    exhaust(move || {
        let interested = [AtomicBool::new(false), AtomicBool::new(false)];
        let turn = AtomicUsize::new(0);
        never_both(|me, visit| {
            interested[me].store(true, wants);
            turn.store(1 - me, wants);
            while interested[1 - me].load(looks) && turn.load(looks) == 1 - me {
                hint::spin_loop();
            }
            visit();
            interested[me].store(false, wants);
        });
    })
}

fn dekker(wants: Ordering, looks: Ordering) -> Report {
    exhaust(move || {
        let interested = [AtomicBool::new(false), AtomicBool::new(false)];
        never_both(|me, visit| {
            interested[me].store(true, wants);
            if !interested[1 - me].load(looks) {
                visit();
            }
            interested[me].store(false, wants);
        });
    })
}

#[test]
fn mutual_exclusion_by_hand_takes_sequential_consistency() {
    for algorithm in [peterson, dekker] {
        let report = algorithm(SeqCst, SeqCst);
        report.assert_ok();
        assert!(report.exhausted, "{report}");
        let report = algorithm(Release, Acquire);
        let failure = &report.failures[0];
        assert!(failure.message.contains("both are inside"), "{failure}");
        assert!(failure.message.contains("stale: "), "{failure}");
    }
}

#[test]
fn more_than_five_threads() {
    let report = exhaust(|| {
        let counter = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| counter.fetch_add(1, Relaxed));
            }
        });
        assert_eq!(counter.load(Relaxed), 6);
    });
    report.assert_ok();
    assert!(report.exhausted);
    assert_eq!(report.executions, 720);
}

#[test]
fn the_cheapest_way_to_mend_it_is_said() {
    let report = exhaust(|| {
        let data = Arc::new(AtomicU32::new(0));
        let ready = Arc::new(AtomicBool::new(false));
        let (to, flag) = (Arc::clone(&data), Arc::clone(&ready));
        let writer = thread::spawn(move || {
            to.store(42, Relaxed);
            flag.store(true, Release);
        });
        if ready.load(Relaxed) {
            assert_eq!(data.load(Relaxed), 42);
        }
        writer.join().unwrap();
    });
    let message = &report.failures[0].message;
    assert!(
        message.contains("with `Acquire` instead of `Relaxed` at "),
        "{message}"
    );
    assert!(!message.contains(" and `"), "one is enough: {message}");
}
