//! std's thread-locals, of which all threads of a check have one value: a check in which several threads
//! use one that is changed says so, and does not claim every behaviour.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::panic::catch_unwind;

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex, mpsc};
use raddle::{Checker, Guarantee, Report, Strategy, thread};
use raddle_tests::programs::run_threads;

/// A value with a destructor of its own.
#[derive(Default)]
struct Droppy(u32);

impl Drop for Droppy {
    fn drop(&mut self) {
        self.0 = 0;
    }
}

/// The ways to use a thread-local: std's one, and raddle's one of the same type.
struct Case {
    /// The path of std's one.
    path: &'static str,
    change: fn(),
    read: fn(),
    change_own: fn(),
    read_own: fn(),
}

macro_rules! cases {
    ($($name:ident: $type:ty = [$($init:tt)*] $change:expr => $read:expr;)*) => {
        $(mod $name {
            pub(super) mod shared {
                use super::super::*;
                std::thread_local!(static VALUE: $type = $($init)*);
                pub(in super::super) const PATH: &str = concat!(module_path!(), "::VALUE");
                pub(in super::super) fn change() {
                    $change
                }
                pub(in super::super) fn read() {
                    black_box($read);
                }
            }
            pub(super) mod own {
                use super::super::*;
                raddle::thread_local!(static VALUE: $type = $($init)*);
                pub(in super::super) fn change() {
                    $change
                }
                pub(in super::super) fn read() {
                    black_box($read);
                }
            }
        })*

        const CASES: &[Case] = &[$(Case {
            path: $name::shared::PATH,
            change: $name::shared::change,
            read: $name::shared::read,
            change_own: $name::own::change,
            read_own: $name::own::read,
        }),*];
    };
}

cases! {
    constant_cell: Cell<u32> = [const { Cell::new(0) }] VALUE.set(VALUE.get() + 1) => VALUE.get();
    constant_cell_that_is_not_zero: Cell<u64> = [const { Cell::new(7) }]
        VALUE.set(VALUE.get() * 3) => VALUE.get();
    lazy_cell: Cell<u32> = [Cell::new(0)] VALUE.set(VALUE.get() + 1) => VALUE.get();
    constant_list: RefCell<Vec<u32>> = [const { RefCell::new(Vec::new()) }]
        VALUE.with_borrow_mut(|list| list.push(1)) => VALUE.with_borrow(Vec::len);
    lazy_list: RefCell<Vec<u32>> = [RefCell::new(vec![1])]
        VALUE.with_borrow_mut(|list| list.push(2)) => VALUE.with_borrow(Vec::len);
    lazy_map: RefCell<HashMap<u32, u32>> = [RefCell::default()]
        VALUE.with_borrow_mut(|map| _ = map.insert(map.len() as u32, 1))
        => VALUE.with_borrow(|map| map.get(&0).copied());
    constant_tree: RefCell<BTreeMap<u32, u32>> = [const { RefCell::new(BTreeMap::new()) }]
        VALUE.with_borrow_mut(|map| _ = map.insert(map.len() as u32, 1))
        => VALUE.with_borrow(|map| map.get(&0).copied());
    destructor: RefCell<Droppy> = [RefCell::default()]
        VALUE.with_borrow_mut(|value| value.0 += 1) => VALUE.with_borrow(|value| value.0);
    constant_destructor: RefCell<Droppy> = [const { RefCell::new(Droppy(5)) }]
        VALUE.with_borrow_mut(|value| value.0 += 1) => VALUE.with_borrow(|value| value.0);
    boxed: Cell<Option<Box<u32>>> = [const { Cell::new(None) }]
        VALUE.with(|value| std::mem::forget(value.replace(Some(Box::new(1)))))
        => VALUE.with(|value| {
            let taken = value.take();
            let number = taken.as_deref().copied();
            value.set(taken);
            number
        });
    text: RefCell<String> = [RefCell::new("a".to_owned())]
        VALUE.with_borrow_mut(|text| text.push('b')) => VALUE.with_borrow(|text| text.ends_with('b'));
    flags: [Cell<bool>; 3] = [const { [const { Cell::new(false) }; 3] }] VALUE.with(|flags| {
        let free = flags.iter().find(|flag| !flag.get());
        free.unwrap_or(&flags[0]).update(|flag| !flag);
    }) => VALUE.with(|flags| flags.iter().filter(|flag| flag.get()).count());
    number: Cell<u128> = [const { Cell::new(0) }]
        VALUE.set(VALUE.get() + (1 << 100)) => VALUE.get();
    pair: (Cell<u8>, RefCell<u16>) = [(Cell::new(0), RefCell::new(1))] VALUE.with(|(one, two)| {
        one.update(|it| it.wrapping_add(1));
        *two.borrow_mut() += 1;
    }) => VALUE.with(|(one, two)| u16::from(one.get()) + *two.borrow());
    once: OnceCell<u32> = [const { OnceCell::new() }]
        VALUE.with(|once| _ = once.get_or_init(|| 3)) => VALUE.with(|once| once.get().copied());
    same: Cell<bool> = [const { Cell::new(false) }] VALUE.set(true) => VALUE.get();
    pointer: Cell<*const u8> = [const { Cell::new(std::ptr::null()) }]
        VALUE.set(VALUE.get().wrapping_add(1)) => VALUE.get().is_null();
    large: RefCell<[u64; 40]> = [const { RefCell::new([0; 40]) }]
        VALUE.with_borrow_mut(|list| list[39] += 1) => VALUE.with_borrow(|list| list[39]);
    float: Cell<f64> = [const { Cell::new(0.5) }] VALUE.set(VALUE.get() + 1.0) => VALUE.get() < 9.0;
    shared_handle: std::rc::Rc<Cell<u32>> = [std::rc::Rc::default()]
        VALUE.with(|value| value.set(value.get() + 1)) => VALUE.with(|value| value.get());
}

