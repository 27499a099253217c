//! Cells and hints: parity with std, and what they cost in a search.

use std::mem::MaybeUninit;

use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{AtomicBool, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::{Checker, hint, thread};
use raddle_tests::classes;
use raddle_tests::compare::behaviour;
use raddle_tests::parity::text;

struct Shared(UnsafeCell<u32>);

// SAFETY: the tests access the value in turns only.
unsafe impl Sync for Shared {}

#[test]
fn accesses_cost_no_class_and_keep_their_order() {
    let count = classes(|| {
        let shared = Arc::new((Shared(UnsafeCell::new(0)), AtomicBool::new(false)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            // SAFETY: main looks only when the flag is set.
            other.0.0.with_mut(|value| unsafe { *value = 7 });
            other.1.store(true, SeqCst);
        });
        if shared.1.load(SeqCst) {
            // SAFETY: the other thread writes no more.
            assert_eq!(shared.0.0.with(|value| unsafe { *value }), 7);
        }
        thread.join().unwrap();
        // SAFETY: the other thread has ended.
        assert_eq!(unsafe { *shared.0.0.get() }, 7);
    });
    assert_eq!(count, 2, "the flag is set or not");
}

#[test]
fn a_static_is_as_at_first_in_every_execution() {
    struct Guarded {
        turn: Mutex<()>,
        list: UnsafeCell<Vec<u32>>,
    }
    // SAFETY: the list is accessed only by the holder of the lock.
    unsafe impl Sync for Guarded {}
    impl Guarded {
        fn push(&self, value: u32) -> usize {
            let _turn = self.turn.lock();
            // SAFETY: it is this thread's turn.
            self.list.with_mut(|list| unsafe {
                (*list).push(value);
                (*list).len()
            })
        }
    }
    static LOCK: Guarded = Guarded {
        turn: Mutex::new(()),
        list: UnsafeCell::new(Vec::new()),
    };
    static PAIR: [Guarded; 2] = [const {
        Guarded {
            turn: Mutex::new(()),
            list: UnsafeCell::new(Vec::new()),
        }
    }; 2];
    assert_eq!(LOCK.push(7), 1);
    // Checks side by side, which have their own as well.
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let seen = behaviour(&Checker::new(), || {
                    assert_eq!((PAIR[1].push(5), PAIR[0].push(6)), (1, 1));
                    let other = thread::spawn(|| LOCK.push(1));
                    let mine = LOCK.push(2);
                    // SAFETY: the other thread has ended.
                    let read = |other| (other, unsafe { (*LOCK.list.get()).clone() });
                    (mine, other.join().map(read).unwrap())
                });
                assert_eq!(seen.kinds(), []);
                let expected = [(1, (2, vec![2, 1])), (2, (1, vec![1, 2]))];
                assert_eq!(seen.outcomes, expected.into());
                assert_eq!(seen.classes, 2);
            });
        }
    });
    assert_eq!(
        (LOCK.push(8), PAIR[0].push(9)),
        (2, 1),
        "outside nothing has changed"
    );
}

#[test]
fn the_static_of_an_execution_is_dropped_after_it() {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    static DROPS: AtomicU32 = AtomicU32::new(0);
    struct Counts;
    impl Drop for Counts {
        fn drop(&mut self) {
            DROPS.fetch_add(1, Relaxed);
        }
    }
    struct Slot(UnsafeCell<Option<Counts>>);
    // SAFETY: used by one thread at a time.
    unsafe impl Sync for Slot {}
    static SLOT: Slot = Slot(UnsafeCell::new(None));
    let count = classes(|| {
        raddle::choose(0..3);
        // SAFETY: no other thread uses it.
        SLOT.0
            .with_mut(|slot| assert!(unsafe { (*slot).replace(Counts).is_none() }));
    });
    assert_eq!((count, DROPS.load(Relaxed)), (3, 3));
    // SAFETY: as above.
    assert!(SLOT.0.with(|slot| unsafe { (*slot).is_none() }));
}

/// The same calls on std's cell and on raddle's.
macro_rules! calls {
    ($cell:path) => {{
        use $cell as cell;
        static ZERO: std::sync::Mutex<cell::UnsafeCell<u32>> =
            std::sync::Mutex::new(cell::UnsafeCell::new(0));
        let mut results = vec![text(&*ZERO.lock().unwrap())];
        let mut cell = cell::UnsafeCell::new([1, 2]);
        // SAFETY: no other reference to the cell exists.
        unsafe {
            (*cell.get())[0] += 4;
            (*cell::UnsafeCell::raw_get(&raw const cell))[1] += 7;
        }
        cell.get_mut()[0] += 1;
        let unsized_cell: &cell::UnsafeCell<[i32]> = &cell;
        results.push(text(unsized_cell));
        results.push(text(unsized_cell.get().len()));
        results.push(text(cell.into_inner()));
        results.push(text(cell::UnsafeCell::from("x").into_inner()));
        results.push(text(cell::UnsafeCell::<u8>::default().into_inner()));
        let mut place = MaybeUninit::<cell::UnsafeCell<u32>>::uninit();
        // SAFETY: written through the one pointer, read through the other, inside the allocation.
        let read = unsafe {
            place.write(cell::UnsafeCell::new(5));
            *cell::UnsafeCell::raw_get(place.as_ptr())
        };
        results.push(text(read));
        let inner = cell::RefCell::new(cell::Cell::new(1));
        results.push(text((inner.try_borrow(), inner.try_borrow_mut().is_err())));
        results.push(text((
            cell::OnceCell::from(3),
            *cell::LazyCell::<_, fn() -> u8>::new(|| 4),
        )));
        results
    }};
}

#[test]
fn a_cell_does_what_stds_does() {
    let std = calls!(std::cell);
    assert_eq!(std, calls!(raddle::cell));
    raddle::check(|| assert_eq!(std, calls!(raddle::cell)));
}

#[test]
fn who_spins_lets_others_go_first() {
    // A spin is a scheduling point and no decision: two threads that only spin have one class.
    let count = classes(|| {
        let thread = thread::spawn(|| (0..3).for_each(|_| hint::spin_loop()));
        (0..3).for_each(|_| hint::spin_loop());
        thread.join().unwrap();
    });
    assert_eq!(count, 1);
    let report = raddle::Checker::new().run(|| {
        hint::spin_loop();
        panic!("to be told");
    });
    let schedule = report.failures[0].schedule.to_string();
    assert_eq!(
        schedule,
        "raddle schedule 2\ncheck types::cell::who_spins_lets_others_go_first 2\nmain: begin, yield\n"
    );
    // Outside a check it returns.
    hint::spin_loop();
    assert_eq!(hint::black_box(3), hint::select_unpredictable(true, 3, 4));
}
