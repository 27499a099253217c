//! Thread-locals: one value for each modelled thread and execution, and std's behaviour outside.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Mutex as StdMutex;
use std::sync::atomic::{AtomicUsize as StdAtomicUsize, Ordering};

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::{FailureKind, thread};
use raddle_tests::parity::panics;
use raddle_tests::programs::run_threads;
use raddle_tests::{classes, executions, exhaust};

#[test]
fn every_thread_has_its_own_in_every_execution() {
    raddle::thread_local! {
        static NUMBER: Cell<usize> = const { Cell::new(100) };
        static LIST: RefCell<Vec<usize>> = RefCell::new(vec![7]);
    }
    NUMBER.set(1);
    LIST.with_borrow_mut(|list| list.push(8));
    executions(3, || {
        assert_eq!(NUMBER.get(), 100);
        run_threads(2, |number| {
            assert_eq!(NUMBER.replace(number), 100);
            LIST.with_borrow_mut(|list| list.push(number));
            thread::yield_now();
            assert_eq!(NUMBER.get(), number);
            LIST.with_borrow(|list| assert_eq!(*list, [7, number]));
        });
        LIST.with_borrow(|list| assert_eq!(*list, [7]));
        NUMBER.set(2);
        assert_eq!(NUMBER.take(), 2);
        assert_eq!(NUMBER.get(), 0);
    });
    assert_eq!(NUMBER.get(), 1);
    LIST.with_borrow(|list| assert_eq!(*list, [7, 8]));
}

#[test]
fn a_value_is_made_at_its_first_use() {
    static MADE: StdAtomicUsize = StdAtomicUsize::new(0);
    fn make(value: u32) -> Cell<u32> {
        MADE.fetch_add(1, Ordering::Relaxed);
        Cell::new(value)
    }
    raddle::thread_local! {
        static USED: Cell<u32> = make(1);
        static SET: Cell<u32> = make(2);
        static UNUSED: RefCell<Cell<u32>> = RefCell::new(make(3));
    }
    executions(2, || {
        let before = MADE.load(Ordering::Relaxed);
        let idle = thread::spawn(|| ());
        idle.join().unwrap();
        // What is set need not be made.
        SET.set(5);
        UNUSED.set(Cell::new(6));
        assert_eq!((SET.get(), UNUSED.take().get()), (5, 6));
        assert_eq!(MADE.load(Ordering::Relaxed), before);
        assert_eq!((USED.get(), USED.get()), (1, 1));
        assert_eq!(MADE.load(Ordering::Relaxed), before + 1);
    });
}

/// Writes its name down when it is dropped.
struct Noted(&'static str, &'static StdMutex<Vec<&'static str>>);

impl Drop for Noted {
    fn drop(&mut self) {
        self.1.lock().unwrap().push(self.0);
    }
}

#[test]
fn values_are_dropped_when_the_thread_ends_the_last_made_first() {
    static LOG: StdMutex<Vec<&str>> = StdMutex::new(Vec::new());
    macro_rules! program {
        ($thread_local:path, $thread:path) => {{
            use $thread as threads;
            use $thread_local as declare;
            declare! {
                static FIRST: Noted = Noted("first", &LOG);
                static SECOND: Noted = const { Noted("second", &LOG) };
                // Made while `OUTER` is, and so before it.
                static INNER: Noted = Noted("inner", &LOG);
                static OUTER: Noted = INNER.with(|_| Noted("outer", &LOG));
                static UNUSED: Noted = Noted("unused", &LOG);
            }
            let thread = threads::spawn(|| {
                FIRST.with(|_| ());
                OUTER.with(|_| ());
                SECOND.with(|_| ());
                FIRST.with(|_| ());
                LOG.lock().unwrap().push("end");
            });
            thread.join().unwrap();
            LOG.lock().unwrap().push("joined");
            std::mem::take(&mut *LOG.lock().unwrap())
        }};
    }
    let std = program!(std::thread_local, std::thread);
    assert_eq!(
        std,
        ["end", "second", "outer", "inner", "first", "joined"],
        "std's order"
    );
    executions(2, || {
        assert_eq!(program!(raddle::thread_local, raddle::thread), std);
    });
    assert_eq!(program!(raddle::thread_local, raddle::thread), std);
}

#[test]
fn the_main_thread_drops_its_values_at_the_end_of_the_body() {
    static LOG: StdMutex<Vec<&str>> = StdMutex::new(Vec::new());
    raddle::thread_local!(static VALUE: Noted = Noted("dropped", &LOG));
    executions(2, || {
        VALUE.with(|_| ());
        LOG.lock().unwrap().push("body");
    });
    assert_eq!(*LOG.lock().unwrap(), ["body", "dropped", "body", "dropped"]);
}

/// Stores into an atomic when it is dropped.
struct Stores(RefCell<Option<Arc<AtomicU32>>>);

impl Drop for Stores {
    fn drop(&mut self) {
        if let Some(value) = self.0.take() {
            value.store(1, SeqCst);
        }
    }
}

raddle::thread_local! {
    static STORES: Stores = const { Stores(RefCell::new(None)) };
}

#[test]
fn what_a_destructor_does_is_part_of_the_execution() {
    let seen = StdMutex::new(BTreeSet::new());
    let count = classes(|| {
        let value = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&value);
        let thread =
            thread::spawn(move || STORES.with(|stores| *stores.0.borrow_mut() = Some(other)));
        let before = value.load(SeqCst);
        thread.join().unwrap();
        assert_eq!(value.load(SeqCst), 1, "before the join");
        seen.lock().unwrap().insert(before);
    });
    // The first load comes before the store, or after it.
    assert_eq!(count, 2);
    assert_eq!(seen.into_inner().unwrap(), BTreeSet::from([0, 1]));
}

