//! Shared values whose handles are part of the search: who drops the last one, what those who ask
//! are told, what it costs, and parity with std.
//!
//! A class is told by the order in which handles go, or are asked about, and by the order in which
//! handles are made; the two have no order with each other.

use std::collections::BTreeSet;
use std::sync::Mutex as StdMutex;

use raddle::sync::atomic::{AtomicBool, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex, TrackedArc, TrackedWeak};
use raddle::{Checker, FailureKind, Strategy, thread};
use raddle_tests::compare::behaviour;
use raddle_tests::parity::text;

/// Tells which thread dropped it.
struct Tells(Arc<StdMutex<Option<String>>>);

impl Drop for Tells {
    fn drop(&mut self) {
        *self.0.lock().unwrap() = thread::current().name().map(str::to_owned);
    }
}

/// Drops a handle in each of `threads` threads and in main; returns the name of the last one.
fn last_to_drop(threads: usize) -> String {
    let told = Arc::new(StdMutex::new(None));
    let value = TrackedArc::new(Tells(Arc::clone(&told)));
    let threads: Vec<_> = (1..=threads)
        .map(|number| {
            let handle = value.clone();
            let thread = thread::Builder::new().name(number.to_string());
            thread.spawn(move || drop(handle)).unwrap()
        })
        .collect();
    drop(value);
    for thread in threads {
        thread.join().unwrap();
    }
    told.lock().unwrap().take().expect("somebody dropped it")
}

#[test]
fn anybody_may_drop_the_last_handle() {
    // Every order of the drops; making handles, which main does, adds nothing.
    for (threads, factorial) in [(1, 2), (2, 6), (3, 24)] {
        let seen = behaviour(&Checker::new(), || last_to_drop(threads));
        assert_eq!((seen.classes, seen.kinds()), (factorial, vec![]));
        let numbers = (1..=threads).map(|number| number.to_string());
        let everybody: BTreeSet<_> = numbers.chain(["main".to_owned()]).collect();
        assert_eq!(seen.outcomes, everybody);
    }
}

#[test]
fn a_destructor_that_others_notice_runs_in_every_order() {
    struct Closes(Arc<AtomicBool>);
    impl Drop for Closes {
        fn drop(&mut self) {
            self.0.store(true, SeqCst);
        }
    }
    let seen = behaviour(&Checker::new(), || {
        let closed = Arc::new(AtomicBool::new(false));
        let value = TrackedArc::new(Closes(Arc::clone(&closed)));
        let other = value.clone();
        let thread = thread::spawn(move || drop(other));
        drop(value);
        let seen = closed.load(SeqCst);
        thread.join().unwrap();
        assert!(closed.load(SeqCst));
        seen
    });
    assert_eq!(seen.outcomes, BTreeSet::from([false, true]));
    // The other's drop is first: main closes and sees it. Main's is first: the other one closes
    // before main looks, or after.
    assert_eq!(seen.classes, 3);
}

#[test]
fn new_handles_are_ordered_with_each_other_and_with_nothing_else() {
    let seen = behaviour(&Checker::new(), || {
        let value = TrackedArc::new(());
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| drop(value.clone()));
            }
        });
    });
    // Two orders to make handles, two orders to drop them.
    assert_eq!(seen.classes, 4);
}

#[test]
fn counting_sees_handles_come_and_go() {
    let seen = behaviour(&Checker::new(), || {
        let value = TrackedArc::new(());
        let other = value.clone();
        let thread = thread::spawn(move || drop(other));
        let count = TrackedArc::strong_count(&value);
        thread.join().unwrap();
        assert_eq!(TrackedArc::strong_count(&value), 1);
        count
    });
    assert_eq!(seen.outcomes, BTreeSet::from([1, 2]));
    // The drop comes before the two looks at handles that go, between them, or after them.
    assert_eq!(seen.classes, 3);
    let seen = behaviour(&Checker::new(), || {
        let value = TrackedArc::new(());
        thread::scope(|scope| {
            scope.spawn(|| std::mem::forget((value.clone(), TrackedArc::downgrade(&value))));
            (
                TrackedArc::strong_count(&value),
                TrackedArc::weak_count(&value),
            )
        })
    });
    assert_eq!(
        seen.outcomes,
        BTreeSet::from([(1, 0), (1, 1), (2, 0), (2, 1)])
    );
    // Two births before, between and after two looks at them.
    assert_eq!(seen.classes, 6);
}

