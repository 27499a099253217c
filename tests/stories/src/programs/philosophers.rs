//! Philosophers around a table, who all take the left fork first. *Dining Philosophers* of the
//! cooperative-testing suite, and DP of reachability testing. In the twin the last one takes the
//! right fork first.
//!
//! One preemption is enough, however many there are: the first is interrupted between its forks,
//! the last takes its left fork and waits for the first, the last but one waits for the last, and
//! so on around the table.

use super::prelude::*;

const fn dinner(name: &'static str, seats: usize, buggy: fn(), correct: fn()) -> Story {
    Story {
        name,
        pattern: "everybody takes the left one of two locks first",
        buggy,
        correct,
        facts: Facts::new(FailureKind::Deadlock, seats, 1),
    }
}

pub(super) const STORIES: &[Story] = &[
    dinner(
        "philosophers_3",
        3,
        || dine(3, left_first),
        || dine(3, last_takes_right_first),
    ),
    dinner(
        "philosophers_5",
        5,
        || dine(5, left_first),
        || dine(5, last_takes_right_first),
    ),
    dinner(
        "philosophers_7",
        7,
        || dine(7, left_first),
        || dine(7, last_takes_right_first),
    ),
];

fn left_first(seat: usize, seats: usize) -> [usize; 2] {
    [seat, (seat + 1) % seats]
}

fn last_takes_right_first(seat: usize, seats: usize) -> [usize; 2] {
    let [left, right] = left_first(seat, seats);
    [left.min(right), left.max(right)]
}

fn dine(seats: usize, order: fn(usize, usize) -> [usize; 2]) {
    let forks: Vec<_> = (0..seats).map(|_| Mutex::new(())).collect();
    crowd(seats, &Arc::new(forks), move |forks, seat| {
        let [first, second] = order(seat, seats);
        let _first = forks[first].lock().unwrap();
        let _second = forks[second].lock().unwrap();
    });
}