/// Two threads, whose updates of an atomic have two orders, do this.
fn in_both(work: impl Fn() + Copy + Send + Sync + 'static) -> impl Fn() + Send + Sync {
    move || {
        let count = AtomicU32::new(0);
        run_threads(2, move |_| {
            work();
            count.fetch_add(1, SeqCst);
        });
    }
}

fn exhaustive(program: impl Fn() + Send + Sync) -> Report {
    let report = Checker::new().strategy(Strategy::Exhaustive).run(program);
    report.assert_ok();
    report
}

/// Asserts that the check says which ones are shared, and claims no more than that.
fn assert_shared(report: &Report, path: &str, classes: &str) {
    assert_eq!(report.shared_locals(), [path], "{report}");
    assert_eq!(report.guarantee(), Guarantee::Sampled, "{path}");
    assert!(!report.exhausted, "{path}");
    let start = format!(
        "not every behaviour was run: {classes}; the threads of the check share the value of std's \
         `thread_local!` {path}: declare it with `raddle::thread_local!` ("
    );
    let text = report.to_string();
    assert!(text.starts_with(&start), "{text}");
}

/// Asserts that the check claims every behaviour.
fn assert_not_shared(report: &Report, what: &str, classes: &str) {
    assert!(report.shared_locals().is_empty(), "{what}: {report}");
    assert!(report.unclear_locals().is_empty(), "{what}: {report}");
    assert_eq!(report.guarantee(), Guarantee::Exhaustive, "{what}");
    let text = report.to_string();
    let (classes, _) = classes.split_once(" in ").unwrap_or((classes, ""));
    let start = format!("every behaviour was run: {classes}");
    assert!(text.starts_with(&start), "{what}: {text}");
}

#[test]
fn one_that_two_threads_change_is_named() {
    for case in CASES {
        let report = exhaustive(in_both(case.change));
        assert_shared(&report, case.path, "2 classes in 2 runs");
    }
}

#[test]
fn one_that_main_and_another_thread_change_is_named() {
    for case in CASES {
        let change = case.change;
        let report = exhaustive(move || {
            let other = thread::spawn(change);
            change();
            other.join().unwrap();
        });
        assert_shared(&report, case.path, "1 class in 1 run");
    }
}

/// A program of threads that change a thread-local and threads that read it, with its number of classes.
type Pattern = (&'static str, &'static str, fn(fn(), fn()));

