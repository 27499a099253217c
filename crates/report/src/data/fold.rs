//! Equal rounds of loops in a sequence of steps, which readers see once.
//!
//! Rounds are equal if their steps have the same threads, operations, places, targets, orderings and
//! words. Only numbers may differ, and only if they count: from each round to the next, a number in the
//! words, and the index of a step's source, changes by the same amount. So the first and the last round
//! determine all others, and a fold hides no information.
//!
//! A fold is the range of its steps. All steps stay in the trace: text and page leave out those that
//! [`Fold::hidden`] returns, and programs that read the trace need not know folds.

use std::collections::HashMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::data::effect::Effect;
use crate::data::place::Place;
use crate::data::trace::TraceStep;

/// Maximum number of steps of a round. The time to find folds is proportional to it.
const MAX_LENGTH: usize = 64;
/// Minimum number of visible steps that a fold hides. One line takes their place.
const MIN_HIDDEN: usize = 3;

/// Equal rounds in a trace: `rounds` times `length` steps, from step `from` on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Fold {
    /// The first step of the first round, as an index into the steps of the trace.
    pub from: usize,
    /// Number of steps of a round.
    pub length: usize,
    /// Number of rounds, at least 3.
    pub rounds: usize,
    /// True when some number in the words differs from round to round.
    pub counts: bool,
}

impl Fold {
    /// Returns the steps of all rounds but the first and the last.
    pub fn hidden(&self) -> Range<usize> {
        self.from + self.length..self.from + self.length * (self.rounds - 1)
    }

    /// Returns the steps of the first round.
    pub fn first_round(&self) -> Range<usize> {
        self.from..self.from + self.length
    }
}

/// Finds the folds of a sequence, in order and without overlaps. At each step, the rounds that cover
/// most steps are taken.
pub(crate) fn all(steps: &[TraceStep]) -> Vec<Fold> {
    let rows = Rows::of(steps);
    // Number of visible steps before each step.
    let mut visible = vec![0];
    for step in steps {
        visible.push(visible[visible.len() - 1] + usize::from(!step.is_dull()));
    }
    // For each length, the end of the steps that repeat twice at that distance.
    let mut ends = [0; MAX_LENGTH];
    let mut folds = Vec::new();
    let mut at = 0;
    while at < steps.len() {
        let mut best: Option<Fold> = None;
        for (end, length) in ends.iter_mut().zip(1..) {
            *end = at.max(*end);
            while rows.repeats(*end, length) {
                *end += 1;
            }
            if *end - at < length {
                continue;
            }
            let fold = Fold {
                from: at,
                length,
                rounds: (*end - at) / length + 2,
                counts: false,
            };
            let hidden = fold.hidden();
            let covered = |fold: &Fold| fold.length * fold.rounds;
            if visible[hidden.end] - visible[hidden.start] >= MIN_HIDDEN
                && best.is_none_or(|best| covered(&best) < covered(&fold))
            {
                best = Some(fold);
            }
        }
        match best {
            Some(fold) => {
                let counts = rows.counts(&fold);
                folds.push(Fold { counts, ..fold });
                at += fold.length * fold.rounds;
            }
            None => at += 1,
        }
    }
    folds
}

/// Everything of a step that is equal in all rounds; numbers in the words are replaced by `\0`.
#[derive(PartialEq, Eq, Hash)]
struct RowKey<'a> {
    thread: usize,
    words: String,
    place: Option<&'a Place>,
    waits: bool,
    thing: Option<usize>,
    has_source: bool,
    effect: Effect,
    ordering: Option<&'a str>,
}

/// Steps as a number for each different key, and the numbers that may count.
struct Rows {
    keys: Vec<u32>,
    numbers: Vec<Vec<i128>>,
    sources: Vec<i128>,
}

impl Rows {
    fn of(steps: &[TraceStep]) -> Self {
        let mut known = HashMap::new();
        let mut rows = Rows {
            keys: Vec::with_capacity(steps.len()),
            numbers: Vec::with_capacity(steps.len()),
            sources: Vec::with_capacity(steps.len()),
        };
        for step in steps {
            let (words, numbers) = split(&step.what);
            let key = RowKey {
                thread: step.thread,
                words,
                place: step.place.as_ref(),
                waits: step.waits,
                thing: step.thing,
                has_source: step.source.is_some(),
                effect: step.effect,
                ordering: step.ordering.as_deref(),
            };
            let next = known.len() as u32;
            rows.keys.push(*known.entry(key).or_insert(next));
            rows.numbers.push(numbers);
            rows.sources.push(step.source.unwrap_or(0) as i128);
        }
        rows
    }