#[test]
fn counts_are_true_at_some_moment() {
    // Never three, and never none: the other thread makes a handle and drops one, or the other way
    // round.
    for clone_first in [false, true] {
        let seen = behaviour(&Checker::new(), || {
            let value = TrackedArc::new(());
            let mut handles = vec![value.clone(), value.clone()];
            let thread = thread::spawn(move || {
                let more = clone_first.then(|| handles[0].clone());
                handles.pop();
                let more = more.unwrap_or_else(|| handles[0].clone());
                std::mem::forget((handles, more));
            });
            let count = TrackedArc::strong_count(&value);
            thread.join().unwrap();
            count
        });
        let between = if clone_first { 4 } else { 2 };
        assert_eq!(seen.outcomes, BTreeSet::from([3, between]));
    }
}

#[test]
fn an_upgrade_succeeds_while_somebody_has_the_value() {
    let seen = behaviour(&Checker::new(), || {
        let told = Arc::new(StdMutex::new(None));
        let value = TrackedArc::new(Tells(Arc::clone(&told)));
        let weak = TrackedArc::downgrade(&value);
        let thread = thread::Builder::new().name("other".into());
        let thread = thread.spawn(move || weak.upgrade().is_some()).unwrap();
        drop(value);
        let upgraded = thread.join().unwrap();
        let last = told.lock().unwrap().take().unwrap();
        (upgraded, last)
    });
    let expected = [(false, "main"), (true, "main"), (true, "other")];
    let expected = expected.map(|(upgraded, last)| (upgraded, last.to_owned()));
    assert_eq!(seen.outcomes, BTreeSet::from(expected));
    // Main's drop comes before the upgrade, or between it and the drop of what it gave, or between
    // that and the drop of the weak handle, or last.
    assert_eq!(seen.classes, 4);
}

#[test]
fn the_value_is_taken_out_by_one_at_most() {
    let take = |take: fn(TrackedArc<u8>) -> bool| {
        behaviour(&Checker::new(), move || {
            let value = TrackedArc::new(0);
            let other = value.clone();
            let thread = thread::spawn(move || take(other));
            let mine = take(value);
            (mine, thread.join().unwrap())
        })
    };
    let seen = take(|handle| TrackedArc::into_inner(handle).is_some());
    assert_eq!(
        seen.outcomes,
        BTreeSet::from([(false, true), (true, false)])
    );
    assert_eq!(seen.classes, 2);
    // Both may try before either gives up: then it is dropped. Who tries first fails and drops; the
    // other tries after that, or before, and then there are two orders to drop.
    let seen = take(|handle| TrackedArc::try_unwrap(handle).is_ok());
    let expected = [(false, false), (false, true), (true, false)];
    assert_eq!(seen.outcomes, BTreeSet::from(expected));
    assert_eq!(seen.classes, 2 * 3);
}

#[test]
fn a_weak_handle_stands_in_the_way_of_changing_the_value() {
    let seen = behaviour(&Checker::new(), || {
        let mut value = TrackedArc::new(0);
        let weak = TrackedArc::downgrade(&value);
        let thread = thread::spawn(move || drop(weak));
        let changed = TrackedArc::get_mut(&mut value).is_some();
        thread.join().unwrap();
        assert!(TrackedArc::get_mut(&mut value).is_some());
        changed
    });
    assert_eq!(seen.outcomes, BTreeSet::from([false, true]));
    assert_eq!(seen.classes, 2);
}

