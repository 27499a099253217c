//! Loom's public surface: the paths, the signatures and the behaviour that its users rely on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Mutex as StdMutex;
use std::sync::atomic::{AtomicUsize as StdAtomicUsize, Ordering::SeqCst};

use loom::cell::{Cell, ConstPtr, MutPtr, UnsafeCell};
use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use loom::sync::{Arc, Notify};
use loom::thread;

/// The message of the failure of a model.
fn failure(body: impl Fn() + Send + Sync + 'static) -> String {
    let run = || loom::model(body);
    let payload = catch_unwind(AssertUnwindSafe(run)).expect_err("the model fails");
    let text = payload.downcast_ref::<String>().cloned();
    text.unwrap_or_else(|| (*payload.downcast_ref::<&str>().expect("a text")).to_owned())
}

/// The number of executions of a model.
fn executions(builder: &loom::model::Builder, body: impl Fn() + Send + Sync + 'static) -> usize {
    static LOCK: StdMutex<()> = StdMutex::new(());
    static COUNT: StdAtomicUsize = StdAtomicUsize::new(0);
    let _one_at_a_time = LOCK.lock();
    COUNT.store(0, SeqCst);
    builder.check(move || {
        COUNT.fetch_add(1, SeqCst);
        body();
    });
    COUNT.load(SeqCst)
}

/// Two threads that each store 1 and read the variable of the other.
fn store_buffering() {
    let cells = Rc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let other = Rc::clone(&cells);
    let th = thread::spawn(move || {
        other.0.store(1, Ordering::SeqCst);
        other.1.load(Ordering::SeqCst)
    });
    cells.1.store(1, Ordering::SeqCst);
    let seen = cells.0.load(Ordering::SeqCst);
    assert!(seen + th.join().unwrap() > 0);
}

#[test]
fn bounds_of_the_builder_bound_the_search() {
    let all = executions(&loom::model::Builder::new(), store_buffering);
    assert_eq!(all, 3, "store buffering under SeqCst has three outcomes");
    // Without a preemption main does not stop before its join.
    for (bound, classes) in [(0, 1), (1, 3)] {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(bound);
        assert_eq!(executions(&builder, store_buffering), classes);
    }
    let mut builder = loom::model::Builder::default();
    builder.max_permutations = Some(1);
    assert_eq!(executions(&builder, store_buffering), 1);
    builder.max_permutations = None;
    builder.max_branches = 2;
    let long = || builder.check(store_buffering);
    let payload = catch_unwind(AssertUnwindSafe(long)).unwrap_err();
    let text = payload.downcast_ref::<String>().unwrap();
    assert!(text.contains("more than 2 events"), "{text}");
}

#[test]
fn a_thread_may_have_values_that_are_not_send() {
    loom::model(|| {
        let shared = Rc::new(5);
        let th = thread::spawn({
            let shared = Rc::clone(&shared);
            move || shared
        });
        assert_eq!(*th.join().unwrap(), 5);
    });
    let outside = catch_unwind(|| thread::spawn(|| ()));
    let payload = outside.unwrap_err();
    assert!(
        payload
            .downcast_ref::<&str>()
            .unwrap()
            .contains("outside a check")
    );
}

#[test]
fn an_arc_that_is_not_dropped_is_a_leak() {
    let text = failure(|| std::mem::forget(Arc::new(1)));
    assert!(
        text.contains("Arc leaked") && text.contains("surface.rs"),
        "{text}"
    );
    let text = failure(|| {
        let arc = Arc::new(1);
        let _raw = Arc::into_raw(Arc::clone(&arc));
    });
    assert!(text.contains("Arc leaked"), "{text}");
    let text = failure(|| {
        struct Node(StdMutex<Option<Arc<Node>>>);
        let node = Arc::new(Node(StdMutex::new(None)));
        *node.0.lock().unwrap() = Some(Arc::clone(&node));
    });
    assert!(text.contains("Arc leaked"), "{text}");
}

