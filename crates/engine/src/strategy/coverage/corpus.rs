//! Corpus of executions that covered something new, and mutations of them.
//!
//! An execution is determined by its sequence of choices. Sequences that covered something new are
//! kept. In turn, each has some children, in which a few choices are changed. Up to the first
//! change a child equals its parent, so it reaches states that few executions reach, and then
//! diverges (as fuzzers for sequential programs mutate their inputs).

use crate::base::rng::Rng;

/// Executions per parent before the next parent's turn.
const CHILDREN: u32 = 16;
/// Number of choices changed in a child.
const CHANGES: usize = 5;
/// Maximum number of parents, to bound the memory; later ones replace the oldest.
const MOST: usize = 1024;

/// The choices of one execution, each a number that is scaled to the number of alternatives.
#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    numbers: Vec<u32>,
    position: usize,
}

impl Stream {
    /// Returns the next choice; random after the end.
    pub(super) fn next(&mut self, choices: usize, rng: &mut Rng) -> usize {
        let number = match self.numbers.get(self.position) {
            Some(&number) => number,
            None => {
                let number = random(rng);
                self.numbers.push(number);
                number
            }
        };
        self.position += 1;
        scaled(number, choices)
    }

    /// Records a choice made elsewhere.
    pub(super) fn push(&mut self, choice: usize, choices: usize) {
        self.numbers.truncate(self.position);
        let width = (1u64 << 32) / choices as u64;
        self.numbers
            .push((choice as u64 * width + width / 2) as u32);
        self.position += 1;
    }

    /// Starts with no choices.
    pub(super) fn clear(&mut self) {
        self.numbers.clear();
        self.position = 0;
    }
}

fn random(rng: &mut Rng) -> u32 {
    rng.below(1 << 32) as u32
}

fn scaled(number: u32, choices: usize) -> usize {
    ((u64::from(number) * choices as u64) >> 32) as usize
}

/// Executions that covered something new.
#[derive(Clone, Debug, Default)]
pub(super) struct Corpus {
    parents: Vec<Vec<u32>>,
    oldest: usize,
    /// Index of the parent whose turn it is, and the number of its children.
    turn: usize,
    children: u32,
}

impl Corpus {
    /// Adds the choices of an execution.
    pub(super) fn add(&mut self, stream: &Stream) {
        let numbers = stream.numbers[..stream.position].to_vec();
        if self.parents.len() < MOST {
            self.parents.push(numbers);
        } else {
            self.parents[self.oldest] = numbers;
            self.oldest = (self.oldest + 1) % MOST;
        }
    }

    /// Makes `stream` a child of the next parent; returns `false` if there is none.
    pub(super) fn child(&mut self, stream: &mut Stream, rng: &mut Rng) -> bool {
        if self.parents.is_empty() {
            return false;
        }
        if self.children == CHILDREN {
            self.children = 0;
            self.turn += 1;
        }
        self.turn %= self.parents.len();
        self.children += 1;
        stream.clear();
        stream.numbers.clone_from(&self.parents[self.turn]);
        let length = stream.numbers.len();
        for _ in 0..CHANGES.min(length) {
            let changed = rng.below(length);
            stream.numbers[changed] = random(rng);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_come_back_as_they_were_noted() {
        let mut rng = Rng::new(1);
        let mut stream = Stream::default();
        let choices: Vec<_> = (1..60)
            .flat_map(|all| (0..all).map(move |it| (it, all)))
            .collect();
        for &(choice, all) in &choices {
            stream.push(choice, all);
        }
        stream.position = 0;
        for (choice, all) in choices {
            assert_eq!(stream.next(all, &mut rng), choice, "of {all}");
        }
    }

    #[test]
    fn parents_take_turns_and_children_differ_in_few_choices() {
        let mut rng = Rng::new(1);
        let mut corpus = Corpus::default();
        let mut child = Stream::default();
        assert!(!corpus.child(&mut child, &mut rng));
        for parent in 0..2 {
            let mut stream = Stream::default();
            (0..100).for_each(|_| stream.push(parent, 2));
            corpus.add(&stream);
        }
        for turn in 0..4 {
            for _ in 0..CHILDREN {
                assert!(corpus.child(&mut child, &mut rng));
                let parent = &corpus.parents[turn % 2];
                let differences = child.numbers.iter().zip(parent).filter(|(a, b)| a != b);
                let differences = differences.count();
                assert!((1..=CHANGES).contains(&differences), "{differences}");
                assert_eq!(child.numbers.len(), 100);
            }
        }
    }
}
