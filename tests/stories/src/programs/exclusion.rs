//! Mutual exclusion without locks, as it was published or is often remembered. No thread waits:
//! one that would have to gives up.
//!
//! *Peterson, swapped* gives way before it raises its flag. *Hyman* is the algorithm that Hyman
//! published in 1966 and Knuth refuted in the same year. *Bakery* leaves out that others wait for
//! who is drawing a number. Two preemptions each: one thread is interrupted at the wrong place, and
//! the other in its critical section.

use super::prelude::*;

const fn story(name: &'static str, pattern: &'static str, buggy: fn(), correct: fn()) -> Story {
    Story {
        name,
        pattern,
        buggy,
        correct,
        facts: Facts::new(FailureKind::Panic, 2, 2),
    }
}

pub(super) const STORIES: &[Story] = &[
    story(
        "peterson_swapped",
        "gives way before it says that it wants to enter",
        || run(peterson_swapped),
        || run(peterson),
    ),
    story(
        "hyman",
        "takes its turn after it has looked at the other's flag",
        || run(hyman),
        || run(peterson),
    ),
    story(
        "bakery",
        "compares its number with one that is being drawn",
        || run(bakery),
        || run(bakery_with_doorway),
    ),
];

#[derive(Default)]
struct Door {
    /// Who wants to enter.
    wants: [AtomicBool; 2],
    /// Who may go first.
    turn: AtomicUsize,
    numbers: [AtomicUsize; 2],
    inside: AtomicUsize,
}

/// Whether `me` may enter.
type Enter = fn(&Door, me: usize) -> bool;

fn is_others_turn(door: &Door, other: usize) -> bool {
    door.wants[other].load(SeqCst) && door.turn.load(SeqCst) == other
}

fn peterson(door: &Door, me: usize) -> bool {
    door.wants[me].store(true, SeqCst);
    door.turn.store(1 - me, SeqCst);
    !is_others_turn(door, 1 - me)
}

fn peterson_swapped(door: &Door, me: usize) -> bool {
    door.turn.store(1 - me, SeqCst);
    door.wants[me].store(true, SeqCst);
    !is_others_turn(door, 1 - me)
}

fn hyman(door: &Door, me: usize) -> bool {
    door.wants[me].store(true, SeqCst);
    if door.turn.load(SeqCst) != me {
        if door.wants[1 - me].load(SeqCst) {
            return false;
        }
        door.turn.store(me, SeqCst);
    }
    door.turn.load(SeqCst) == me
}

fn draw(door: &Door, me: usize) -> bool {
    let number = door.numbers[1 - me].load(SeqCst) + 1;
    door.numbers[me].store(number, SeqCst);
    let other = door.numbers[1 - me].load(SeqCst);
    other == 0 || (number, me) < (other, 1 - me)
}

fn bakery(door: &Door, me: usize) -> bool {
    draw(door, me)
}

fn bakery_with_doorway(door: &Door, me: usize) -> bool {
    door.wants[me].store(true, SeqCst);
    let first = draw(door, me);
    door.wants[me].store(false, SeqCst);
    let other = 1 - me;
    let other_draws = door.wants[other].load(SeqCst);
    let number = door.numbers[other].load(SeqCst);
    let mine = door.numbers[me].load(SeqCst);
    first && !other_draws && (number == 0 || (mine, me) < (number, other))
}

fn run(enter: Enter) {
    crowd(2, &Arc::new(Door::default()), move |door, me| {
        if enter(door, me) {
            let others = door.inside.fetch_add(1, SeqCst);
            assert_eq!(others, 0, "two threads are inside");
            door.inside.fetch_sub(1, SeqCst);
        }
        door.wants[me].store(false, SeqCst);
        door.numbers[me].store(0, SeqCst);
    });
}