#[test]
fn scoped_threads_have_their_own_too() {
    let count = classes(|| {
        let value = Arc::new(AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| STORES.with(|stores| *stores.0.borrow_mut() = Some(value.clone())));
            }
        });
        assert_eq!(value.load(SeqCst), 1);
    });
    assert_eq!(count, 2, "the orders of two stores");
}

#[test]
fn a_value_that_is_gone_is_an_error_as_in_std() {
    static LOG: StdMutex<Vec<String>> = StdMutex::new(Vec::new());
    macro_rules! program {
        ($thread_local:path, $thread:path) => {{
            use $thread as threads;
            use $thread_local as declare;
            struct Looks;
            impl Drop for Looks {
                fn drop(&mut self) {
                    let mut log = LOG.lock().unwrap();
                    let own = OWN.try_with(|_| ()).unwrap_err();
                    log.push(format!("{own} {own:?} {own:#?} {}", own == own.clone()));
                    log.push(format!("{:?}", GONE.try_with(|_| ())));
                    log.push(format!("{:?}", LATER.try_with(|_| ())));
                    log.push(format!(
                        "{:?} {:?}",
                        NEW.try_with(|_| ()),
                        NEW.try_with(|_| ())
                    ));
                    log.push(format!("{}", PLAIN.replace(4)));
                    log.push(panics(|| OWN.with(|_| ())));
                    log.push(panics(|| CELL.set(Some(Box::new(1)))));
                }
            }
            struct Quiet;
            impl Drop for Quiet {
                fn drop(&mut self) {
                    LOG.lock().unwrap().push("quiet".into());
                }
            }
            declare! {
                static LATER: Quiet = const { Quiet };
                static OWN: Looks = const { Looks };
                static GONE: Quiet = Quiet;
                static CELL: Cell<Option<Box<u32>>> = Cell::new(None);
                /// Made by the destructor.
                static NEW: Quiet = Quiet;
                static PLAIN: Cell<u32> = Cell::new(3)
            }
            let thread = threads::spawn(|| {
                LATER.with(|_| ());
                OWN.with(|_| ());
                GONE.with(|_| ());
                CELL.set(None);
            });
            thread.join().unwrap();
            let mut log = std::mem::take(&mut *LOG.lock().unwrap());
            log.push(format!("{OWN:?}"));
            log
        }};
    }
    let std = program!(std::thread_local, std::thread);
    assert_eq!(std.len(), 11);
    assert_eq!(std[0], "quiet", "`GONE` goes first");
    executions(2, || {
        assert_eq!(program!(raddle::thread_local, raddle::thread), std);
    });
    assert_eq!(program!(raddle::thread_local, raddle::thread), std);
}

#[test]
fn a_panic_in_a_destructor_is_a_failure() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("in a destructor");
        }
    }
    static DROPS: StdMutex<Vec<&str>> = StdMutex::new(Vec::new());
    raddle::thread_local! {
        static OTHER: Noted = Noted("other", &DROPS);
        static PANICS: Panics = const { Panics };
    }
    let report = exhaust(|| {
        let thread = thread::spawn(|| {
            OTHER.with(|_| ());
            PANICS.with(|_| ());
        });
        thread.join().expect("the thread itself has not panicked");
    });
    assert_eq!(report.failures.len(), 1);
    assert_eq!(report.failures[0].kind, FailureKind::Panic);
    let message = &report.failures[0].message;
    assert!(message.contains("in a destructor"), "{message}");
    assert_eq!(*DROPS.lock().unwrap(), ["other"]);
}

#[test]
fn a_thread_that_panics_drops_its_values() {
    static DROPS: StdMutex<Vec<&str>> = StdMutex::new(Vec::new());
    raddle::thread_local!(
        static VALUE: Noted = Noted("value", &DROPS);
    );
    executions(2, || {
        let thread = thread::spawn(|| {
            VALUE.with(|_| ());
            VALUE.with(|_| panic!("inside"));
        });
        assert!(thread.join().is_err());
    });
    assert_eq!(*DROPS.lock().unwrap(), ["value", "value"]);
}