    /// True when a step is repeated after `length` steps and again after `length` steps, and its
    /// numbers count.
    fn repeats(&self, at: usize, length: usize) -> bool {
        let (next, last) = (at + length, at + 2 * length);
        if last >= self.keys.len() || self.keys[at] != self.keys[next] {
            return false;
        }
        let counts = |of: &dyn Fn(usize) -> i128| of(next) - of(at) == of(last) - of(next);
        self.keys[at] == self.keys[last]
            && counts(&|step| self.sources[step])
            && (0..self.numbers[at].len()).all(|which| counts(&|step| self.numbers[step][which]))
    }

    /// True when a number in the words differs from round to round.
    fn counts(&self, fold: &Fold) -> bool {
        let mut first = fold.first_round();
        first.any(|step| self.numbers[step] != self.numbers[step + fold.length])
    }
}

/// Splits words into the text, with `\0` in place of numbers, and the numbers. A number stands alone
/// or after `#`: digits in names are text.
fn split(what: &str) -> (String, Vec<i128>) {
    let (mut text, mut numbers) = (String::with_capacity(what.len()), Vec::new());
    let mut rest = what;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, after) = rest.split_at(start);
        let length = after.find(|c: char| !c.is_ascii_digit());
        let (digits, after) = after.split_at(length.unwrap_or(after.len()));
        text += before;
        let is_alone = text.is_empty() || text.ends_with([' ', '#', '(']);
        let number: Option<u64> = digits.parse().ok().filter(|_| is_alone);
        // Digits with a leading zero cannot be written again from their number.
        match number.filter(|number| number.to_string() == digits) {
            Some(number) => {
                text.push('\0');
                numbers.push(number.into());
            }
            None => text += digits,
        }
        rest = after;
    }
    text += rest;
    (text, numbers)
}

#[cfg(test)]
mod tests {
    use raddle_engine::ThreadId;

    use super::*;

    /// A generator of numbers, as Marsaglia's xorshift.
    struct Random(u64);