/// The order of the two uses is in all of them such that the second thread sees the value of the first one.
const PATTERNS: &[Pattern] = &[
    (
        "main before it spawns",
        "1 class in 1 run",
        |change, read| {
            change();
            thread::spawn(read).join().unwrap();
        },
    ),
    ("main before a scope", "1 class in 1 run", |change, read| {
        change();
        thread::scope(|scope| _ = scope.spawn(read));
    }),
    (
        "a thread before main",
        "1 class in 1 run",
        |change, read| {
            thread::spawn(change).join().unwrap();
            read();
        },
    ),
    (
        "a thread of a scope before main",
        "1 class in 1 run",
        |change, read| {
            thread::scope(|scope| _ = scope.spawn(change));
            read();
        },
    ),
    (
        "a thread before another",
        "1 class in 1 run",
        |change, read| {
            thread::spawn(change).join().unwrap();
            thread::spawn(read).join().unwrap();
        },
    ),
    (
        "a thread in a lock",
        "2 classes in 2 runs",
        |change, read| {
            let lock = Arc::new(Mutex::new(()));
            let theirs = Arc::clone(&lock);
            let other = thread::spawn(move || {
                let _guard = theirs.lock().unwrap();
                change();
            });
            {
                let _guard = lock.lock().unwrap();
                read();
            }
            other.join().unwrap();
        },
    ),
    (
        "a thread that sends a message",
        "1 class in 1 run",
        |change, read| {
            let (sender, receiver) = mpsc::channel();
            let other = thread::spawn(move || {
                change();
                sender.send(1).unwrap();
            });
            receiver.recv().unwrap();
            read();
            other.join().unwrap();
        },
    ),
    (
        "a thread that sets a flag",
        "2 classes in 2 runs",
        |change, read| {
            let flag = Arc::new(AtomicU32::new(0));
            let theirs = Arc::clone(&flag);
            let other = thread::spawn(move || {
                change();
                theirs.store(1, SeqCst);
            });
            if flag.load(SeqCst) == 1 {
                read();
            }
            other.join().unwrap();
        },
    ),
];

#[test]
fn one_that_another_thread_reads_is_named() {
    for (number, case) in CASES.iter().enumerate() {
        for (what, classes, pattern) in PATTERNS.iter().skip(number % 3).step_by(3) {
            let (change, read) = (case.change, case.read);
            // A fresh OS thread for each: a value from an earlier check would be written again unchanged.
            let check = std::thread::spawn(move || exhaustive(move || pattern(change, read)));
            let report = check.join().unwrap();
            assert!(!report.shared_locals().is_empty(), "{what}: {}", case.path);
            assert_shared(&report, case.path, classes);
        }
    }
}

/// Their twins, each with the reasons why the result is true: raddle's own; another variable; a value that is
/// never changed; a thread that does not look at it.
#[test]
fn others_are_not_named() {
    std::thread_local!(static UNCHANGED: Cell<u32> = const { Cell::new(4) });
    for case in CASES {
        for (what, classes, pattern) in PATTERNS {
            let what = format!("{what}: {}", case.path);
            let (change, read) = (case.change_own, case.read_own);
            let report = exhaustive(move || pattern(change, read));
            assert_not_shared(&report, &what, classes);
            let look = || _ = black_box(UNCHANGED.get());
            assert_not_shared(&exhaustive(move || pattern(look, look)), &what, classes);
            if what.starts_with("main before it") {
                let change = case.change;
                assert_not_shared(&exhaustive(move || pattern(change, look)), &what, classes);
            }
        }
    }
}

#[test]
fn raddles_own_are_not_shared() {
    for case in CASES {
        let report = exhaustive(in_both(case.change_own));
        assert_not_shared(&report, case.path, "2 classes");
    }
}

/// The main thread is the same in all executions.
#[test]
fn one_that_only_main_uses_is_not_shared() {
    for case in CASES {
        let (change, read) = (case.change, case.read);
        let report = exhaustive(move || {
            change();
            let count = AtomicU32::new(0);
            run_threads(2, move |_| _ = count.fetch_add(1, SeqCst));
            read();
            change();
        });
        assert_not_shared(&report, case.path, "2 classes");
    }
}

/// A thread of the second execution would have a fresh value.
#[test]
fn one_that_a_thread_of_each_execution_uses_is_named() {
    for case in CASES {
        let change = case.change;
        let report = exhaustive(move || {
            let count = AtomicU32::new(0);
            run_threads(2, move |number| {
                if number == 1 {
                    change();
                }
                count.fetch_add(1, SeqCst);
            });
        });
        assert_shared(&report, case.path, "2 classes in 2 runs");
    }
}