/// A value whose destructor accesses its cell, as queues do with the slots that are left.
struct Slot(UnsafeCell<u32>);

// SAFETY: the test accesses the cell from one thread, and then from the destructor.
unsafe impl Sync for Slot {}

impl Drop for Slot {
    fn drop(&mut self) {
        // SAFETY: the value is being dropped, so no other thread has a reference to it.
        self.0.with_mut(|value| unsafe { *value += 1 });
    }
}

/// The other thread uses the value and drops its handle; main drops the last one, after a flag that does not
/// synchronize.
macro_rules! dropped_by_main {
    ($arc:ident) => {
        || {
            let slot = $arc::new(Slot(UnsafeCell::new(0)));
            let other = $arc::clone(&slot);
            let flag = $arc::new(AtomicBool::new(false));
            let done = $arc::clone(&flag);
            let th = thread::spawn(move || {
                // SAFETY: main does not access the cell before the flag.
                other.0.with_mut(|value| unsafe { *value += 1 });
                drop(other);
                done.store(true, Ordering::Relaxed);
            });
            while !flag.load(Ordering::Relaxed) {}
            drop(slot);
            th.join().unwrap();
        }
    };
}

#[test]
fn uses_of_a_value_happen_before_its_destructor() {
    use std::sync::Arc as StdArc;
    loom::model(dropped_by_main!(Arc));
    // The counts of std's own `Arc` are not part of the search, so its last drop synchronizes with nothing there:
    // the race that is reported does not exist.
    let text = failure(dropped_by_main!(StdArc));
    assert!(text.starts_with("data race"), "{text}");
}

#[test]
fn tracked_allocations_must_be_freed() {
    use loom::alloc::{Layout, Track, alloc, alloc_zeroed, dealloc};
    let layout = Layout::new::<u64>();
    // SAFETY: the layout has a size, and each block is freed once with it, or not at all.
    loom::model(move || unsafe {
        let block = alloc(layout);
        let zeros = alloc_zeroed(layout);
        assert_eq!(*zeros.cast::<u64>(), 0);
        dealloc(zeros, layout);
        dealloc(block, layout);
        let mut tracked = Track::new(1);
        *tracked.get_mut() += 1;
        assert_eq!((*tracked.get_ref(), tracked.into_inner()), (2, 2));
    });
    // SAFETY: the layout has a size.
    let text = failure(move || _ = unsafe { alloc(layout) });
    assert!(text.contains("Allocation leaked"), "{text}");
    let text = failure(|| std::mem::forget(Track::new(())));
    assert!(text.contains("Allocation leaked"), "{text}");
    // SAFETY: none for the second call, which panics before it frees.
    let text = failure(move || unsafe {
        let block = alloc(layout);
        dealloc(block, layout);
        dealloc(block, layout);
    });
    assert!(text.contains("freed already"), "{text}");
}

#[test]
fn raw_pointers_of_arcs_are_handles() {
    loom::model(|| {
        let arc = Arc::new(AtomicUsize::new(1));
        let raw = Arc::into_raw(Arc::clone(&arc));
        assert_eq!(raw, Arc::as_ptr(&arc));
        // SAFETY: `raw` is a handle; one is added, and both are taken back.
        let (one, two) = unsafe {
            Arc::increment_strong_count(raw);
            assert_eq!(Arc::strong_count(&arc), 3);
            (Arc::from_raw(raw), Arc::from_raw(raw))
        };
        assert!(Arc::ptr_eq(&one, &arc));
        let th = thread::spawn(move || drop(one));
        // SAFETY: the handle is given up here.
        unsafe { Arc::decrement_strong_count(Arc::into_raw(two)) };
        th.join().unwrap();
        assert_eq!(Arc::try_unwrap(arc).unwrap().into_inner(), 1);
    });
    loom::model(|| {
        let slice: Arc<[u8]> = Arc::from_std(std::sync::Arc::from([1, 2]));
        assert_eq!(slice.len(), 2);
        let pinned = Arc::pin(3);
        assert_eq!(*pinned, 3);
    });
}

