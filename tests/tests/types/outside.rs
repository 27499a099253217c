//! Outside a check, raddle's types do what std's do: the same calls on both, the same results.

use raddle_tests::parity::{panics, text};
use raddle_tests::same;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn mutex() {
    same!(|sync, _thread| {
        let mut results = Vec::new();
        let lock = sync::Mutex::new(vec![1]);
        lock.lock().unwrap().push(2);
        results.push(text(&lock));
        let guard = lock.lock().unwrap();
        results.push(text(&guard));
        results.push(text(&lock));
        results.push(text(lock.try_lock().is_err()));
        drop(guard);
        let poison = || {
            let _guard = lock.lock();
            panic!("while it is held");
        };
        assert!(catch_unwind(AssertUnwindSafe(poison)).is_err());
        results.push(text(lock.is_poisoned()));
        results.push(text(lock.lock()));
        results.push(text(lock.try_lock()));
        results.push(text(&lock));
        lock.clear_poison();
        results.push(text(lock.lock()));
        let mut lock = lock;
        lock.get_mut().unwrap().push(3);
        results.push(text(lock.into_inner()));
        results.push(text(sync::Mutex::<u8>::default()));
        results.push(text(sync::Mutex::from("x")));
        let unsized_lock: &sync::Mutex<[i32]> = &sync::Mutex::new([1, 2]);
        unsized_lock.lock().unwrap()[0] = 5;
        results.push(text(unsized_lock));
        results.push(format!("{}", sync::Mutex::new(4).lock().unwrap()));
        results
    });
}

#[test]
fn a_mutex_that_was_locked_while_panicking_is_not_poisoned_by_it() {
    same!(|sync, _thread| {
        struct LockInDrop<'a>(&'a sync::Mutex<i32>);
        impl Drop for LockInDrop<'_> {
            fn drop(&mut self) {
                *self.0.lock().unwrap() += 1;
            }
        }
        let lock = sync::Mutex::new(0);
        let body = || {
            let _drop = LockInDrop(&lock);
            panic!("unwinds");
        };
        assert!(catch_unwind(AssertUnwindSafe(body)).is_err());
        (lock.is_poisoned(), lock.into_inner().unwrap())
    });
}

macro_rules! same_ints {
    ($($atomic:ident $int:ident)*) => {$({
        for (start, by) in [(0, 1), ($int::MAX, 1), ($int::MIN, 3), (5, $int::MAX), (85, 51)] {
            same!(|sync, _thread| {
                use sync::atomic::{$atomic, Ordering::*};
                let value = $atomic::new(start);
                let mut results = vec![
                    value.load(Acquire), value.swap(by, AcqRel),
                    value.fetch_add(start, SeqCst), value.fetch_sub(by, Relaxed),
                    value.fetch_and(by, SeqCst), value.fetch_or(start, SeqCst),
                    value.fetch_xor(by, SeqCst), value.fetch_nand(start, SeqCst),
                    value.fetch_max(by, SeqCst), value.fetch_min(start, SeqCst),
                ];
                value.store(by, Release);
                let exchanged = [
                    value.compare_exchange(by, start, AcqRel, Acquire),
                    value.compare_exchange(by, 9, SeqCst, Relaxed),
                    value.fetch_update(SeqCst, SeqCst, |old| old.checked_add(1)),
                    value.fetch_update(SeqCst, SeqCst, |_| None),
                    value.try_update(SeqCst, SeqCst, |old| Some(old ^ 3)),
                    Ok(value.update(SeqCst, SeqCst, |old| old ^ 5)),
                ];
                let mut value = value;
                *value.get_mut() ^= 1;
                results.push(value.load(SeqCst));
                let shown = text(&value);
                results.push(value.into_inner());
                let made = (text($atomic::default()), text($atomic::from(start)));
                (results, exchanged, shown, made)
            });
        }
    })*};
}

#[test]
fn integers() {
    same_ints! {
        AtomicU8 u8 AtomicU16 u16 AtomicU32 u32 AtomicU64 u64 AtomicUsize usize
        AtomicI8 i8 AtomicI16 i16 AtomicI32 i32 AtomicI64 i64 AtomicIsize isize
    }
}

#[test]
fn integers_inside_a_check_compute_as_outside() {
    raddle::check(integers);
    raddle::check(booleans_and_pointers);
}

