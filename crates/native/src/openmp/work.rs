//! Constructs that the threads of a team share: loops, sections, and blocks that one of them runs for all.
//!
//! Each thread reaches the same constructs in the same order, so they are numbered by that.

use std::sync::atomic::Ordering;

use raddle_engine::object::{self, Object, semaphore};
use raddle_engine::{LocationId, Operation, Update, UpdateKind};

use super::team::with_member;
use crate::execution::running;
use crate::memory::objects;

const TURN: &str = "turn";

/// A construct that a team shares.
#[derive(Default)]
pub(super) struct Work {
    /// Number of arrivals, or of parts taken.
    counter: Option<LocationId>,
    /// Counter in a team of one thread.
    alone: u64,
    /// Turns of the parts of an ordered loop, identified by their addresses.
    #[expect(clippy::vec_box, reason = "objects are known by their addresses")]
    turns: Vec<Box<u64>>,
}

/// Distribution of the iterations of a loop.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Schedule {
    /// In the order in which the threads arrive.
    Dynamic,
    /// Round-robin.
    Static,
}

/// Values of a loop's variable.
#[derive(Clone, Copy)]
pub(super) struct Values {
    pub(super) start: i64,
    pub(super) step: i64,
    /// Number of values.
    pub(super) count: u64,
}

impl Values {
    /// Returns the values from `start` up to `end`, exclusive.
    pub(super) fn until(start: i64, end: i64, step: i64) -> Self {
        let (distance, width) = (i128::from(end) - i128::from(start), i128::from(step));
        let count = match width == 0 || (distance > 0) != (width > 0) {
            true => 0,
            false => distance.unsigned_abs().div_ceil(width.unsigned_abs()) as u64,
        };
        Values { start, step, count }
    }

    fn at(self, iteration: u64) -> i64 {
        self.start
            .wrapping_add(self.step.wrapping_mul(iteration as i64))
    }
}

/// Share of one thread in a loop without a common counter, in libomp's form: its first part, and
/// the distance to the next.
#[derive(Debug)]
pub(super) struct Share {
    pub(super) first: i64,
    pub(super) last: i64,
    pub(super) stride: i64,
    /// True if the last value of the whole loop is in one of its parts.
    pub(super) is_last: bool,
}

impl Share {
    /// Returns the share of the member with a number in a team of a size. Without a size of parts,
    /// each thread has one part.
    pub(super) fn new(values: Values, size: Option<i64>, (number, team): (u64, u64)) -> Self {
        let part = match size {
            Some(size) => u64::try_from(size).unwrap_or(0).max(1),
            None => values.count.div_ceil(team),
        };
        let from = number.wrapping_mul(part);
        // With several parts, the program itself stops at the end of the loop.
        let (from, to) = match size {
            Some(_) => (from, from.wrapping_add(part)),
            None => (from.min(values.count), (from + part).min(values.count)),
        };
        let parts = values.count.div_ceil(part.max(1));
        Share {
            first: values.at(from),
            last: values.at(to.wrapping_sub(1)),
            stride: values.step.wrapping_mul(part.wrapping_mul(team) as i64),
            is_last: parts > 0 && (parts - 1) % team == number,
        }
    }
}

/// Consecutive values for a thread.
pub(super) struct Part {
    pub(super) first: i64,
    pub(super) last: i64,
    /// The value after the last.
    pub(super) end: i64,
    pub(super) step: i64,
    /// True if the last value of the whole loop is among them.
    pub(super) is_last: bool,
}

/// State of a thread in a loop, in parts of `size` values.
#[derive(Clone, Copy)]
pub(super) struct Chunk {
    work: usize,
    schedule: Schedule,
    values: Values,
    size: u64,
    /// Current part of the thread, and the number of parts it has had.
    part: Option<u64>,
    had: u64,
    is_ordered: bool,
    /// True if it is the turn of the part.
    has_turn: bool,
}