#[test]
fn a_pointer_of_a_cell_is_an_access_as_long_as_it_exists() {
    loom::model(|| {
        let cell = UnsafeCell::new(1);
        let (one, two): (ConstPtr<i32>, ConstPtr<i32>) = (cell.get(), cell.get());
        // SAFETY: there are only shared references.
        assert_eq!(unsafe { (*one.deref(), two.with(|value| *value)) }, (1, 1));
        drop((one, two));
        let pointer: MutPtr<i32> = cell.get_mut();
        // SAFETY: there is no other reference.
        unsafe { *pointer.deref() = 2 };
        // SAFETY: as above.
        pointer.with(|value| unsafe { *value += 1 });
        drop(pointer);
        assert_eq!(cell.into_inner(), 3);
    });
    for writes in [(true, false), (false, true), (true, true)] {
        let text = failure(move || {
            let cell = UnsafeCell::new(1);
            let read = |wanted: bool| (!wanted).then(|| cell.get());
            let write = |wanted: bool| wanted.then(|| cell.get_mut());
            let _first = (read(writes.0), write(writes.0));
            let _second = (read(writes.1), write(writes.1));
        });
        assert!(text.starts_with("data race"), "{writes:?}: {text}");
    }
}

#[test]
fn a_pointer_of_a_cell_may_end_on_another_thread() {
    struct Sent(MutPtr<i32>);
    loom::model(|| {
        let cell = Rc::new(UnsafeCell::new(1));
        let sent = Sent(cell.get_mut());
        let th = thread::spawn(move || {
            // SAFETY: there is no other access.
            unsafe { *sent.0.deref() += 1 };
            drop(sent);
        });
        th.join().unwrap();
        // SAFETY: as above.
        assert_eq!(cell.with(|value| unsafe { *value }), 2);
    });
}

/// A thread that has a pointer sets a flag, and then does `last`. The other one accesses the cell after the flag.
fn released_before(last: impl Fn(MutPtr<i32>) + Copy + Send + Sync + 'static) {
    loom::model(move || {
        let cell = Rc::new(UnsafeCell::new(1));
        let other = Rc::clone(&cell);
        let flag = Rc::new(AtomicBool::new(false));
        let seen = Rc::clone(&flag);
        let th = thread::spawn(move || {
            let pointer = other.get_mut();
            // SAFETY: main does not access the cell before the flag.
            unsafe { *pointer.deref() += 1 };
            seen.store(true, Ordering::Release);
            last(pointer);
        });
        if flag.load(Ordering::Acquire) {
            cell.with_mut(|_| ());
        }
        th.join().unwrap();
    });
}

/// The destructor of a guard releases the cell, and its fields, of which the pointer is one, are dropped after that.
#[test]
fn a_pointer_of_a_cell_may_be_dropped_after_the_release() {
    released_before(drop);
}

#[test]
fn a_pointer_of_a_cell_is_not_used_after_the_release() {
    let lasting = |last: fn(MutPtr<i32>)| {
        let run = || released_before(last);
        let payload = catch_unwind(AssertUnwindSafe(run)).expect_err("the model fails");
        let text = payload.downcast_ref::<String>().expect("a text");
        assert!(text.starts_with("data race"), "{text}");
    };
    lasting(|pointer| pointer.with(|_| ()));
    // SAFETY: the reference is not used.
    lasting(|pointer| _ = unsafe { pointer.deref() });
    // An operation while the pointer exists.
    lasting(|pointer| {
        AtomicBool::new(false).store(true, Ordering::Relaxed);
        drop(pointer);
    });
}

