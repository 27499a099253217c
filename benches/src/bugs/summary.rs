//! The results and their output.

use std::fmt;

use raddle_stories::Memory;

use super::CAP;
use super::contender::Contender;
use crate::measure::geometric_mean;

/// Executions to the first failure, from one seed after the other.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Runs {
    /// `None` where there was none.
    found: Vec<Option<u64>>,
    /// Number of seeds planned.
    seeds: u64,
}

impl Runs {
    pub(crate) fn new(seeds: u64) -> Self {
        Runs {
            found: Vec::new(),
            seeds,
        }
    }

    pub(crate) fn push(&mut self, found: Option<u64>) {
        self.found.push(found);
    }

    /// True when this number of seeds was tried without a failure.
    pub(crate) fn is_hopeless(&self, seeds: usize) -> bool {
        self.found.len() >= seeds && self.found.iter().all(Option::is_none)
    }

    fn skipped(&self) -> u64 {
        self.seeds - self.found.len() as u64
    }

    fn times_found(&self) -> u64 {
        self.found.iter().flatten().count() as u64
    }

    /// Returns the executions that this percentage of the seeds does not exceed. Seeds that were
    /// not tried count as those without a failure.
    fn percentile(&self, percent: u64) -> Executions {
        let mut found: Vec<_> = self.found.iter().flatten().copied().collect();
        found.sort_unstable();
        let rank = (self.seeds * percent).div_ceil(100).max(1) as usize;
        Executions(found.get(rank - 1).copied())
    }
}

/// A number of executions, or none within the limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Executions(Option<u64>);

impl Executions {
    fn at_most_cap(self) -> u64 {
        self.0.unwrap_or(CAP)
    }
}

impl fmt::Display for Executions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(executions) => write!(f, "{executions}"),
            None => write!(f, ">{CAP}"),
        }
    }
}

/// The results for a program.
pub(crate) struct Line {
    program: &'static str,
    memory: Memory,
    runs: Vec<(Contender, Runs)>,
    pub(crate) twin_failed: bool,
}

impl Line {
    pub(crate) fn new(program: &'static str, memory: Memory) -> Self {
        Line {
            program,
            memory,
            runs: Vec::new(),
            twin_failed: false,
        }
    }

    pub(crate) fn add(&mut self, contender: &Contender, runs: Runs) {
        self.runs.push((contender.clone(), runs));
    }

    fn auto(&self) -> Option<&Runs> {
        let auto = self.runs.iter().find(|(one, _)| one.is_auto());
        auto.map(|(_, runs)| runs)
    }

    /// Returns the smallest of shuttle's medians.
    fn best_shuttle(&self) -> u64 {
        let shuttle = |(one, runs): &(Contender, Runs)| match one {
            Contender::Shuttle(_) => Some(runs.percentile(50).at_most_cap()),
            Contender::Raddle(_) => None,
        };
        self.runs.iter().filter_map(shuttle).min().unwrap_or(CAP)
    }

    fn is_hard(&self) -> bool {
        self.best_shuttle() >= HARD
    }
}

/// Minimum of shuttle's best median for a hard program.
const HARD: u64 = 10;

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bugs {}", self.program)?;
        for (contender, runs) in &self.runs {
            let (name, median) = (contender.name(), runs.percentile(50));
            write!(f, " {name}={median} {name}_p95={}", runs.percentile(95))?;
        }
        // Seeds that were skipped because all before them found nothing.
        let skipped: u64 = self.runs.iter().map(|(_, runs)| runs.skipped()).sum();
        match skipped {
            0 => Ok(()),
            skipped => write!(f, " skipped={skipped}"),
        }
    }
}

/// The results for all programs.
#[derive(Default)]
pub(crate) struct Summary {
    lines: Vec<Line>,
}

/// Maximum ratio to shuttle's median for programs that shuttle finds easily.
const NO_WORSE: f64 = 1.2;

impl Summary {
    pub(crate) fn add(&mut self, line: Line) {
        self.lines.push(line);
    }
}

