//! A parallel merge sort: two threads sort a half each, and the one that is ready last merges the
//! halves. They find out who is last by a counter that they read and then write; if both read that
//! neither is ready, neither merges. Retells *Merge Sort* of the cooperative-testing suite, where
//! threads race for a count of threads.
//!
//! Four threads sort two numbers each, and only the counter of the last merge is broken. One
//! preemption, between the read and the write of that counter.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[Story {
    name: "merge_sort",
    pattern: "who is last is found out by a count that loses updates",
    buggy: || run(count_in_two_steps),
    correct: || run(count_at_once),
    facts: Facts::new(FailureKind::Panic, 4, 1),
}];

struct Sorting {
    numbers: [AtomicUsize; 8],
    /// How many halves of each half, and of the whole, are sorted.
    halves: [AtomicUsize; 2],
    whole: AtomicUsize,
}

fn count_in_two_steps(ready: &AtomicUsize) -> usize {
    let before = ready.load(SeqCst);
    ready.store(before + 1, SeqCst);
    before
}

fn count_at_once(ready: &AtomicUsize) -> usize {
    ready.fetch_add(1, SeqCst)
}

/// Sorts a part of the numbers.
fn sort(numbers: &[AtomicUsize]) {
    let mut sorted: Vec<_> = (numbers.iter()).map(|number| number.load(SeqCst)).collect();
    sorted.sort_unstable();
    for (number, value) in numbers.iter().zip(sorted) {
        number.store(value, SeqCst);
    }
}

fn run(count: fn(&AtomicUsize) -> usize) {
    let sorting = Arc::new(Sorting {
        numbers: [8, 7, 6, 5, 4, 3, 2, 1].map(AtomicUsize::new),
        halves: Default::default(),
        whole: AtomicUsize::new(0),
    });
    crowd(4, &sorting, move |sorting, part| {
        sort(&sorting.numbers[2 * part..2 * part + 2]);
        let half = part / 2;
        if sorting.halves[half].fetch_add(1, SeqCst) == 1 {
            sort(&sorting.numbers[4 * half..4 * half + 4]);
            if count(&sorting.whole) == 1 {
                sort(&sorting.numbers);
            }
        }
    });
    let numbers = (sorting.numbers.iter()).map(|number| number.load(SeqCst));
    assert!(numbers.is_sorted(), "nobody merged the halves");
}
