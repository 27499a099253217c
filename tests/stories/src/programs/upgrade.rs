//! A registry that is read much and changed rarely. *Upgrade* looks under the read lock, lets go,
//! and adds under the write lock without looking again. *Two readers* keep a read lock of one of
//! two registries while they ask for the write lock of the other.
//!
//! One preemption each.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[
    Story {
        name: "upgrade",
        pattern: "looks under a read lock, writes under a write lock",
        buggy: || {
            register(|names, name| {
                let is_known = names.read().unwrap().contains(&name);
                if !is_known {
                    names.write().unwrap().push(name);
                }
            })
        },
        correct: || {
            register(|names, name| {
                let is_known = names.read().unwrap().contains(&name);
                if !is_known {
                    let mut names = names.write().unwrap();
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
            })
        },
        facts: Facts::new(FailureKind::Panic, 3, 1),
    },
    Story {
        name: "two_readers",
        pattern: "writes to one of two tables while it reads the other",
        buggy: || copy([[0, 1], [1, 0]]),
        correct: || copy([[0, 1], [0, 1]]),
        facts: Facts::new(FailureKind::Deadlock, 2, 1),
    },
];

type Names = RwLock<Vec<usize>>;

fn register(add: fn(&Names, usize)) {
    let names = Arc::new(Names::default());
    crowd(3, &names, move |names, number| {
        // The first two register the same name.
        add(names, number / 2);
    });
    assert_eq!(names.read().unwrap().len(), 2, "a name is there twice");
}

fn copy(ways: [[usize; 2]; 2]) {
    let tables = Arc::new([Names::default(), Names::default()]);
    crowd(2, &tables, move |tables, number| {
        let [from, to] = ways[number];
        let source = tables[from].read().unwrap();
        tables[to].write().unwrap().extend(source.iter());
    });
}
