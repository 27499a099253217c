//! Collections that several threads use, as small relatives of Java's `ArrayList`, `HashMap` and
//! `TreeSet` behind their synchronised wrappers.
//!
//! All shared data is atomic, so that every access is an event. One lock guards the whole
//! collection, and every user takes it first, as with a `Mutex` around it. With [`Locking::Broken`]
//! some calls do not: those that only read, and some that write. A broken collection may lose
//! elements or read half of a change; it never loops forever and never leaves its memory.

mod array_list;
mod hash_map;
mod tree_set;

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Mutex, MutexGuard};
use raddle::thread;

pub(crate) use array_list::ArrayList;
pub(crate) use hash_map::HashMap;
pub(crate) use tree_set::TreeSet;

/// The calls that take the lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Locking {
    /// Every method.
    Coarse,
    /// Not all of them.
    Broken,
}

/// A collection and its lock.
pub(crate) struct Guarded<C> {
    lock: Mutex<()>,
    locking: Locking,
    collection: C,
}

/// The collection, while it is used.
pub(crate) struct Inside<'a, C> {
    collection: &'a C,
    _held: Option<MutexGuard<'a, ()>>,
}

impl<C> Deref for Inside<'_, C> {
    type Target = C;

    fn deref(&self) -> &C {
        self.collection
    }
}

impl<C> Guarded<C> {
    /// Takes the lock.
    #[track_caller]
    fn locked(&self) -> Inside<'_, C> {
        Inside {
            collection: &self.collection,
            _held: Some(self.lock.lock().unwrap()),
        }
    }

    /// Takes the lock, unless the collection is broken.
    #[track_caller]
    fn carelessly(&self) -> Inside<'_, C> {
        match self.locking {
            Locking::Coarse => self.locked(),
            Locking::Broken => Inside {
                collection: &self.collection,
                _held: None,
            },
        }
    }
}

/// Returns `count` numbers, all zero.
fn zeros(count: usize) -> Vec<AtomicUsize> {
    (0..count).map(|_| AtomicUsize::new(0)).collect()
}

/// Increments a number in two steps, as for a plain field.
#[track_caller]
fn bump(field: &AtomicUsize) {
    field.store(field.load(SeqCst) + 1, SeqCst);
}

#[track_caller]
fn lower(field: &AtomicUsize) {
    field.store(field.load(SeqCst).saturating_sub(1), SeqCst);
}

/// A program: some threads that use one collection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Collection {
    pub(crate) kind: CollectionKind,
    pub(crate) locking: Locking,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CollectionKind {
    ArrayList,
    HashMap,
    TreeSet,
}

impl fmt::Display for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            CollectionKind::ArrayList => "array_list",
            CollectionKind::HashMap => "hash_map",
            CollectionKind::TreeSet => "tree_set",
        };
        match self.locking {
            Locking::Coarse => write!(f, "{kind}"),
            Locking::Broken => write!(f, "{kind}_broken"),
        }
    }
}

/// The body of one thread.
type Part<C> = fn(&Guarded<C>);

fn run_threads<C: Send + Sync + 'static>(collection: C, locking: Locking, parts: &[Part<C>]) {
    let shared = Arc::new(Guarded {
        lock: Mutex::new(()),
        locking,
        collection,
    });
    let threads: Vec<_> = parts
        .iter()
        .map(|&part| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || part(&shared))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

impl Collection {
    /// All programs.
    pub(crate) fn all() -> impl Iterator<Item = Collection> {
        let kinds = [
            CollectionKind::ArrayList,
            CollectionKind::HashMap,
            CollectionKind::TreeSet,
        ];
        let lockings = [Locking::Coarse, Locking::Broken];
        kinds
            .into_iter()
            .flat_map(move |kind| lockings.map(|locking| Collection { kind, locking }))
    }

    /// Runs one execution of the program.
    pub(crate) fn run(self) {
        match self.kind {
            CollectionKind::ArrayList => {
                run_threads(ArrayList::new(), self.locking, &array_list::PARTS)
            }
            CollectionKind::HashMap => run_threads(HashMap::new(), self.locking, &hash_map::PARTS),
            CollectionKind::TreeSet => run_threads(TreeSet::new(), self.locking, &tree_set::PARTS),
        }
    }
}
