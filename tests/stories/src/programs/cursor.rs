//! A list with a cursor. Every operation takes the lock and checks the cursor, each a little
//! differently: to move on needs a place to move to, to append needs a place to append at. After
//! one order of the operations the cursor is behind the end, where the reader does not expect it.
//! The three threads are an example of coverage-guided testing (a general race, no two accesses of
//! which are unordered); here there are five, six and eight as well.
//!
//! No thread need be interrupted: it is the order of whole critical sections.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[
    Story {
        name: "cursor_3",
        pattern: "one order of three critical sections moves a cursor behind the end",
        buggy: || together(&List::new(2), [advance, append, read]),
        correct: || together(&List::new(2), [advance, append_inside, read]),
        facts: Facts::new(FailureKind::Panic, 3, 0),
    },
    Story {
        name: "cursor_5",
        pattern: "few orders of five critical sections move a cursor behind the end",
        buggy: || together(&List::new(3), [read, append, retreat, advance, advance]),
        correct: || {
            together(
                &List::new(3),
                [read, append_inside, retreat, advance, advance],
            )
        },
        facts: Facts::new(FailureKind::Panic, 5, 0),
    },
    Story {
        name: "cursor_6",
        pattern: "fewer orders of six critical sections do the same",
        buggy: || {
            let list = List::new(4);
            together(&list, [read, append, retreat, advance, advance, advance]);
        },
        correct: || {
            let list = List::new(4);
            together(
                &list,
                [read, append_inside, retreat, advance, advance, advance],
            );
        },
        facts: Facts::new(FailureKind::Panic, 6, 0),
    },
    Story {
        name: "cursor_8",
        pattern: "and of eight",
        buggy: || move_among(append),
        correct: || move_among(append_inside),
        facts: Facts::large(FailureKind::Panic, 8),
    },
];

/// Five threads go on, one goes back, one appends and one reads.
fn move_among(append: fn(&List)) {
    let go_on: [fn(&List); 5] = [advance; 5];
    let [a, b, c, d, e] = go_on;
    together(&List::new(6), [read, append, retreat, a, b, c, d, e]);
}

struct List {
    length: usize,
    cursor: Mutex<usize>,
}

impl List {
    fn new(length: usize) -> Arc<Self> {
        Arc::new(List {
            length,
            cursor: Mutex::new(0),
        })
    }
}

fn advance(list: &List) {
    let mut cursor = list.cursor.lock().unwrap();
    if *cursor + 1 < list.length {
        *cursor += 1;
    }
}

fn append(list: &List) {
    let mut cursor = list.cursor.lock().unwrap();
    if *cursor < list.length {
        *cursor += 1;
    }
}

/// The cursor stays where something can be read.
fn append_inside(list: &List) {
    let mut cursor = list.cursor.lock().unwrap();
    *cursor = (*cursor + 1).min(list.length - 1);
}

fn retreat(list: &List) {
    let mut cursor = list.cursor.lock().unwrap();
    *cursor = cursor.saturating_sub(1);
}

fn read(list: &List) {
    let cursor = *list.cursor.lock().unwrap();
    assert!(cursor < list.length, "nothing at {cursor}");
}