#[test]
fn threads_that_are_left_behind_drop_their_values() {
    static DROPS: StdMutex<Vec<&str>> = StdMutex::new(Vec::new());
    static LOCK: Mutex<u32> = Mutex::new(0);
    /// Locks while it is dropped.
    struct Locks(Noted);
    impl Drop for Locks {
        fn drop(&mut self) {
            *LOCK.lock().unwrap() += 1;
            self.0.1.lock().unwrap().push("locked");
        }
    }
    raddle::thread_local! {
        static VALUE: Locks = Locks(Noted("value", &DROPS));
        static COUNT: Cell<u32> = const { Cell::new(0) };
    }
    let report = exhaust(|| {
        assert_eq!(COUNT.replace(1), 0, "nothing is left of the last execution");
        let thread = thread::spawn(|| {
            VALUE.with(|_| ());
            let _guard = LOCK.lock().unwrap();
            match raddle::choose(0..3) {
                0 => drop(LOCK.lock()),
                1 => raddle::assume(false),
                _ => {}
            }
        });
        thread.join().unwrap();
    });
    assert_eq!((report.executions, report.discarded), (2, 1));
    assert_eq!(report.failures.len(), 1);
    assert_eq!(report.failures[0].kind, FailureKind::Deadlock);
    assert_eq!(report.failures[0].notes, [""; 0], "all were unwound");
    assert_eq!(*DROPS.lock().unwrap(), ["locked", "value"].repeat(3));
}

#[test]
fn a_destructor_can_deadlock() {
    static LOCK: Mutex<()> = Mutex::new(());
    struct Locks;
    impl Drop for Locks {
        fn drop(&mut self) {
            let _guard = LOCK.lock();
        }
    }
    raddle::thread_local!(static VALUE: Locks = const { Locks });
    let report = exhaust(|| {
        let thread = thread::spawn(|| VALUE.with(|_| ()));
        let _guard = LOCK.lock().unwrap();
        thread.join().unwrap();
    });
    assert_eq!(report.failures.len(), 1);
    assert_eq!(report.failures[0].kind, FailureKind::Deadlock);
    assert_eq!(
        report.classes(),
        2,
        "before the other takes the lock, or never"
    );
}

#[test]
fn checks_side_by_side_have_their_own() {
    raddle::thread_local!(static COUNT: Cell<u32> = const { Cell::new(0) });
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                COUNT.set(7);
                executions(3, || {
                    run_threads(2, |_| assert_eq!(COUNT.replace(1), 0));
                    assert_eq!(COUNT.replace(2), 0);
                });
                assert_eq!(COUNT.get(), 7);
            });
        }
    });
}

mod other_module {
    use std::cell::Cell;

    raddle::thread_local! {
        /// Seen from outside the module.
        #[allow(dead_code)]
        pub(super) static VISIBLE: Cell<u8> = const { Cell::new(1) };
        pub static ALSO: Cell<u8> = Cell::new(2);
    }
}

#[test]
fn declarations_have_attributes_and_visibility() {
    raddle::thread_local! {}
    raddle::thread_local!(static ONE: u8 = const { 3 });
    raddle::thread_local! { static TWO: u8 = { let two = 2; two + 2 } }
    assert_eq!(other_module::VISIBLE.get() + other_module::ALSO.get(), 3);
    assert_eq!(ONE.with(|one| *one) + TWO.with(|two| *two), 7);
    let key: &'static thread::LocalKey<u8> = &ONE;
    assert_eq!(key.with(u8::clone), 3);
}

#[test]
fn outside_a_check_it_is_as_std() {
    macro_rules! program {
        ($thread_local:path) => {{
            use $thread_local as declare;
            declare! {
                static CELL: Cell<u32> = Cell::new(1);
                static LIST: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
            }
            let mut results = Vec::new();
            CELL.set(2);
            results.push(format!(
                "{} {} {}",
                CELL.get(),
                CELL.replace(3),
                CELL.take()
            ));
            LIST.set(vec![1, 2]);
            results.push(LIST.with_borrow(|list| format!("{list:?}")));
            LIST.with_borrow_mut(|list| list.push(3));
            results.push(format!("{:?} {:?}", LIST.replace(vec![]), LIST.take()));
            results.push(panics(|| LIST.with_borrow(|_| LIST.set(vec![]))));
            results.push(format!("{:?} {CELL:?}", CELL.try_with(Cell::get)));
            results
        }};
    }
    let std = program!(std::thread_local);
    assert_eq!(program!(raddle::thread_local), std);
    executions(2, || assert_eq!(program!(raddle::thread_local), std));
}