#[test]
fn cells_are_checked_for_races() {
    loom::model(|| {
        let (one, two) = (Cell::new(1), Cell::from(2));
        one.swap(&two);
        assert_eq!((one.get(), two.replace(3), two.take()), (2, 1, 3));
        one.set(5);
        assert!(one.clone() == Cell::new(5) && Cell::default() == two);
        assert_eq!(one.into_inner(), 5);
    });
    let text = failure(|| {
        let cell = Rc::new(Cell::new(0));
        let other = Rc::clone(&cell);
        let th = thread::spawn(move || other.set(1));
        cell.get();
        th.join().unwrap();
    });
    assert!(text.starts_with("data race"), "{text}");
}

#[test]
fn an_unsynchronized_load_races_with_a_store_and_with_nothing_else() {
    for store in [true, false] {
        let body = move || {
            let atomic = Rc::new(AtomicUsize::new(0));
            let other = Rc::clone(&atomic);
            let th = thread::spawn(move || {
                if store {
                    other.store(1, Ordering::Relaxed);
                }
                other.load(Ordering::Relaxed)
            });
            // SAFETY: none if the other thread stores, which is what the test is about.
            unsafe { atomic.unsync_load() };
            th.join().unwrap();
            // SAFETY: the other thread has ended.
            assert_eq!(unsafe { atomic.unsync_load() }, usize::from(store));
        };
        if store {
            let text = failure(body);
            assert!(text.starts_with("data race"), "{text}");
        } else {
            loom::model(body);
        }
    }
}

#[test]
fn atomics_have_looms_methods() {
    loom::model(|| {
        let mut atomic = AtomicUsize::default();
        assert_eq!(atomic.with_mut(|value| std::mem::replace(value, 2)), 0);
        assert_eq!(atomic.compare_and_swap(2, 3, Ordering::AcqRel), 2);
        assert_eq!(atomic.fetch_max(7, Ordering::Relaxed), 3);
        let update = |value| (value < 9).then_some(value + 2);
        assert_eq!(atomic.fetch_update(SeqCst, SeqCst, update), Ok(7));
        assert_eq!(atomic.fetch_update(SeqCst, SeqCst, update), Err(9));
        assert_eq!(atomic.into_inner(), 9);
        let flag = AtomicBool::from(true);
        assert!(flag.fetch_nand(true, Ordering::AcqRel) && !flag.swap(true, Ordering::AcqRel));
        let mut value = 4;
        let pointer = AtomicPtr::new(&raw mut value);
        assert!(pointer.swap(std::ptr::null_mut(), Ordering::SeqCst) == &raw mut value);
        assert!(AtomicPtr::<u8>::default().into_inner().is_null());
        loom::sync::atomic::fence(Ordering::SeqCst);
        loom::sync::atomic::spin_loop_hint();
        loom::hint::spin_loop();
    });
}

loom::lazy_static! {
    /// One for each execution.
    static ref COUNTER: AtomicUsize = AtomicUsize::new(0);
    /// Public.
    pub static ref TEXT: String = "text".to_owned();
}

loom::thread_local! {
    static LOCAL: std::cell::Cell<usize> = std::cell::Cell::new(1);
}

#[test]
fn statics_and_thread_locals_begin_anew_in_every_execution() {
    loom::model(|| {
        let th = thread::spawn(|| {
            LOCAL.with(|local| assert_eq!(local.replace(2), 1));
            COUNTER.fetch_add(1, Ordering::Relaxed)
        });
        LOCAL.with(|local| assert_eq!(local.replace(3), 1));
        let sum = COUNTER.fetch_add(1, Ordering::Relaxed) + th.join().unwrap();
        assert_eq!((sum, TEXT.len()), (1, 4));
        assert!(LOCAL.try_with(|local| local.get() == 3).unwrap());
    });
}

#[test]
fn a_notification_is_kept_and_does_not_add_up() {
    loom::model(|| {
        let notify = Rc::new(Notify::new());
        let other = Rc::clone(&notify);
        let th = thread::spawn(move || other.wait());
        notify.notify();
        th.join().unwrap();
    });
    let text = failure(|| {
        let notify = Notify::default();
        notify.notify();
        notify.notify();
        notify.wait();
        notify.wait();
    });
    assert!(
        text.starts_with("deadlock") && text.contains("for Notify"),
        "{text}"
    );
}

