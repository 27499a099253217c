//! The study: which coverage metrics predict that test suites find failures, on the stories of `tests/stories` and on
//! mutants of their correct twins.
//!
//! The method is that of Hong's study of concurrency coverage (KAIST, 2015): random executions are recorded with what
//! they cover and whether they fail; random suites of them show how coverage, size and failure detection go together;
//! suites with all coverage are compared with random ones of the same sizes. Besides, criteria are compared as targets of
//! guided search. Figures depend on the seed only.

mod chart;
mod criteria;
mod growth;
mod mutants;
mod options;
mod page;
mod published;
mod random;
mod record;
mod statistics;
mod subject;
mod suites;
mod summary;
mod targets;

pub(crate) use options::{BadStudy, Options, options};

use raddle::Strategy;
use raddle_stories::Story;

use random::Random;
use record::Records;
use subject::Subject;
use targets::{Comparison, Found};

/// Minimum executions of a program that fail, and minimum that pass: of fewer, suites show nothing.
const FEWEST: usize = 5;

/// The results of a study.
pub(crate) struct Study {
    options: Options,
    stories: Group,
    mutants: Group,
    found: Vec<Found>,
    targets: Vec<Comparison>,
}

/// Programs of one origin.
#[derive(Default)]
struct Group {
    subjects: Vec<Subject>,
    /// Programs of which too few executions fail, none included, or too few pass.
    rarely_failing: usize,
    mostly_failing: usize,
}

impl Group {
    /// Examines a program if enough of its executions fail and pass.
    fn add(&mut self, records: &Records, options: &Options) {
        let failures = records.failures();
        if failures < FEWEST {
            self.rarely_failing += 1;
        } else if records.executions() - failures < FEWEST {
            self.mostly_failing += 1;
        } else {
            self.subjects
                .push(subject::examine(records, &options.limits, options.seed));
        }
    }

    fn tried(&self) -> usize {
        self.subjects.len() + self.rarely_failing + self.mostly_failing
    }
}

/// Makes a study and prints it: lines of figures, or a page of the book.
pub(crate) fn run(options: &Options) {
    let study = Study::of(options);
    match options.markdown {
        true => print!("{}", page::markdown(&study)),
        false => print!("{}", page::lines(&study)),
    }
}

impl Study {
    fn of(options: &Options) -> Self {
        let mut study = Study {
            options: options.clone(),
            stories: Group::default(),
            mutants: Group::default(),
            found: Vec::new(),
            targets: Vec::new(),
        };
        let all = raddle_stories::all().into_iter();
        for story in all.filter(|story| options.programs.contains(&story.name)) {
            study.add(&story);
            eprintln!("study: {} is done", story.name);
        }
        if options.seeds > 0 && !study.found.is_empty() {
            study.targets = targets::compare(&study.found);
        }
        study
    }

    fn add(&mut self, story: &Story) {
        let options = &self.options;
        let record = |name: String, body: fn(), mutant: Option<&str>| {
            let executions = options.limits.executions as u64;
            let (strategy, seed) = (Strategy::Random, options.seed);
            Records::of(name, story.name, body, mutant, &strategy, executions, seed)
        };
        self.stories
            .add(&record(story.name.to_owned(), story.buggy, None), options);
        let random = &mut Random::of(options.seed, story.name);
        for mutant in mutants::of(story.correct, options.mutants, random) {
            let name = format!("{} with {mutant}", story.name);
            let records = record(name, story.correct, Some(&mutant));
            self.mutants.add(&records, options);
        }
        if options.seeds > 0 {
            self.found
                .push(targets::search(story, options.seed, options.seeds));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_study_is_the_same_twice_and_says_how_small_it_is() {
        let words: Vec<&str> = "--quick --programs lost_update,withdraw,message --seed 3"
            .split(' ')
            .collect();
        let options = options(&words).unwrap();
        let study = Study::of(&options);
        let page = page::markdown(&study);
        assert_eq!(page, page::markdown(&Study::of(&options)));
        assert_eq!(study.stories.tried(), 3);
        assert!(page.contains("3 stories"), "{page}");
        assert!(page.contains("too small"), "{page}");
        assert!(page.matches("<svg ").count() == 2, "{page}");
        assert!(!page.contains("NaN") && !page.contains("inf "), "{page}");
        assert!(!page::lines(&study).is_empty());
    }
}