/// The medians of hard programs: ours, and shuttle's best.
#[derive(Default)]
struct Medians {
    auto: Vec<f64>,
    shuttle: Vec<f64>,
}

impl Medians {
    fn add(&mut self, auto: u64, shuttle: u64) {
        self.auto.push(auto as f64);
        self.shuttle.push(shuttle as f64);
    }
}

impl fmt::Display for Medians {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mean = |values: &[f64]| match values {
            [] => 0.0,
            values => geometric_mean(values),
        };
        let (auto, shuttle) = (mean(&self.auto), mean(&self.shuttle));
        let programs = self.auto.len();
        write!(
            f,
            "programs={programs} auto={auto:.1} best_shuttle={shuttle:.1}"
        )
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut easy, mut worse) = (Medians::default(), Vec::new());
        let (mut hard, mut sequential) = (Medians::default(), Medians::default());
        let (mut found, mut seeds) = (0, 0);
        for line in &self.lines {
            let Some(auto) = line.auto() else { continue };
            let (median, best) = (auto.percentile(50).at_most_cap(), line.best_shuttle());
            found += auto.times_found();
            seeds += auto.seeds;
            if line.is_hard() {
                hard.add(median, best);
                if line.memory == Memory::Sc {
                    sequential.add(median, best);
                }
            } else {
                easy.add(median, best);
                if median as f64 > NO_WORSE * best as f64 {
                    worse.push(line.program);
                }
            }
        }
        let twins = self.lines.iter().filter(|line| line.twin_failed).count();
        let names = if worse.is_empty() {
            String::new()
        } else {
            format!(" ({})", worse.join(", "))
        };
        writeln!(f, "bugs elsewhere {easy} worse={}{names}", worse.len())?;
        // Without the programs that shuttle cannot fail, because its memory is sequentially
        // consistent.
        writeln!(f, "bugs sequential {sequential}")?;
        writeln!(
            f,
            "bugs geomean {hard} found={found}/{seeds} twins_failed={twins}"
        )
    }
}

#[cfg(test)]
mod tests {
    use raddle::Strategy;

    use super::*;
    use crate::bugs::peer::Peer;

    fn runs(seeds: u64, found: &[u64]) -> Runs {
        let mut runs = Runs::new(seeds);
        for &executions in found {
            runs.push(Some(executions));
        }
        runs
    }

    #[test]
    fn what_was_not_found_comes_last() {
        let all: Vec<u64> = (1..=90).collect();
        let some = runs(100, &all);
        assert_eq!(some.percentile(50).to_string(), "50");
        assert_eq!(some.percentile(90).to_string(), "90");
        assert_eq!(some.percentile(95).to_string(), ">10000");
        assert_eq!(some.skipped(), 10);
        assert_eq!(runs(5, &[7, 1, 3, 9, 5]).percentile(50).to_string(), "5");
    }

    #[test]
    fn the_mean_is_over_hard_programs() {
        let line = |program, memory, auto: u64, random: u64, urw: u64| {
            let mut line = Line::new(program, memory);
            let mut add = |who, executions| line.add(&who, runs(1, &[executions]));
            add(Contender::Raddle(Strategy::Auto), auto);
            add(Contender::Shuttle(Peer::Random), random);
            add(Contender::Shuttle(Peer::Urw), urw);
            line
        };
        let mut summary = Summary::default();
        summary.add(line("easy", Memory::Sc, 9, 7, 40));
        summary.add(line("hard", Memory::Sc, 4, 60, 10));
        summary.add(line("harder", Memory::Weak, 9, 1_000, 2_000));
        assert_eq!(
            summary.to_string(),
            "bugs elsewhere programs=1 auto=9.0 best_shuttle=7.0 worse=1 (easy)\n\
             bugs sequential programs=1 auto=4.0 best_shuttle=10.0\n\
             bugs geomean programs=2 auto=6.0 best_shuttle=100.0 found=3/3 twins_failed=0\n"
        );
    }
}