#[test]
fn changing_a_shared_value_changes_a_clone_or_takes_it_from_weak_handles() {
    let seen = behaviour(&Checker::new(), || {
        let mut value = TrackedArc::new(1);
        let (other, weak) = (value.clone(), TrackedArc::downgrade(&value));
        let thread = thread::spawn(move || *other);
        *TrackedArc::make_mut(&mut value) += 1;
        let weak_lost_it = weak.upgrade().is_none();
        assert_eq!((*value, thread.join().unwrap()), (2, 1));
        weak_lost_it
    });
    assert_eq!(seen.outcomes, BTreeSet::from([false, true]));
    assert_eq!(seen.kinds(), []);
}

/// What a thread of a random program does with the handles it has.
#[derive(Clone, Copy, Debug)]
enum Statement {
    Clone,
    Drop,
    Downgrade,
    DropWeak,
    Upgrade,
    TryUnwrap,
    IntoInner,
    GetMut,
    MakeMut,
    StrongCount,
    WeakCount,
}

/// Does it and says what came of it.
fn run(statements: &[Statement], handle: TrackedArc<Counts>) -> Vec<usize> {
    let (mut strong, mut weak, mut results) = (vec![handle], Vec::new(), Vec::new());
    for statement in statements {
        let last = strong.last_mut();
        results.push(match (statement, last) {
            (Statement::Clone, Some(last)) => {
                let new = last.clone();
                strong.push(new);
                0
            }
            (Statement::Drop, _) => strong.pop().map_or(0, |_| 1),
            (Statement::Downgrade, Some(last)) => {
                weak.push(TrackedArc::downgrade(last));
                0
            }
            (Statement::DropWeak, _) => weak.pop().map_or(0, |_| 1),
            (Statement::Upgrade, _) => {
                let upgraded = weak.last().and_then(TrackedWeak::upgrade);
                strong.extend(upgraded);
                strong.len()
            }
            (Statement::TryUnwrap, Some(_)) => {
                match TrackedArc::try_unwrap(strong.pop().unwrap()) {
                    Ok(_) => 1,
                    Err(shared) => {
                        strong.push(shared);
                        0
                    }
                }
            }
            (Statement::IntoInner, Some(_)) => {
                usize::from(TrackedArc::into_inner(strong.pop().unwrap()).is_some())
            }
            (Statement::GetMut, Some(last)) => usize::from(TrackedArc::get_mut(last).is_some()),
            (Statement::MakeMut, Some(last)) => {
                let before = TrackedArc::as_ptr(last);
                TrackedArc::make_mut(last);
                usize::from(TrackedArc::as_ptr(last) == before)
            }
            (Statement::StrongCount, Some(last)) => TrackedArc::strong_count(last),
            (Statement::WeakCount, Some(last)) => TrackedArc::weak_count(last),
            _ => 9,
        });
    }
    results
}

/// Counts its destructions.
#[derive(Clone)]
struct Counts(Arc<StdMutex<usize>>);

impl Drop for Counts {
    fn drop(&mut self) {
        *self.0.lock().unwrap() += 1;
    }
}

#[test]
fn random_programs_behave_as_in_all_their_schedules() {
    use Statement::{
        Clone, Downgrade, Drop, DropWeak, GetMut, IntoInner, MakeMut, StrongCount, TryUnwrap,
        Upgrade, WeakCount,
    };
    const ALL: [Statement; 13] = [
        Clone,
        Drop,
        Drop,
        Downgrade,
        Downgrade,
        DropWeak,
        Upgrade,
        TryUnwrap,
        IntoInner,
        GetMut,
        MakeMut,
        StrongCount,
        WeakCount,
    ];
    let mut rng = fastrand::Rng::with_seed(5);
    let mut most = 0;
    for _ in 0..150 {
        let mut body = || -> Vec<_> {
            let statements = (0..rng.usize(1..4)).map(|_| rng.choice(ALL).unwrap());
            statements.collect()
        };
        let (mine, others) = (body(), body());
        let seen = behaviour(&Checker::new(), || {
            let destroyed = Arc::new(StdMutex::new(0));
            let value = TrackedArc::new(Counts(Arc::clone(&destroyed)));
            let (handle, others) = (value.clone(), others.clone());
            let thread = thread::spawn(move || run(&others, handle));
            let results = run(&mine, value);
            let results = (results, thread.join().unwrap());
            let destroyed = *destroyed.lock().unwrap();
            assert!(destroyed > 0, "the value is gone with its last handle");
            (results, destroyed)
        });
        assert_eq!(seen.kinds(), [], "{mine:?} {others:?}");
        most = most.max(seen.outcomes.len());
    }
    assert!(most > 3, "threads notice each other");
}

