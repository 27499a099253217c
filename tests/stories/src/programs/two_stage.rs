//! A writer sets one variable under its lock, lets go, and sets another, which must follow the
//! first, under another lock. A reader takes the locks in the same way and sees the first without
//! the second. Retells *Two Stage* of the cooperative-testing suite. No access is without a lock.
//!
//! One preemption, of a writer between its stages. Several writers make the gap small: the reader
//! must come when the first of them has done one stage and none has done two. With seven it is
//! smaller still.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[
    Story {
        name: "two_stage",
        pattern: "a change of two variables is two critical sections",
        buggy: || run(3, write_in_two_stages),
        correct: || run(3, write_at_once),
        facts: Facts::new(FailureKind::Panic, 4, 1),
    },
    Story {
        name: "two_stage_8",
        pattern: "the same with seven writers",
        buggy: || run(7, write_in_two_stages),
        correct: || run(7, write_at_once),
        facts: Facts::large(FailureKind::Panic, 8),
    },
];

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

fn run(writers: usize, write: fn(&Data)) {
    let data = Arc::new(Data::default());
    crowd(writers + 1, &data, move |data, number| {
        if number < writers {
            write(data);
        } else {
            read(data);
        }
    });
}