#[test]
fn one_that_a_single_thread_of_a_single_execution_uses_is_not_shared() {
    for case in CASES {
        let (change, read) = (case.change, case.read);
        let report = exhaustive(move || {
            let thread = thread::spawn(move || {
                change();
                thread::yield_now();
                read();
            });
            thread.join().unwrap();
            thread::spawn(|| ()).join().unwrap();
        });
        assert_not_shared(&report, case.path, "1 class");
    }
}

/// A thread may use a value of another one, which lends it.
#[test]
fn a_borrowed_value_is_not_shared() {
    std::thread_local! {
        static LIST: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
        static NAMES: RefCell<Vec<String>> = RefCell::default();
    }
    let report = exhaustive(|| {
        LIST.with_borrow_mut(|list| list.push(1));
        NAMES.with_borrow_mut(|names| names.push("a".to_owned()));
        LIST.with_borrow(|list| {
            NAMES.with_borrow(|names| {
                thread::scope(|scope| {
                    scope.spawn(|| assert_eq!(list[0], 1));
                    scope.spawn(|| assert_eq!(names[0], "a"));
                });
            });
        });
    });
    assert_not_shared(&report, "lent", "1 class");
}

/// The use is only in a class that the search comes to late.
#[test]
fn a_use_in_a_late_class_is_seen() {
    std::thread_local!(static VALUE: Cell<u32> = const { Cell::new(0) });
    let program = |last: u32| {
        move || {
            VALUE.set(1);
            let order = Arc::new(Mutex::new(Vec::new()));
            let threads: Vec<_> = (0..3)
                .map(|number| {
                    let order = Arc::clone(&order);
                    thread::spawn(move || {
                        let mut order = order.lock().unwrap();
                        order.push(number);
                        if *order == [2, 1, last] {
                            black_box(VALUE.get());
                        }
                    })
                })
                .collect();
            threads.into_iter().for_each(|it| it.join().unwrap());
        }
    };
    let path = concat!(module_path!(), "::a_use_in_a_late_class_is_seen::VALUE");
    assert_shared(&exhaustive(program(0)), path, "6 classes in 6 runs");
    assert_not_shared(&exhaustive(program(9)), path, "6 classes");
}

/// Runs this in an OS thread of its own, which has fresh values.
fn afresh<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| scope.spawn(work).join().unwrap())
}

/// A new thread would not see what the caller of the check has left.
#[test]
fn one_that_was_changed_before_the_check_is_named() {
    for case in CASES {
        let (change, read) = (case.change, case.read);
        for readers in [1, 2] {
            let report = afresh(|| {
                change();
                exhaustive(move || {
                    run_threads(readers, move |_| read());
                })
            });
            assert_shared(&report, case.path, "1 class in 1 run");
        }
        let by_main = afresh(|| {
            change();
            exhaustive(move || {
                read();
                run_threads(2, |_| ());
                change();
            })
        });
        assert_not_shared(&by_main, case.path, "1 class");
        // Another OS thread has values of its own.
        afresh(change);
        let by_another = afresh(|| exhaustive(move || run_threads(1, move |_| read())));
        assert_not_shared(&by_another, case.path, "1 class");
    }
}

/// Many small checks after one change would be slow: the steps of an OS thread for that are limited. Changes in
/// a check have their own limit.
#[test]
fn the_search_for_values_from_before_has_a_limit_for_an_os_thread() {
    let Case {
        path, change, read, ..
    } = CASES[0];
    afresh(|| {
        change();
        // More instructions than the limit.
        let long = || (0..200_000).for_each(|number| _ = black_box(number));
        let report = exhaustive(move || run_threads(1, move |_| long()));
        assert_not_shared(&report, "long", "1 class");
        let report = exhaustive(move || run_threads(1, move |_| read()));
        assert_not_shared(&report, "over the limit", "1 class");
        let report = exhaustive(move || {
            change();
            run_threads(2, move |_| ());
        });
        assert_not_shared(&report, "by main alone", "1 class");
        let report = exhaustive(move || {
            change();
            run_threads(1, move |_| read());
        });
        assert_shared(&report, path, "1 class in 1 run");
        let report = exhaustive(in_both(change));
        assert_shared(&report, path, "2 classes in 2 runs");
    });
}