/// Returns the next construct that the running thread reaches.
fn next_work() -> usize {
    with_member(|team, member| {
        let work = member.works;
        member.works += 1;
        while team.works.len() <= work {
            team.works.push(Box::default());
        }
        work
    })
}

/// Counts an arrival of the running thread; returns the number of arrivals before.
fn count_up(work: usize, kind: &'static str, code: usize) -> u64 {
    if with_member(|team, _| team.size) == 1 {
        return with_member(|team, _| {
            let alone = &mut team.works[work].alone;
            *alone += 1;
            *alone - 1
        });
    }
    let native = running();
    let reply = native.perform(code, |world| {
        let location = with_member(|team, _| {
            let work = &mut team.works[work];
            let address = std::ptr::from_ref(&**work) as usize;
            *(work.counter).get_or_insert_with(|| native.add_location(world, kind, address, 0))
        });
        Operation::Update {
            location,
            ordering: Ordering::Relaxed,
            failure: Ordering::Relaxed,
            update: Update {
                kind: UpdateKind::Add(1),
                bits: 64,
            },
        }
    });
    reply.to_value()
}

/// True if the running thread is the one that runs the block for all.
pub(super) fn single(code: usize) -> bool {
    let work = next_work();
    count_up(work, "single", code) == 0
}

/// Begins a loop in the running thread; without a size, each thread has one part.
pub(super) fn begin_loop(schedule: Schedule, values: Values, size: u64, is_ordered: bool) {
    let work = next_work();
    let team_size = with_member(|team, _| team.size as u64);
    let size = match (size, schedule) {
        (0, Schedule::Static) => values.count.div_ceil(team_size),
        (size, _) => size,
    };
    with_member(|_, member| {
        member.chunk = Some(Chunk {
            work,
            schedule,
            values,
            size: size.max(1),
            part: None,
            had: 0,
            is_ordered,
            has_turn: false,
        });
    });
}

/// Returns the next part of the running thread's loop, if there is one.
pub(super) fn next_part(code: usize) -> Option<Part> {
    end_part(code);
    let chunk = with_member(|_, member| member.chunk)?;
    let part = match chunk.schedule {
        Schedule::Dynamic => count_up(chunk.work, "loop", code),
        Schedule::Static => {
            with_member(|team, member| member.number as u64 + chunk.had * team.size as u64)
        }
    };
    let first = part
        .checked_mul(chunk.size)
        .filter(|&it| it < chunk.values.count);
    with_member(|_, member| {
        if let Some(chunk) = &mut member.chunk {
            chunk.part = first.map(|_| part);
            chunk.had += 1;
            chunk.has_turn = false;
        }
        if first.is_none() {
            member.chunk = None;
        }
    });
    first.map(|first| {
        let Values { count, .. } = chunk.values;
        let end = count.min(first.saturating_add(chunk.size));
        Part {
            first: chunk.values.at(first),
            last: chunk.values.at(end - 1),
            end: chunk.values.at(end),
            step: chunk.values.step,
            is_last: end == count,
        }
    })
}

/// Gives the turn to the next part, if the loop is ordered.
fn end_part(code: usize) {
    let chunk = with_member(|_, member| member.chunk);
    if let Some(chunk) = chunk.filter(|chunk| chunk.is_ordered)
        && let Some(part) = chunk.part
    {
        wait_for_turn(code);
        turn(chunk.work, part + 1, semaphore::Call::Release, code);
    }
}

/// Waits until all parts before the running thread's are done.
pub(super) fn wait_for_turn(code: usize) {
    let Some(chunk) = with_member(|_, member| member.chunk) else {
        return;
    };
    let Some(part) = chunk.part.filter(|_| !chunk.has_turn) else {
        return;
    };
    if part > 0 {
        turn(chunk.work, part, semaphore::Call::Acquire, code);
    }
    with_member(|_, member| {
        if let Some(chunk) = &mut member.chunk {
            chunk.has_turn = true;
        }
    });
}

