//! Test suites: sets of recorded executions, drawn at random or chosen for their coverage.

use super::random::Random;
use super::record::Covered;

/// Percentage of the choices of a greedy suite that go for coverage; the others are random, so that suites differ.
const GREEDY: usize = 80;

/// A set of executions, by their numbers.
pub(super) type Suite = Vec<usize>;

/// Returns suites of random sizes from 1 to `most`, each size as likely as another, and the executions of a suite
/// drawn from all without repetition.
pub(super) fn random(
    executions: usize,
    most: usize,
    count: usize,
    random: &mut Random,
) -> Vec<Suite> {
    let mut all: Vec<usize> = (0..executions).collect();
    (0..count)
        .map(|_| {
            let size = 1 + random.below(most.min(executions));
            random.shuffle_first(&mut all, size);
            all[..size].to_vec()
        })
        .collect()
}

/// Returns one suite of this size.
pub(super) fn of_size(executions: usize, size: usize, random: &mut Random) -> Suite {
    let mut all: Vec<usize> = (0..executions).collect();
    random.shuffle_first(&mut all, size);
    all.truncate(size);
    all
}

/// Executions that cover the same requirements.
struct Alike {
    row: Vec<u64>,
    executions: Vec<usize>,
}

/// Chooses suites that cover all that the recorded executions cover.
pub(super) struct Greedy {
    alike: Vec<Alike>,
    all: Vec<u64>,
    executions: usize,
}

impl Greedy {
    pub(super) fn new(covered: &Covered, executions: usize) -> Self {
        let mut alike: Vec<Alike> = Vec::new();
        let mut known = std::collections::HashMap::new();
        let mut all = vec![0; covered.row(0).len()];
        for execution in 0..executions {
            let row = covered.row(execution);
            all.iter_mut().zip(row).for_each(|(all, word)| *all |= word);
            let next = alike.len();
            let index = *known.entry(row).or_insert(next);
            if index == next {
                alike.push(Alike {
                    row: row.to_vec(),
                    executions: Vec::new(),
                });
            }
            alike[index].executions.push(execution);
        }
        Greedy {
            alike,
            all,
            executions,
        }
    }

    /// Adds, until nothing is left to cover, one of the executions that cover most of the rest, or now and then any
    /// execution.
    pub(super) fn suite(&self, random: &mut Random) -> Suite {
        let mut left = self.all.clone();
        let mut suite = Suite::new();
        while left.iter().any(|word| *word != 0) {
            let next = match random.percent(GREEDY) {
                true => self.best(&left, random),
                false => random.below(self.executions),
            };
            let row = self
                .alike
                .iter()
                .find(|alike| alike.executions.contains(&next));
            let row = &row.expect("every execution is in one of these").row;
            left.iter_mut()
                .zip(row)
                .for_each(|(left, word)| *left &= !word);
            if !suite.contains(&next) {
                suite.push(next);
            }
        }
        suite
    }

    /// Returns one of the executions that cover most of these requirements, each as likely as another.
    fn best(&self, left: &[u64], random: &mut Random) -> usize {
        let gain = |alike: &Alike| -> u32 {
            let both = alike.row.iter().zip(left);
            both.map(|(row, left)| (row & left).count_ones()).sum()
        };
        let gains: Vec<u32> = self.alike.iter().map(gain).collect();
        let most = gains.iter().max().copied().unwrap_or_default();
        let best = self
            .alike
            .iter()
            .zip(&gains)
            .filter(|(_, gain)| **gain == most);
        let best: Vec<usize> = best
            .flat_map(|(alike, _)| alike.executions.iter().copied())
            .collect();
        best[random.below(best.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_have_all_sizes_and_no_execution_twice() {
        let suites = random(20, 5, 2_000, &mut Random::new(1));
        let mut sizes = [0; 6];
        for suite in &suites {
            sizes[suite.len()] += 1;
            let mut members = suite.clone();
            members.sort_unstable();
            members.dedup();
            assert_eq!(members.len(), suite.len());
        }
        assert_eq!(sizes[0], 0);
        assert!(
            sizes[1..].iter().all(|count| (320..480).contains(count)),
            "{sizes:?}"
        );
        assert_eq!(suites, random(20, 5, 2_000, &mut Random::new(1)));
    }

    /// Three executions cover everything, and one of them alone most of it.
    #[test]
    fn greedy_suites_cover_everything_with_few_executions() {
        let mut rows = vec![vec![0, 1]; 60];
        rows.extend([vec![0, 1, 2, 3, 4, 5], vec![6], vec![7, 1]]);
        let covered = Covered::new(&rows);
        let greedy = Greedy::new(&covered, rows.len());
        let random = &mut Random::new(5);
        let mut sizes = Vec::new();
        for _ in 0..200 {
            let suite = greedy.suite(random);
            assert_eq!(covered.count(&suite), 8);
            assert!([60, 61, 62].iter().all(|it| suite.contains(it)));
            sizes.push(suite.len());
        }
        // Without a random choice, which happens in 51 % of the suites, three are enough.
        let smallest = sizes.iter().filter(|size| **size == 3).count();
        assert!((75..140).contains(&smallest), "{smallest}");
        assert!(sizes.iter().any(|size| *size > 3));
    }
}