#[test]
fn one_of_a_dependency_is_named() {
    let report = exhaustive(in_both(|| _ = fastrand::u32(..)));
    assert_shared(&report, "fastrand::global_rng::RNG", "2 classes in 2 runs");
}

#[test]
fn those_of_std_belong_to_the_os_thread() {
    let works: [(&str, fn()); 5] = [
        ("keys of hash maps", || drop(HashMap::<u32, u32>::new())),
        ("panics", || drop(catch_unwind(|| panic!("caught")))),
        ("output", || println!("captured by the test")),
        ("the current thread", || _ = std::thread::current().id()),
        ("memory", || drop(vec![0_u8; 100])),
    ];
    for (what, work) in works {
        assert_not_shared(&exhaustive(in_both(work)), what, "2 classes");
    }
}

/// One that is declared in a function, in a method and in a closure.
#[test]
fn the_path_is_that_of_the_source() {
    struct Type;
    impl Type {
        fn method() {
            std::thread_local!(static INNER: Cell<u32> = const { Cell::new(0) });
            INNER.set(INNER.get() + 1);
        }
    }
    fn function() {
        std::thread_local!(static INNER: Cell<u32> = const { Cell::new(0) });
        INNER.set(INNER.get() + 1);
    }
    let here = concat!(module_path!(), "::the_path_is_that_of_the_source");
    let name = |work: fn()| exhaustive(in_both(work)).shared_locals()[0].clone();
    assert_eq!(name(function), format!("{here}::function::INNER"));
    let method = name(Type::method);
    assert!(
        method.starts_with(here) && method.ends_with("::method::INNER"),
        "{method}"
    );
}

#[test]
fn several_are_counted() {
    std::thread_local! {
        static ONE: Cell<u32> = const { Cell::new(0) };
        static TWO: Cell<u32> = const { Cell::new(0) };
        static THREE: Cell<u32> = const { Cell::new(0) };
    }
    let report = exhaustive(in_both(|| {
        ONE.set(ONE.get() + 1);
        TWO.set(TWO.get() + 1);
        THREE.set(THREE.get() + 1);
    }));
    assert_eq!(report.shared_locals().len(), 3);
    let note = report.note_of_shared_locals().unwrap();
    assert!(note.contains("::ONE and 2 others: declare"), "{note}");
}

#[test]
fn other_strategies_and_several_workers_find_it_too() {
    let case = &CASES[0];
    for checker in [
        Checker::new(),
        Checker::new().strategy(Strategy::Random).max_executions(5),
        Checker::new().strategy(Strategy::Exhaustive).workers(3),
    ] {
        let report = checker.run(in_both(case.change));
        assert_eq!(report.shared_locals(), [case.path]);
        assert_eq!(report.guarantee(), Guarantee::Sampled);
    }
}

/// The failure may come from the sharing, as this one does.
#[test]
fn a_failure_has_the_note() {
    std::thread_local!(static DEPTH: Cell<u32> = const { Cell::new(0) });
    let checker = Checker::new().strategy(Strategy::Exhaustive);
    let report = checker.run(|| {
        DEPTH.set(0);
        run_threads(2, |_| {
            let before = DEPTH.replace(DEPTH.get() + 1);
            assert_eq!(before, 0, "of another thread");
        });
    });
    let path = concat!(module_path!(), "::a_failure_has_the_note::DEPTH");
    let note = format!(
        "the threads of the check share the value of std's `thread_local!` {path}: declare it with \
         `raddle::thread_local!`"
    );
    let failure = &report.failures[0];
    assert_eq!(failure.notes, std::slice::from_ref(&note));
    assert!(
        failure.to_string().contains(&format!("\n  note: {note}\n")),
        "{failure}"
    );
}

/// Threads see the same value as in a real run.
#[test]
fn what_no_thread_sees_changed_is_not_named() {
    std::thread_local! {
        static READ: Cell<u32> = const { Cell::new(1) };
        static GUARDED: Cell<u32> = const { Cell::new(0) };
    }
    let works: [(&str, fn()); 2] = [
        ("read", || assert_eq!(READ.get(), 1)),
        ("restored before another thread runs", || {
            GUARDED.set(GUARDED.get() + 1);
            GUARDED.set(GUARDED.get() - 1);
        }),
    ];
    for (what, work) in works {
        assert_not_shared(&exhaustive(in_both(work)), what, "2 classes");
    }
}