#[test]
fn the_story_tells_of_handles() {
    let program = || {
        let value = TrackedArc::new(AtomicBool::new(false));
        let weak = TrackedArc::downgrade(&value);
        drop(value.clone());
        assert_eq!(TrackedArc::strong_count(&value), 1);
        drop(value);
        assert!(weak.upgrade().is_some(), "too late");
    };
    let report = Checker::new().strategy(Strategy::Exhaustive).run(program);
    let failure = &report.failures[0];
    let steps = failure.trace.steps.iter().map(|step| step.what.as_str());
    let expected = [
        "begin",
        "downgrade value",
        "clone value",
        "drop value",
        "count value",
        "count value",
        "count value",
        "drop value",
        "upgrade value",
        "panic",
    ];
    assert_eq!(steps.collect::<Vec<_>>(), expected);
    let replay = Strategy::Replay(failure.schedule.clone());
    let replayed = Checker::new().strategy(replay).run(program);
    assert_eq!(replayed.failures[0].message, failure.message);
}

#[test]
fn handles_of_threads_that_wait_for_ever_are_dropped() {
    let dropped = StdMutex::new(0);
    struct Counts<'a>(&'a StdMutex<u32>);
    impl Drop for Counts<'_> {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    let report = Checker::new()
        .strategy(Strategy::Exhaustive)
        .keep_going(true)
        .shorten(false)
        .run(|| {
            let (value, lock) = (TrackedArc::new(Counts(&dropped)), Mutex::new(()));
            let _held = lock.lock();
            thread::scope(|scope| {
                let (mine, lock) = (value.clone(), &lock);
                scope.spawn(move || {
                    let _weak = TrackedArc::downgrade(&mine);
                    drop(lock.lock());
                });
            });
        });
    assert_eq!(report.failures[0].kind, FailureKind::Deadlock);
    assert_eq!(report.failures[0].notes, Vec::<String>::new());
    assert_eq!(*dropped.lock().unwrap(), report.executions as u32);
}

