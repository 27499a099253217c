//! A writer sets one variable under its lock, lets go, and sets another, which must follow the first,
//! under another lock. A reader takes the locks in the same way and sees the first without the second.
//! Retells *Two Stage* of the cooperative-testing suite. No access is without a lock.
//!
//! One preemption, of a writer between its stages. Several writers make the gap small: the reader must
//! come when the first of them has done one stage and none has done two.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[Story {
    name: "two_stage",
    pattern: "a change of two variables is two critical sections",
    buggy: || run(write_in_two_stages),
    correct: || run(write_at_once),
    facts: Facts::new(FailureKind::Panic, 4, 1),
}];

const WRITERS: usize = 3;

#[derive(Default)]
struct Data {
    first: Mutex<usize>,
    second: Mutex<usize>,
}

fn write_in_two_stages(data: &Data) {
    *data.first.lock().unwrap() = 1;
    *data.second.lock().unwrap() = 2;
}

fn write_at_once(data: &Data) {
    let mut first = data.first.lock().unwrap();
    let mut second = data.second.lock().unwrap();
    *first = 1;
    *second = 2;
}

fn read(data: &Data) {
    let first = *data.first.lock().unwrap();
    let second = *data.second.lock().unwrap();
    let follows = first == 0 || second == first + 1;
    assert!(follows, "{second} does not follow {first}");
}

fn run(write: fn(&Data)) {
    crowd(
        WRITERS + 1,
        &Arc::new(Data::default()),
        move |data, number| match number {
            WRITERS => read(data),
            _ => write(data),
        },
    );
}
