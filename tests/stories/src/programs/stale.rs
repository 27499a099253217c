//! What was true a moment ago. *Two instances*: two threads both find the only instance
//! missing. *Stale cache*: a reader misses, reads the old value, and puts it into the cache
//! after the writer has changed the value and cleared the cache. *Dirty flag*: a flush copies, then
//! clears the flag, and with it a change that came in between. *Iterator*: a loop goes on to the
//! length that a list had. *Let go too early*: a lock is released before what was read under it is
//! written back.
//!
//! One preemption each, between the look and what follows; for the dirty flag a second one, so that
//! there is something to flush and something more to come.

use super::prelude::*;

const fn story(
    name: &'static str,
    pattern: &'static str,
    (threads, preemptions): (usize, u32),
    buggy: fn(),
    correct: fn(),
) -> Story {
    Story {
        name,
        pattern,
        buggy,
        correct,
        facts: Facts::new(FailureKind::Panic, threads, preemptions),
    }
}

pub(super) const STORIES: &[Story] = &[
    story(
        "two_instances",
        "several threads make what there should be one of",
        (3, 1),
        || {
            instances(|instance| {
                let missing = instance.lock().unwrap().is_none();
                if missing {
                    *instance.lock().unwrap() = Some(());
                }
                missing
            })
        },
        || instances(|instance| instance.lock().unwrap().replace(()).is_none()),
    ),
    story(
        "stale_cache",
        "a cache is filled with what was read before it was cleared",
        (2, 1),
        || {
            cache(|store| {
                let value = store.value.load(SeqCst);
                store.cache.store(value, SeqCst);
            })
        },
        || {
            cache(|store| {
                let _held = store.lock.lock().unwrap();
                let value = store.value.load(SeqCst);
                store.cache.store(value, SeqCst);
            })
        },
    ),
    story(
        "dirty_flag",
        "a flag is cleared after the work it stands for, not before",
        (2, 2),
        || {
            flush(|page| {
                page.saved.store(page.value.load(SeqCst), SeqCst);
                page.dirty.store(false, SeqCst);
            })
        },
        || {
            flush(|page| {
                page.dirty.store(false, SeqCst);
                page.saved.store(page.value.load(SeqCst), SeqCst);
            })
        },
    ),
    story(
        "iterator",
        "a loop runs to the length that a list had before",
        (2, 1),
        || {
            iterate(|list| {
                let length = list.lock().unwrap().len();
                for place in 0..length {
                    let found = list.lock().unwrap().get(place).copied();
                    found.expect("the list is that long");
                }
            })
        },
        || {
            iterate(|list| {
                let list = list.lock().unwrap();
                for place in 0..list.len() {
                    list.get(place).expect("the list is that long");
                }
            })
        },
    ),
    story(
        "let_go_too_early",
        "a lock is released between reading and writing back",
        (3, 1),
        || {
            add(|total, amount| {
                let sum = *total.lock().unwrap() + amount;
                *total.lock().unwrap() = sum;
            })
        },
        || add(|total, amount| *total.lock().unwrap() += amount),
    ),
];

fn instances(make: fn(&Mutex<Option<()>>) -> bool) {
    let shared = Arc::new((Mutex::new(None), AtomicUsize::new(0)));
    crowd(3, &shared, move |(instance, made), _| {
        if make(instance) {
            made.fetch_add(1, SeqCst);
        }
    });
    assert_eq!(shared.1.load(SeqCst), 1, "there are several instances");
}

#[derive(Default)]
struct Store {
    lock: Mutex<()>,
    value: AtomicUsize,
    /// The value plus one when it is known, and 0 when it is not.
    cache: AtomicUsize,
}

fn cache(fill: fn(&Store)) {
    let store = Arc::new(Store {
        value: AtomicUsize::new(1),
        ..Store::default()
    });
    crowd(2, &store, move |store, number| {
        if number == 0 {
            let _held = store.lock.lock().unwrap();
            store.value.store(2, SeqCst);
            store.cache.store(0, SeqCst);
        } else if store.cache.load(SeqCst) == 0 {
            fill(store);
        }
    });
    assert_ne!(store.cache.load(SeqCst), 1, "the cache has the old value");
}

#[derive(Default)]
struct Page {
    value: AtomicUsize,
    dirty: AtomicBool,
    saved: AtomicUsize,
}

fn flush(save: fn(&Page)) {
    let page = Arc::new(Page::default());
    crowd(2, &page, move |page, number| {
        if number == 0 {
            for value in 1..=2 {
                page.value.store(value, SeqCst);
                page.dirty.store(true, SeqCst);
            }
        } else if page.dirty.load(SeqCst) {
            save(page);
        }
    });
    let clean = !page.dirty.load(SeqCst);
    let saved = page.saved.load(SeqCst);
    assert!(
        !clean || saved == 2,
        "the page is clean, and {saved} is saved"
    );
}

fn iterate(visit: fn(&Mutex<Vec<usize>>)) {
    let list = Arc::new(Mutex::new(vec![1, 2, 3]));
    crowd(2, &list, move |list, number| match number {
        0 => drop(list.lock().unwrap().pop()),
        _ => visit(list),
    });
}

fn add(add: fn(&Mutex<usize>, usize)) {
    let total = Arc::new(Mutex::new(0));
    crowd(3, &total, move |total, number| add(total, number + 1));
    assert_eq!(*total.lock().unwrap(), 6, "an amount is missing");
}