    impl Random {
        fn below(&mut self, end: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 % end as u64) as usize
        }
    }

    fn step(thread: usize, what: String, line: u32) -> TraceStep {
        let place = Place {
            file: "a.rs".to_owned(),
            line,
            column: 1,
        };
        TraceStep::new(ThreadId::new(thread), what, Some(place))
    }

    /// Rebuilds the words and sources of all steps from those that are not hidden.
    fn unfold(steps: &[TraceStep], folds: &[Fold]) -> Vec<TraceStep> {
        let mut all = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            let Some(fold) = folds.iter().find(|fold| fold.hidden().contains(&index)) else {
                all.push(step.clone());
                continue;
            };
            let round = (index - fold.from) / fold.length;
            let first = &steps[fold.from + (index - fold.from) % fold.length];
            let last = fold.hidden().end + (index - fold.from) % fold.length;
            let last = &steps[last];
            let between = |first: i128, last: i128| {
                first + (last - first) * round as i128 / (fold.rounds as i128 - 1)
            };
            let ((text, starts), (_, ends)) = (split(&first.what), split(&last.what));
            let mut numbers = starts.iter().zip(&ends).map(|(&a, &b)| between(a, b));
            let mut what = String::new();
            for part in text.split_inclusive('\0') {
                what += part.trim_end_matches('\0');
                if part.ends_with('\0') {
                    what += &numbers.next().unwrap().to_string();
                }
            }
            let source = first.source.zip(last.source);
            all.push(TraceStep {
                what,
                source: source.map(|(a, b)| between(a as i128, b as i128) as usize),
                ..first.clone()
            });
        }
        all
    }

    /// Random rounds, repeated with numbers that mostly count, and steps between them.
    fn generated(random: &mut Random) -> Vec<TraceStep> {
        let mut steps: Vec<TraceStep> = Vec::new();
        for _ in 0..1 + random.below(5) {
            let length = 1 + random.below(6);
            let kinds: Vec<[usize; 4]> = (0..length)
                .map(|_| [3, 4, 3, 3].map(|end| random.below(end)))
                .collect();
            for round in 0..1 + random.below(9) {
                for &[thread, kind, by, line] in &kinds {
                    let number = match random.below(40) {
                        0 => 77,
                        _ => 5 + round * by,
                    };
                    let what = match kind {
                        0 => format!("load x = {number}"),
                        1 => format!("fetch-add y2: {number} to {}", number + 1),
                        2 => "lock state".to_owned(),
                        _ => "begin".to_owned(),
                    };
                    let mut made = step(thread, what, line as u32);
                    made.source = match random.below(60) {
                        0 => Some(0),
                        1 => None,
                        _ => steps.len().checked_sub(length),
                    };
                    steps.push(made);
                }
            }
        }
        steps
    }

    #[test]
    fn unfolding_returns_the_steps_of_generated_sequences() {
        let mut random = Random(0x2545_f491_4f6c_dd1d);
        let (mut found, mut hidden) = (0, 0);
        for _ in 0..2_000 {
            let steps = generated(&mut random);
            let folds = all(&steps);
            assert_eq!(unfold(&steps, &folds), steps);
            let mut end = 0;
            for fold in &folds {
                assert!(end <= fold.from && fold.rounds >= 3, "{folds:?}");
                end = fold.from + fold.length * fold.rounds;
                let shown = steps[fold.hidden()].iter().filter(|step| !step.is_dull());
                assert!(shown.count() >= MIN_HIDDEN, "{folds:?}");
            }
            assert!(end <= steps.len());
            found += folds.len();
            hidden += folds.iter().map(|fold| fold.hidden().len()).sum::<usize>();
        }
        assert!(
            found > 500 && hidden > 2_000,
            "{found} folds, {hidden} steps"
        );
    }

    #[test]
    fn every_planted_loop_is_one_fold() {
        for length in 1..=12 {
            for rounds in 1..=40 {
                let mut steps = vec![step(0, "spawn main.1".to_owned(), 1)];
                for round in 0..rounds {
                    for at in 0..length {
                        let what = format!("fetch-add y: {} to 3", round * at);
                        steps.push(step(at % 2, what, 10 + at as u32));
                    }
                }
                steps.push(step(0, "panic".to_owned(), 2));
                let is_folded = rounds >= 3 && (rounds - 2) * length >= MIN_HIDDEN;
                let fold = Fold {
                    from: 1,
                    length,
                    rounds,
                    counts: length > 1,
                };
                let expected: Vec<Fold> = is_folded.then_some(fold).into_iter().collect();
                assert_eq!(all(&steps), expected, "{rounds} rounds of {length} steps");
            }
        }
    }

    #[test]
    fn a_difference_that_readers_need_ends_a_fold() {
        let loops = |change: &dyn Fn(&mut TraceStep)| {
            let mut steps = vec![step(0, "load x = 0".to_owned(), 3); 20];
            change(&mut steps[10]);
            all(&steps)
                .iter()
                .map(|fold| fold.rounds)
                .collect::<Vec<_>>()
        };
        assert_eq!(loops(&|_| {}), [20]);
        type Change<'a> = &'a dyn Fn(&mut TraceStep);
        let changes: [(&str, Change<'_>); 8] = [
            ("value", &|step| step.what = "load x = 1".to_owned()),
            ("words", &|step| step.what = "load x = 0, stale".to_owned()),
            ("thread", &|step| step.thread = 1),
            ("place", &|step| step.place = None),
            ("target", &|step| step.thing = Some(4)),
            ("source", &|step| step.source = Some(2)),
            ("ordering", &|step| {
                step.ordering = Some("Acquire".to_owned())
            }),
            ("wait", &|step| step.waits = true),
        ];
        for (name, change) in changes {
            assert_eq!(loops(change), [10, 9], "{name}");
        }
    }

    #[test]
    fn numbers_are_values_and_not_parts_of_names() {
        for (what, text, numbers) in [
            ("load x = 12", "load x = \0", vec![12]),
            ("fetch-add x2: 3 to 4", "fetch-add x2: \0 to \0", vec![3, 4]),
            (
                "store pointer#7 to head",
                "store pointer#\0 to head",
                vec![7],
            ),
            ("lock main.1", "lock main.1", vec![]),
            ("load x = 007", "load x = 007", vec![]),
            ("sleep 10ms", "sleep \0ms", vec![10]),
        ] {
            assert_eq!(split(what), (text.to_owned(), numbers), "{what}");
        }
    }
}