fn turn(work: usize, part: u64, call: semaphore::Call, code: usize) {
    let address = with_member(|team, _| {
        let turns = &mut team.works[work].turns;
        while turns.len() <= part as usize {
            turns.push(Box::default());
        }
        std::ptr::from_ref(&*turns[part as usize]) as usize
    });
    let initial = || Object::Semaphore(object::semaphore::Semaphore::counting(0));
    objects::call(address, TURN, initial, object::Call::Semaphore(call), code);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_inputs::Inputs;

    /// Returns the values of `for (i = start; i < end; i += step)`, or with `>` for negative steps.
    fn run(start: i64, end: i64, step: i64) -> Vec<i64> {
        let mut values = Vec::new();
        let mut value = start;
        while step > 0 && value < end || step < 0 && value > end {
            values.push(value);
            value += step;
        }
        values
    }

    fn random_loop(inputs: &mut Inputs) -> (i64, i64, i64) {
        let start = inputs.below(200) as i64 - 100;
        let end = inputs.below(200) as i64 - 100;
        let step = inputs.below(41) as i64 - 20;
        (start, end, step)
    }

    #[test]
    fn values_are_those_of_the_loop() {
        let mut inputs = Inputs::new(6);
        for _ in 0..5_000 {
            let (start, end, step) = random_loop(&mut inputs);
            let values = Values::until(start, end, step);
            let expected = run(start, end, step);
            let found: Vec<i64> = (0..values.count).map(|index| values.at(index)).collect();
            assert_eq!(found, expected, "{start} {end} {step}");
        }
    }

    #[test]
    fn loops_over_all_numbers_are_counted() {
        assert_eq!(Values::until(i64::MIN, i64::MAX, 1).count, u64::MAX);
        assert_eq!(Values::until(i64::MAX, i64::MIN, -1).count, u64::MAX);
        assert_eq!(Values::until(i64::MIN, i64::MAX, i64::MAX).count, 3);
        assert_eq!(Values::until(0, 10, 0).count, 0);
    }

    /// Returns the values of a program's share: parts one stride apart, up to the end.
    fn of_share(share: &Share, values: Values, has_more: bool) -> Vec<i64> {
        let end = values.at(values.count);
        let is_inside = |value: i64| (value < end) == (values.step > 0) && value != end;
        let mut found = Vec::new();
        let (mut first, mut last) = (share.first, share.last);
        while values.count > 0 && is_inside(first) {
            let mut value = first;
            while is_inside(value) && (value <= last) == (values.step > 0)
                || value == last && is_inside(value)
            {
                found.push(value);
                value += values.step;
            }
            if !has_more {
                break;
            }
            first += share.stride;
            last += share.stride;
        }
        found
    }

    #[test]
    fn each_value_is_in_the_share_of_one_thread() {
        let mut inputs = Inputs::new(7);
        for _ in 0..3_000 {
            let (start, end, step) = random_loop(&mut inputs);
            let values = Values::until(start, end, step);
            let size = (inputs.below(2) == 0).then(|| inputs.below(6) as i64);
            let team = 1 + inputs.below(5);
            let mut all = Vec::new();
            let mut last = Vec::new();
            for number in 0..team {
                let share = Share::new(values, size, (number, team));
                let own = of_share(&share, values, size.is_some());
                let has_last = own.contains(&values.at(values.count.wrapping_sub(1)));
                if values.count > 0 {
                    assert_eq!(
                        share.is_last, has_last,
                        "{start} {end} {step} {size:?} {share:?}"
                    );
                }
                last.extend(share.is_last.then_some(number));
                all.extend(own);
            }
            assert_eq!(last.len(), usize::from(values.count > 0));
            let mut expected = run(start, end, step);
            expected.sort();
            all.sort();
            assert_eq!(all, expected, "{start} {end} {step} {size:?} {team}");
        }
    }
}
