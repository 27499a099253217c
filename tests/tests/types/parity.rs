//! Outside a check, what no other file compares with std: the traits of all types, and methods that
//! are called nowhere else. The same calls inside a check have the same results.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use raddle_tests::parity::{panics, text};
use raddle_tests::{exhaust_undisturbed, same, traits};

/// Runs it outside a check, and every class of it inside one.
fn both(program: fn()) {
    program();
    exhaust_undisturbed(program).assert_ok();
}

#[test]
fn types_with_data_have_stds_traits() {
    macro_rules! compare {
        ($($data:ty),*) => {$(
            same!(|sync, thread| {
                [
                    traits!(sync::Mutex<$data>),
                    traits!(sync::MutexGuard<'static, $data>),
                    traits!(sync::RwLock<$data>),
                    traits!(sync::RwLockReadGuard<'static, $data>),
                    traits!(sync::RwLockWriteGuard<'static, $data>),
                    traits!(sync::OnceLock<$data>),
                    traits!(sync::LazyLock<$data>),
                    traits!(sync::LazyLock<$data, Cell<u32>>),
                    traits!(sync::LazyLock<u32, $data>),
                    traits!(sync::mpsc::Sender<$data>),
                    traits!(sync::mpsc::SyncSender<$data>),
                    traits!(sync::mpsc::Receiver<$data>),
                    traits!(sync::mpsc::Iter<'static, $data>),
                    traits!(sync::mpsc::TryIter<'static, $data>),
                    traits!(sync::mpsc::IntoIter<$data>),
                    traits!(sync::atomic::AtomicPtr<$data>),
                    traits!(thread::JoinHandle<$data>),
                    traits!(thread::ScopedJoinHandle<'static, $data>),
                    traits!(thread::LocalKey<$data>),
                ]
            });
            assert_eq!(
                { use std::cell; traits!(cell::UnsafeCell<$data>) },
                { use raddle::cell; traits!(cell::UnsafeCell<$data>) }
            );
        )*};
    }
    // Both, only `Send`, only `Sync`, neither; not `UnwindSafe`; without a size.
    compare!(
        u32,
        Cell<u32>,
        std::sync::MutexGuard<'static, u32>,
        std::rc::Rc<u32>,
        &'static mut u32
    );
    same!(|sync| {
        [
            traits!(sync::Mutex<[u32]>),
            traits!(sync::MutexGuard<'static, str>),
            traits!(sync::RwLock<[u32]>),
            traits!(sync::RwLockReadGuard<'static, str>),
            traits!(sync::RwLockWriteGuard<'static, str>),
        ]
    });
}

#[test]
fn types_without_data_have_stds_traits() {
    same!(|sync, thread| {
        use sync::atomic;
        [
            traits!(sync::Condvar),
            traits!(sync::WaitTimeoutResult),
            traits!(sync::Barrier),
            traits!(sync::BarrierWaitResult),
            traits!(sync::Once),
            traits!(sync::OnceState),
            traits!(atomic::AtomicBool),
            traits!(atomic::AtomicI8),
            traits!(atomic::AtomicI16),
            traits!(atomic::AtomicI32),
            traits!(atomic::AtomicI64),
            traits!(atomic::AtomicIsize),
            traits!(atomic::AtomicU8),
            traits!(atomic::AtomicU16),
            traits!(atomic::AtomicU32),
            traits!(atomic::AtomicU64),
            traits!(atomic::AtomicUsize),
            traits!(thread::AccessError),
            traits!(thread::Builder),
            traits!(thread::Scope<'static, 'static>),
            traits!(thread::Thread),
            traits!(thread::ThreadId),
        ]
    });
    let std = {
        use std::time::Instant;
        traits!(Instant)
    };
    use raddle::time::Instant;
    assert_eq!(std, traits!(Instant));
}

#[test]
fn what_std_builds_in_a_const_can_be_a_static() {
    // Statics, so outside a check only: inside, `same!` would use std's more than once.
    #[allow(deprecated)]
    fn compare() {
        same!(|sync, thread| {
            static MUTEX: sync::Mutex<Vec<u8>> = sync::Mutex::new(Vec::new());
            static LOCK: sync::RwLock<Option<u8>> = sync::RwLock::new(None);
            static CONDITION: sync::Condvar = sync::Condvar::new();
            static BARRIER: sync::Barrier = sync::Barrier::new(1);
            static ONCE: sync::Once = sync::Once::new();
            static OLD_ONCE: sync::Once = sync::ONCE_INIT;
            static CELL: sync::OnceLock<u8> = sync::OnceLock::new();
            static LAZY: sync::LazyLock<String> = sync::LazyLock::new(|| "lazy".to_owned());
            use sync::atomic::{self, Ordering::SeqCst};
            static FLAG: atomic::AtomicBool = atomic::ATOMIC_BOOL_INIT;
            static SIGNED: atomic::AtomicIsize = atomic::ATOMIC_ISIZE_INIT;
            static UNSIGNED: atomic::AtomicUsize = atomic::ATOMIC_USIZE_INIT;
            static POINTER: atomic::AtomicPtr<u8> = atomic::AtomicPtr::new(std::ptr::null_mut());
            MUTEX.lock().unwrap().push(1);
            CONDITION.notify_all();
            ONCE.call_once(|| OLD_ONCE.call_once(|| {}));
            thread::yield_now();
            atomic::spin_loop_hint();
            atomic::compiler_fence(SeqCst);
            atomic::fence(SeqCst);
            [
                text((&MUTEX, &LOCK, &CONDITION, BARRIER.wait())),
                text((ONCE.is_completed(), OLD_ONCE.is_completed())),
                text((CELL.get_or_init(|| 3), LAZY.len(), &LAZY)),
                text((FLAG.fetch_not(SeqCst), SIGNED.fetch_sub(1, SeqCst))),
                text((UNSIGNED.fetch_add(2, SeqCst), &POINTER)),
                text((&FLAG, &SIGNED, &UNSIGNED)),
            ]
        });
    }
    compare();
}

#[test]
fn the_owner_of_a_lock_sees_its_poison() {
    both(|| {
        same!(|sync| {
            let mut results = Vec::new();
            let mut lock = sync::Mutex::new(1);
            results.push(panics(|| {
                let _guard = lock.lock();
                panic!("poisons it");
            }));
            results.push(text(lock.get_mut()));
            let error = lock.lock().unwrap_err();
            results.push(format!("{error} {error:?} {}", error.get_ref()));
            drop(error);
            let error = lock.try_lock().unwrap_err();
            results.push(format!("{error} {error:?}"));
            drop(error);
            lock.clear_poison();
            results.push(text((lock.is_poisoned(), lock.get_mut())));
            results.push(panics(|| {
                let _guard = lock.try_lock();
                panic!("again");
            }));
            results.push(text(lock.into_inner()));
            let lock = sync::Mutex::new(2);
            let held = lock.lock();
            results.push(format!("{}", lock.try_lock().unwrap_err()));
            drop(held);
            results
        });
    });
}

#[test]
fn lazy_values_can_be_changed_by_their_owner() {
    both(|| {
        same!(|sync| {
            use sync::LazyLock;
            let mut results = Vec::new();
            let mut lazy = LazyLock::new(|| vec![1]);
            results.push(text(LazyLock::get(&lazy)));
            results.push(text(LazyLock::get_mut(&mut lazy)));
            LazyLock::force_mut(&mut lazy).push(2);
            lazy.push(3);
            results.push(text(LazyLock::get(&lazy)));
            results.push(text(LazyLock::get_mut(&mut lazy)));
            results.push(text((&lazy, &*lazy, LazyLock::force(&lazy))));
            let mut forced = LazyLock::new(|| 4);
            results.push(text(LazyLock::force(&forced)));
            *forced += 1;
            results.push(text(LazyLock::force_mut(&mut forced)));
            let mut fails = LazyLock::<u8>::new(|| panic!("makes nothing"));
            results.push(panics(|| _ = LazyLock::force_mut(&mut fails)));
            results.push(text(LazyLock::get(&fails)));
            results.push(text(LazyLock::get_mut(&mut fails)));
            results.push(panics(|| _ = LazyLock::force_mut(&mut fails)));
            results.push(panics(|| _ = LazyLock::force(&fails)));
            results.push(text(&fails));
            let kept = String::from("kept");
            let borrows = LazyLock::new(|| kept.len());
            results.push(text(*borrows));
            results
        });
    });
}

#[test]
fn threads_are_shown_and_named_as_stds() {
    both(|| {
        same!(|sync, thread| {
            let mut results = Vec::new();
            let builder = thread::Builder::new().name("ann".into());
            results.push(text((&builder, thread::Builder::new().stack_size(1 << 20))));
            let flag = sync::Mutex::new(0);
            // SAFETY: joined before the flag is gone.
            let thread = unsafe { builder.spawn_unchecked(|| *flag.lock().unwrap() = 1) };
            let thread = thread.unwrap();
            let shown = text(thread.thread());
            results.push(text((&thread, shown.contains("name: Some(\"ann\")"))));
            let other = thread.thread().clone();
            thread.join().unwrap();
            results.push(text((
                other.name(),
                other.id() == thread::current().id(),
                *flag.lock().unwrap(),
            )));
            let ids = [other.id(), thread::current().id(), other.id()];
            let ids = ids.into_iter().collect::<std::collections::HashSet<_>>();
            results.push(text(ids.len()));
            let shown = text(other.id());
            results.push(text(shown.starts_with("ThreadId(")));
            let wrong = || thread::Builder::new().name("\0".into()).spawn(|| {});
            results.push(panics(|| drop(wrong())));
            results.push(text(thread::available_parallelism().is_ok()));
            results
        });
    });
}

#[test]
fn scopes_do_what_stds_do() {
    both(|| {
        same!(|sync, thread| {
            let value = sync::Mutex::new(0);
            let mut results = thread::scope(|scope| {
                let builder = thread::Builder::new().name("bob".into());
                let named = builder.spawn_scoped(scope, || *value.lock().unwrap() += 1);
                let named = named.unwrap();
                let mut results = vec![text((&named, named.thread().name()))];
                results.push(text(named.join()));
                let id = scope.spawn(|| thread::current().id());
                let expected = id.thread().id();
                results.push(text(id.join().unwrap() == expected));
                let fails = scope.spawn(|| panic!("expected"));
                results.push(text(fails.join().unwrap_err().is::<&str>()));
                results
            });
            results.push(text(&value));
            results.push(panics(|| thread::scope(|_| panic!("of the body"))));
            results
        });
    });
    // std's says how many threads run, which raddle's does not count inside a check.
    same!(|sync, thread| { thread::scope(|scope| text(scope)) });
}

#[test]
fn threads_are_finished_when_they_have_ended() {
    same!(|sync, thread| {
        let (go, wait) = sync::mpsc::channel::<()>();
        let ended = thread::spawn(move || wait.recv());
        let mut finished = vec![ended.is_finished()];
        drop(go);
        while !ended.is_finished() {
            thread::yield_now();
        }
        finished.push(ended.join().unwrap().is_ok());
        let (go, wait) = sync::mpsc::channel::<()>();
        thread::scope(|scope| {
            let ended = scope.spawn(move || wait.recv().is_err());
            finished.push(ended.is_finished());
            drop(go);
            while !ended.is_finished() {
                thread::yield_now();
            }
            finished.push(ended.join().unwrap());
        });
        finished
    });
}

#[test]
fn a_thread_that_unwinds_knows() {
    both(|| {
        same!(|sync, thread| {
            struct Notes<'a>(&'a sync::Mutex<Vec<bool>>);
            impl Drop for Notes<'_> {
                fn drop(&mut self) {
                    self.0.lock().unwrap().push(thread::panicking());
                }
            }
            let seen = sync::Mutex::new(Vec::new());
            drop(Notes(&seen));
            panics(|| {
                let _notes = Notes(&seen);
                panic!("unwinds");
            });
            seen.into_inner().unwrap()
        });
    });
}

#[test]
fn all_methods_of_booleans() {
    both(|| {
        for start in [false, true] {
            #[allow(deprecated)]
            let compare = || {
                same!(|sync| {
                    use sync::atomic::{AtomicBool, Ordering::*};
                    let mut value = AtomicBool::new(start);
                    let mut results = vec![text([
                        value.fetch_update(SeqCst, Relaxed, |old| Some(!old)),
                        value.fetch_update(SeqCst, Relaxed, |_| None),
                        value.try_update(AcqRel, Acquire, |old| old.then_some(false)),
                        Ok(value.update(AcqRel, Acquire, |old| !old)),
                        value.compare_exchange(start, true, SeqCst, SeqCst),
                    ])];
                    let exchange = || value.compare_exchange_weak(true, false, SeqCst, SeqCst);
                    while exchange().is_err_and(|found| found) {}
                    results.push(text(value.compare_and_swap(false, true, SeqCst)));
                    results.push(text(value.compare_and_swap(false, true, SeqCst)));
                    value.store(start, Release);
                    *value.get_mut() |= true;
                    results.push(text((&value, value.load(Acquire))));
                    results.push(text((value.into_inner(), AtomicBool::default())));
                    results.push(text(AtomicBool::from(start)));
                    results
                });
            };
            compare();
        }
    });
}

#[test]
#[allow(deprecated)]
fn all_methods_of_pointers() {
    fn compare() {
        let values = [1_u32, 2, 3, 4];
        let [first, second] = [0, 1].map(|index| std::ptr::from_ref(&values[index]).cast_mut());
        same!(|sync| {
            use sync::atomic::{AtomicPtr, Ordering::*};
            let mut pointer = AtomicPtr::new(first);
            let mut results = vec![text([
                pointer.compare_exchange(first, second, AcqRel, Acquire),
                pointer.compare_exchange(first, second, SeqCst, SeqCst),
                pointer.fetch_update(SeqCst, SeqCst, |old| Some(old.wrapping_add(1))),
                pointer.fetch_update(SeqCst, SeqCst, |_| None),
                pointer.try_update(SeqCst, SeqCst, |old| Some(old.wrapping_sub(1))),
                Ok(pointer.update(SeqCst, SeqCst, |_| first)),
            ])];
            let exchange = || pointer.compare_exchange_weak(first, second, SeqCst, SeqCst);
            while exchange().is_err_and(|found| found == first) {}
            results.push(text(pointer.compare_and_swap(second, first, SeqCst)));
            pointer.store(second, Release);
            *pointer.get_mut() = pointer.get_mut().wrapping_add(2);
            results.push(text((&pointer, pointer.load(Acquire))));
            results.push(text((pointer.into_inner(), AtomicPtr::from(second))));
            results
        });
    }
    both(compare);
}

#[test]
#[allow(deprecated)]
fn what_is_left_of_integers() {
    both(|| {
        same!(|sync| {
            use sync::atomic::{AtomicI16, AtomicU64, Ordering::*};
            let value = AtomicI16::new(-3);
            let exchange = || value.compare_exchange_weak(-3, 4, SeqCst, SeqCst);
            while exchange().is_err_and(|found| found == -3) {}
            let exchanged = [
                value.compare_and_swap(4, 5, AcqRel),
                value.compare_and_swap(4, 6, Release),
                value.compare_and_swap(5, 7, Relaxed),
            ];
            let kept = AtomicU64::new(8);
            // SAFETY: no other thread uses it.
            let pointed = unsafe { *kept.as_ptr() };
            (exchanged, value.into_inner(), pointed)
        });
    });
}

#[test]
fn results_of_waiting_are_stds() {
    // The time runs out for certain only outside a check.
    same!(|sync| {
        let lock = sync::Mutex::new(());
        let condition = sync::Condvar::new();
        let wait = || {
            let guard = lock.lock().unwrap();
            condition.wait_timeout(guard, Duration::ZERO).unwrap().1
        };
        let (first, second) = (wait(), wait());
        (text((first, first.timed_out())), first == second)
    });
    both(|| {
        same!(|sync| {
            let barrier = sync::Barrier::new(1);
            let result = barrier.wait();
            (text((&barrier, &result)), result.is_leader())
        });
    });
}

#[test]
fn all_methods_of_thread_locals() {
    macro_rules! compare {
        ($thread_local:path) => {{
            use $thread_local as declare;
            declare! {
                static NUMBER: Cell<u32> = const { Cell::new(7) };
                static LIST: RefCell<Vec<u32>> = RefCell::new(vec![1]);
            }
            let mut results = vec![text(NUMBER.with(Cell::get)), text(NUMBER.take())];
            results.push(text((NUMBER.replace(3), NUMBER.get())));
            results.push(text(LIST.try_with(|list| list.borrow().len())));
            results.push(panics(|| {
                LIST.with_borrow_mut(|_| LIST.with_borrow(|_| ()))
            }));
            results.push(panics(|| {
                LIST.with_borrow(|_| LIST.with_borrow_mut(|_| ()))
            }));
            results.push(panics(|| _ = LIST.with_borrow(|_| LIST.take())));
            results.push(panics(|| _ = LIST.with_borrow(|_| LIST.replace(vec![]))));
            results.push(text((LIST.replace(vec![2]), LIST.take(), LIST.take())));
            NUMBER.set(0);
            LIST.set(vec![1]);
            results
        }};
    }
    assert_eq!(compare!(std::thread_local), compare!(raddle::thread_local));
}

#[test]
fn hints_are_stds() {
    use raddle::hint;
    hint::spin_loop();
    assert_eq!(hint::black_box(3), hint::select_unpredictable(true, 3, 4));
    // SAFETY: it is true.
    unsafe { hint::assert_unchecked(hint::black_box(true)) };
}