/// The same calls on std's handles and on raddle's.
macro_rules! calls {
    ($arc:ident, $weak:ident) => {{
        use $arc as Arc;
        use $weak as Weak;
        let mut results = Vec::new();
        let mut arc = Arc::new(vec![1]);
        Arc::get_mut(&mut arc).unwrap().push(2);
        let other = arc.clone();
        results.push(text((&arc, Arc::ptr_eq(&arc, &other), arc == other)));
        results.push(text((Arc::strong_count(&arc), Arc::weak_count(&arc))));
        let weak = Arc::downgrade(&arc);
        results.push(text((&weak, weak.strong_count(), weak.weak_count())));
        results.push(text(weak.ptr_eq(&weak.clone())));
        results.push(text(weak.as_ptr() == Arc::as_ptr(&arc)));
        results.push(text(weak.upgrade()));
        Arc::make_mut(&mut arc).push(3);
        results.push(text((&arc, &other, arc.cmp(&other), arc > other)));
        let mut other = other;
        Arc::make_mut(&mut other).push(4);
        results.push(text((&other, weak.upgrade(), weak.weak_count())));
        results.push(text(Arc::try_unwrap(other)));
        let shared = arc.clone();
        results.push(text(Arc::try_unwrap(shared)));
        results.push(text(Arc::into_inner(arc.clone())));
        results.push(text(Arc::unwrap_or_clone(arc.clone())));
        results.push(text(Arc::into_inner(arc)));
        let cyclic = Arc::new_cyclic(|weak: &Weak<(Weak<u8>, bool)>| {
            (Weak::new(), weak.upgrade().is_none())
        });
        results.push(text((&cyclic, Arc::weak_count(&cyclic))));
        struct Knows(Weak<Knows>);
        let knows = Arc::new_cyclic(|weak| Knows(weak.clone()));
        results.push(text((Arc::weak_count(&knows), knows.0.upgrade().is_some())));
        let nothing = Weak::<u8>::new();
        results.push(text((&nothing, nothing.upgrade(), nothing.strong_count())));
        results.push(text((
            nothing.weak_count(),
            nothing.ptr_eq(&Weak::default()),
        )));
        results.push(format!("{} {}", Arc::from(7_u8), Arc::<u8>::default()));
        let boxed: Arc<[u8]> = Arc::from(Box::<[u8]>::from([1, 2]));
        results.push(text((&boxed, boxed.as_ref().len())));
        let set = std::collections::HashSet::from([Arc::new(3), Arc::new(3)]);
        results.push(text((set.len(), set.contains(&3))));
        let pointer = Arc::new(1);
        results.push(text(
            format!("{pointer:p}") == format!("{:p}", Arc::as_ptr(&pointer)),
        ));
        results
    }};
}

#[test]
#[allow(clippy::mutable_key_type, reason = "what changes is not hashed")]
fn handles_do_what_stds_do() {
    use std::sync::{Arc as StdArc, Weak as StdWeak};
    let std = calls!(StdArc, StdWeak);
    assert_eq!(std, calls!(TrackedArc, TrackedWeak));
    let inside = behaviour(&Checker::new(), || {
        assert_eq!(std, calls!(TrackedArc, TrackedWeak));
    });
    assert_eq!((inside.classes, inside.kinds()), (1, vec![]));
}

#[test]
fn raw_pointers_are_handles_in_the_search() {
    // The two drops in either order, as for handles that are not raw.
    let seen = behaviour(&Checker::new(), || {
        let told = Arc::new(StdMutex::new(None));
        let value = TrackedArc::new(Tells(Arc::clone(&told)));
        let raw = TrackedArc::into_raw(value.clone()) as usize;
        let thread = thread::Builder::new().name("other".to_owned());
        let thread = thread.spawn(move || {
            // SAFETY: the pointer is a handle, which is given up here.
            unsafe { TrackedArc::decrement_strong_count(raw as *const Tells) };
        });
        drop(value);
        thread.unwrap().join().unwrap();
        told.lock().unwrap().take().expect("it was dropped")
    });
    assert_eq!((seen.classes, seen.kinds()), (2, vec![]));
    assert_eq!(seen.outcomes, ["main", "other"].map(str::to_owned).into());
}

/// Calls of raw pointers, pinned and unsized handles, with their results.
macro_rules! raw_calls {
    ($arc:ident) => {{
        let value = $arc::new(5);
        let pointer = $arc::as_ptr(&value);
        let mut results = Vec::new();
        // SAFETY: three handles are added, and each is given up once.
        unsafe {
            $arc::increment_strong_count(pointer);
            let raw = $arc::into_raw(value.clone());
            $arc::increment_strong_count(raw);
            results.push(text((raw == pointer, $arc::strong_count(&value))));
            let again = $arc::from_raw(raw);
            results.push(text((&again, $arc::ptr_eq(&again, &value))));
            $arc::decrement_strong_count(pointer);
            drop($arc::from_raw(raw));
        }
        results.push(text($arc::strong_count(&value)));
        results.push(text($arc::try_unwrap(value).is_err()));
        let pinned = $arc::pin(7);
        results.push(text(*pinned));
        results
    }};
}