#[test]
fn a_future_is_woken_by_its_waker() {
    use loom::future::{AtomicWaker, block_on};
    use std::future::poll_fn;
    use std::task::Poll;
    /// A future that another thread makes ready. `registers_first` is the order that loses nothing.
    fn ready(registers_first: bool) {
        let shared = Arc::new((AtomicBool::new(false), AtomicWaker::new()));
        let other = Arc::clone(&shared);
        let th = thread::spawn(move || {
            other.0.store(true, Ordering::Release);
            other.1.wake();
        });
        block_on(poll_fn(|context| {
            if registers_first {
                shared.1.register_by_ref(context.waker());
            }
            if shared.0.load(Ordering::Acquire) {
                return Poll::Ready(());
            }
            if !registers_first {
                shared.1.register(context.waker().clone());
            }
            Poll::Pending
        }));
        th.join().unwrap();
    }
    loom::model(|| ready(true));
    let text = failure(|| ready(false));
    assert!(
        text.starts_with("deadlock") || text.starts_with("lost wake-up"),
        "{text}"
    );
}

#[test]
fn memory_that_was_freed_is_found_without_installing_anything() {
    let text = failure(|| {
        let cell = Box::into_raw(Box::new(UnsafeCell::new(1)));
        // SAFETY: the box is freed once.
        drop(unsafe { Box::from_raw(cell) });
        // SAFETY: none, the use after the free is what the test is about.
        unsafe { (*cell).with(|_| ()) };
    });
    assert!(text.starts_with("use after free"), "{text}");
}

#[test]
fn a_checkpoint_file_has_the_failing_schedule() {
    let file = std::env::temp_dir().join(format!("raddle-loom-{}.txt", std::process::id()));
    static FAILS: StdAtomicUsize = StdAtomicUsize::new(1);
    static RUNS: StdAtomicUsize = StdAtomicUsize::new(0);
    let body = || {
        RUNS.fetch_add(1, SeqCst);
        let atomic = Rc::new(AtomicUsize::new(0));
        let other = Rc::clone(&atomic);
        let th = thread::spawn(move || other.store(1, Ordering::Relaxed));
        let seen = atomic.load(Ordering::Relaxed);
        th.join().unwrap();
        assert!(FAILS.load(SeqCst) == 0 || seen == 0, "the store was seen");
    };
    let check = || {
        let mut builder = loom::model::Builder::new();
        builder.checkpoint_file(file.to_str().unwrap());
        RUNS.store(0, SeqCst);
        let result = catch_unwind(|| builder.check(body));
        (result.is_err(), RUNS.load(SeqCst))
    };
    assert!(check().0 && file.exists());
    let (failed, _) = check();
    assert!(failed, "the schedule in the file fails again");
    FAILS.store(0, SeqCst);
    let (failed, runs) = check();
    assert!(
        !failed && runs >= 3,
        "the schedule and both classes: {runs}"
    );
    assert!(!file.exists(), "what passes has no schedule");
    std::fs::write(&file, "{}").unwrap();
    let mut builder = loom::model::Builder::new();
    builder.checkpoint_file = Some(file.clone());
    let refused = catch_unwind(|| builder.check(|| ())).unwrap_err();
    let text = refused.downcast_ref::<String>().unwrap();
    assert!(text.contains("has no schedule of raddle"), "{text}");
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn code_that_must_not_be_reached_panics() {
    // SAFETY: the function is safe here.
    let text = failure(|| unsafe { loom::hint::unreachable_unchecked() });
    assert!(text.contains("unreachable_unchecked"), "{text}");
}

#[test]
fn exploration_cannot_be_turned_off() {
    let all = executions(&loom::model::Builder::new(), || {
        loom::stop_exploring();
        store_buffering();
        loom::explore();
        loom::skip_branch();
    });
    assert_eq!(all, 3);
}