#[test]
fn booleans_and_pointers() {
    for (start, by) in [(false, false), (false, true), (true, false), (true, true)] {
        same!(|sync, _thread| {
            use sync::atomic::{AtomicBool, Ordering::SeqCst};
            let value = AtomicBool::new(start);
            let results = [
                value.fetch_and(by, SeqCst),
                value.fetch_or(by, SeqCst),
                value.fetch_xor(by, SeqCst),
                value.fetch_nand(by, SeqCst),
                value.fetch_not(SeqCst),
                value.swap(start, SeqCst),
                value.load(SeqCst),
            ];
            (
                results,
                value.compare_exchange(by, start, SeqCst, SeqCst),
                text(&value),
            )
        });
    }
    let values = [1_u32, 2, 3, 4];
    let first = std::ptr::from_ref(&values[0]).cast_mut();
    same!(|sync, _thread| {
        use sync::atomic::{AtomicPtr, Ordering::SeqCst};
        let pointer = AtomicPtr::new(first);
        let results = [
            pointer.fetch_ptr_add(2, SeqCst),
            pointer.fetch_byte_sub(4, SeqCst),
            pointer.fetch_ptr_sub(1, SeqCst),
            pointer.fetch_byte_add(4, SeqCst),
            pointer.fetch_or(1, SeqCst),
            pointer.fetch_xor(1, SeqCst),
            pointer.fetch_and(!1, SeqCst),
            pointer.swap(std::ptr::null_mut(), SeqCst),
            pointer.load(SeqCst),
        ];
        (
            results,
            text(&pointer),
            format!("{pointer:p}"),
            text(AtomicPtr::<u8>::default()),
        )
    });
}

#[test]
fn wrong_orderings_panic_with_stds_words() {
    same!(|sync, _thread| {
        use sync::atomic::{AtomicU8, Ordering::*, fence};
        let value = AtomicU8::new(0);
        [
            panics(|| assert_eq!(value.load(std::hint::black_box(Release)), 0)),
            panics(|| assert_eq!(value.load(std::hint::black_box(AcqRel)), 0)),
            panics(|| value.store(1, std::hint::black_box(Acquire))),
            panics(|| value.store(1, std::hint::black_box(AcqRel))),
            panics(|| {
                let _ = value.compare_exchange(0, 1, SeqCst, std::hint::black_box(Release));
            }),
            panics(|| fence(std::hint::black_box(Relaxed))),
        ]
    });
}

#[test]
fn wrong_orderings_inside_a_check_panic_with_stds_words() {
    raddle::check(wrong_orderings_panic_with_stds_words);
}

#[test]
fn threads() {
    same!(|sync, thread| {
        let mut results = Vec::new();
        let value = sync::Arc::new(sync::Mutex::new(1));
        let other = sync::Arc::clone(&value);
        let handle = thread::spawn(move || std::mem::replace(&mut *other.lock().unwrap(), 2));
        results.push(text(handle.join().unwrap()));
        let panicked = thread::spawn(|| panic!("expected")).join();
        results.push((*panicked.unwrap_err().downcast::<&str>().unwrap()).to_owned());
        let named = thread::Builder::new()
            .name("ann".into())
            .stack_size(1 << 20);
        let named = named
            .spawn(|| thread::current().name().map(str::to_owned))
            .unwrap();
        results.push(text(named.thread().name()));
        results.push(text(named.join().unwrap()));
        let unnamed = thread::spawn(|| thread::current().name().map(str::to_owned));
        results.push(text(unnamed.join().unwrap()));
        let numbers = [1, 2, 3];
        let sum = thread::scope(|scope| {
            let one = scope.spawn(|| numbers[0]);
            let rest = scope.spawn(|| {
                let inner = scope.spawn(|| numbers[1]);
                inner.join().unwrap() + numbers[2]
            });
            one.join().unwrap() + rest.join().unwrap()
        });
        results.push(text(sum));
        let scope = || {
            thread::scope(|scope| {
                scope.spawn(|| panic!("not looked at"));
            });
        };
        results.push(panics(scope));
        results.push(text(thread::current().id() == thread::current().id()));
        results.push(text(thread::spawn(thread::panicking).join().unwrap()));
        results
    });
}

#[test]
fn threads_inside_a_check_do_as_outside() {
    // The scope propagates the panic of its thread and `panics` catches it, so there is no failure,
    // although the handle of that thread is not joined.
    let report = raddle::Checker::new().max_executions(50).run(threads);
    assert_eq!(report.failures.len(), 0, "{report}");
}

#[test]
fn statics_can_be_made() {
    use raddle::sync::Mutex;
    use raddle::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::SeqCst};
    static LOCK: Mutex<Vec<u8>> = Mutex::new(Vec::new());
    static NUMBER: AtomicU64 = AtomicU64::new(7);
    static FLAG: AtomicBool = AtomicBool::new(true);
    static POINTER: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
    LOCK.lock().unwrap().push(1);
    assert_eq!(NUMBER.fetch_add(1, SeqCst), 7);
    assert!(FLAG.load(SeqCst) && POINTER.load(SeqCst).is_null());
}