#[test]
fn raw_pointers_do_what_stds_do() {
    use std::sync::Arc as StdArc;
    let std = raw_calls!(StdArc);
    assert_eq!(std, raw_calls!(TrackedArc));
    let inside = behaviour(&Checker::new(), || {
        assert_eq!(std, raw_calls!(TrackedArc));
    });
    assert_eq!(inside.kinds(), vec![]);
}

#[test]
fn handles_become_unsized_through_stds() {
    fn unsized_handles() {
        let numbers = TrackedArc::coerce(TrackedArc::new([1, 2]), |arc| arc as Arc<[i32]>);
        let shown: TrackedArc<dyn std::fmt::Debug> = TrackedArc::from_std(Arc::new(3));
        assert_eq!(text((&numbers, shown)), text(([1, 2], 3)));
        let raw = TrackedArc::into_raw(numbers);
        // SAFETY: the pointer is the only handle.
        let numbers = unsafe { TrackedArc::from_raw(raw) };
        assert_eq!((numbers.len(), TrackedArc::strong_count(&numbers)), (2, 1));
    }
    unsized_handles();
    let report = Checker::new().run(unsized_handles);
    report.assert_ok();
    assert!(
        report.warnings.is_empty(),
        "a handle of another type is dropped too"
    );
    let shared = Arc::new(1);
    let other = Arc::clone(&shared);
    let refused = std::panic::catch_unwind(|| TrackedArc::from_std(shared));
    assert!(refused.is_err() && *other == 1);
    let exchanged =
        std::panic::catch_unwind(|| TrackedArc::coerce(TrackedArc::new(1), |_| Arc::new(1)));
    assert!(exchanged.is_err());
}

#[test]
fn a_value_that_outlives_its_execution_is_a_leak() {
    use raddle::Level;
    let check = |level| Checker::new().leaks(level);
    let leaks = || std::mem::forget(TrackedArc::new(1));
    let report = check(Level::Warn).run(leaks);
    report.assert_ok();
    assert_eq!(report.warnings[0].kind, FailureKind::Leak);
    let message = &report.warnings[0].message;
    assert!(
        message.contains("TrackedArc leaked: main made it at"),
        "{message}"
    );
    let report = check(Level::Deny).run(leaks);
    assert_eq!(report.failures[0].kind, FailureKind::Leak);
    assert!(check(Level::Allow).run(leaks).warnings.is_empty());

    // In one class only: the thread that is not the last to drop forgets its handle.
    let sometimes = || {
        let value = TrackedArc::new(1);
        let other = value.clone();
        let thread = thread::spawn(move || match TrackedArc::strong_count(&other) {
            1 => drop(other),
            _ => std::mem::forget(other),
        });
        drop(value);
        thread.join().unwrap();
    };
    let report = check(Level::Deny)
        .strategy(Strategy::Exhaustive)
        .run(sometimes);
    assert_eq!(report.failures[0].kind, FailureKind::Leak);

    // What was moved out, dropped with weak handles left, or dropped with a static is none.
    static KEPT: raddle::sync::OnceLock<TrackedArc<u8>> = raddle::sync::OnceLock::new();
    let clean = || {
        KEPT.get_or_init(|| TrackedArc::new(2));
        assert_eq!(TrackedArc::try_unwrap(TrackedArc::new(3)), Ok(3));
        assert_eq!(TrackedArc::into_inner(TrackedArc::new(4)), Some(4));
        let mut value = TrackedArc::new(5);
        let weak = TrackedArc::downgrade(&value);
        TrackedArc::make_mut(&mut value);
        drop(value);
        std::mem::forget(weak);
        let panics = || TrackedArc::new_cyclic(|_: &TrackedWeak<u8>| panic!("no value"));
        assert!(std::panic::catch_unwind(panics).is_err());
        thread::spawn(|| TrackedArc::new(6)).join().unwrap();
    };
    let report = check(Level::Deny).run(clean);
    assert_eq!(report.failures.len(), 0, "{:?}", report.failures);
}
