//! Changes of a program and what came of them: as text, JSON, JUnit XML and a page.

pub mod junit;
pub mod page;

use std::fmt;

use console::style;
use serde_json::{Value, json};

use crate::output::plural::counted;
use crate::run::mutant::{Judgement, Mutant};
use crate::source::Mistake;
use crate::source::difference::unified;
use crate::toolchain::binaries::Test;

/// A change at a place of the source.
#[derive(Clone, Debug)]
pub struct Change {
    pub file: String,
    pub line: u32,
    pub column: u32,
    /// Operation with its orderings, or the operator of the mistake.
    pub operation: String,
    /// What becomes of it.
    pub change: String,
    /// The change as `RADDLE_MUTANT` takes it, if it is made at run time.
    pub variable: Option<String>,
    /// Difference of the source, if it is made there.
    pub difference: Option<String>,
}

impl Change {
    /// A change of an operation at run time.
    pub fn of_operation(mutant: &Mutant) -> Self {
        Change {
            file: mutant.file.clone(),
            line: mutant.line,
            column: mutant.column,
            operation: mutant.operation.clone(),
            change: mutant.change.clone(),
            variable: Some(mutant.variable()),
            difference: None,
        }
    }

    /// A change of the source, whose text becomes `changed`.
    pub fn of_source(file: &str, mistake: &Mistake, text: &str, changed: &str) -> Self {
        Change {
            file: file.to_owned(),
            line: mistake.line,
            column: mistake.column,
            operation: mistake.operator.to_string(),
            change: mistake.what.clone(),
            variable: None,
            difference: Some(unified(file, text, changed)),
        }
    }

    /// Returns the tier as it is written in arguments.
    pub fn tier(&self) -> &'static str {
        match self.variable {
            Some(_) => "runtime",
            None => "source",
        }
    }

    /// Returns what changes, without the place.
    pub fn what(&self) -> String {
        match (&self.variable, self.change.as_str()) {
            (Some(_), "omit") => format!("{} -> left out", self.operation),
            (Some(_), change) => format!("{} -> {change}", self.operation),
            (None, change) => format!("{}: {change}", self.operation),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Change {
            file, line, column, ..
        } = self;
        write!(f, "{file}:{line}:{column}: {}", self.what())
    }
}

/// What came of a change.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// A test failed.
    Noticed { test: String, headline: String },
    /// Every test that reaches it passed.
    NotNoticed {
        is_exhaustive: bool,
        guarantee: String,
        load_buffering: bool,
    },
    /// A test came to no end.
    TimedOut { test: String, why: String },
    /// A test neither passed nor failed.
    Undecided { test: String, why: String },
    /// The changed source is no program.
    Unbuildable { why: String },
    /// No test reaches it.
    Unreached,
}

impl Outcome {
    /// The outcome of a change that tests have judged.
    pub fn judged(judgement: Judgement, tests: &[Test]) -> Self {
        let name = |test: usize| tests[test].name.clone();
        match judgement {
            Judgement::Killed { test, headline } => Outcome::Noticed {
                test: name(test),
                headline,
            },
            Judgement::Survived {
                is_exhaustive,
                guarantee,
                load_buffering,
            } => Outcome::NotNoticed {
                is_exhaustive,
                guarantee,
                load_buffering: !load_buffering.is_empty(),
            },
            Judgement::TimedOut { test, why } => Outcome::TimedOut {
                test: name(test),
                why,
            },
            Judgement::Undecided { test, why } => Outcome::Undecided {
                test: name(test),
                why,
            },
        }
    }

    /// Returns the outcome in one or two words, as in machine-readable output.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Noticed { .. } => "noticed",
            Outcome::NotNoticed { .. } => "not noticed",
            Outcome::TimedOut { .. } => "timed out",
            Outcome::Undecided { .. } => "undecided",
            Outcome::Unbuildable { .. } => "unbuildable",
            Outcome::Unreached => "not reached",
        }
    }

    /// Returns the reason in one line.
    pub fn explanation(&self) -> String {
        match self {
            Outcome::Noticed { test, headline } => format!("by {test}: {headline}"),
            Outcome::NotNoticed {
                is_exhaustive: true,
                load_buffering: true,
                ..
            } => "no behaviour of the checks that reach it shows a difference; load buffering, which the memory model does not have, may"
                .to_owned(),
            Outcome::NotNoticed {
                is_exhaustive: true,
                ..
            } => "every behaviour of the checks that reach it was run: it makes no difference to them".to_owned(),
            Outcome::NotNoticed { guarantee, .. } => match guarantee.as_str() {
                "" => "the tests that reach it have no checks".to_owned(),
                guarantee => format!("not every behaviour was run ({guarantee})"),
            },
            Outcome::TimedOut { test, why } | Outcome::Undecided { test, why } => {
                format!("{test}: {why}")
            }
            Outcome::Unbuildable { why } => why.clone(),
            Outcome::Unreached => "no test reaches it".to_owned(),
        }
    }
}

/// Returns the number of executions in a headline: `deadlock after 1,234 executions`.
fn executions(headline: &str) -> Option<u64> {
    let (_, after) = headline.rsplit_once(" after ")?;
    let (number, unit) = after.split_once(' ')?;
    let is_executions = unit.starts_with("execution");
    is_executions.then(|| number.replace(',', "").parse().ok())?
}

/// A change that was tried.
pub struct Tried {
    pub change: Change,
    pub outcome: Outcome,
}

/// Prints what came of a change.
pub fn print(change: &Change, outcome: &Outcome) {
    let word = outcome.word();
    let styled = match outcome {
        Outcome::Noticed { .. } => style(word).green(),
        Outcome::NotNoticed { .. } | Outcome::Unreached => style(word).red(),
        Outcome::TimedOut { .. } | Outcome::Undecided { .. } => style(word).yellow(),
        Outcome::Unbuildable { .. } => style(word).dim(),
    };
    let space = " ".repeat(13_usize.saturating_sub(word.len()));
    println!(
        "{styled}{space}{change}\n             {}",
        outcome.explanation()
    );
}

/// Returns a change as JSON, with its outcome if it was tried.
pub fn record(change: &Change, outcome: Option<&Outcome>) -> Value {
    let mut record = json!({
        "file": change.file,
        "line": change.line,
        "column": change.column,
        "tier": change.tier(),
        "operation": change.operation,
        "change": change.change,
    });
    if let Some(variable) = &change.variable {
        record["mutant"] = variable.as_str().into();
    }
    if let Some(difference) = &change.difference {
        record["diff"] = difference.as_str().into();
    }
    let Some(outcome) = outcome else {
        return record;
    };
    record["outcome"] = outcome.word().into();
    match outcome {
        Outcome::Noticed { test, headline } => {
            record["test"] = test.as_str().into();
            record["failure"] = headline.as_str().into();
            if let Some(executions) = executions(headline) {
                record["executions"] = executions.into();
            }
        }
        Outcome::NotNoticed {
            is_exhaustive,
            guarantee,
            load_buffering,
        } => {
            record["exhaustive"] = (*is_exhaustive).into();
            record["guarantee"] = guarantee.as_str().into();
            record["load_buffering"] = (*load_buffering).into();
        }
        Outcome::TimedOut { test, why } | Outcome::Undecided { test, why } => {
            record["test"] = test.as_str().into();
            record["why"] = why.as_str().into();
        }
        Outcome::Unbuildable { why } => record["why"] = why.as_str().into(),
        Outcome::Unreached => {}
    }
    record
}

/// Numbers of changes by their outcome.
#[derive(Default)]
pub struct Counts {
    all: usize,
    noticed: usize,
    exhaustive: usize,
    timed_out: usize,
    undecided: usize,
    unbuildable: usize,
    unreached: usize,
}

impl Counts {
    pub fn of(tried: &[Tried]) -> Self {
        let mut counts = Counts {
            all: tried.len(),
            ..Counts::default()
        };
        for one in tried {
            match one.outcome {
                Outcome::Noticed { .. } => counts.noticed += 1,
                Outcome::NotNoticed { is_exhaustive, .. } => {
                    counts.exhaustive += usize::from(is_exhaustive);
                }
                Outcome::TimedOut { .. } => counts.timed_out += 1,
                Outcome::Undecided { .. } => counts.undecided += 1,
                Outcome::Unbuildable { .. } => counts.unbuildable += 1,
                Outcome::Unreached => counts.unreached += 1,
            }
        }
        counts
    }

    /// True when every change that is a program was noticed.
    pub fn all_noticed(&self) -> bool {
        self.noticed + self.unbuildable == self.all
    }

    pub fn in_words(&self) -> String {
        let others = self.timed_out + self.undecided + self.unbuildable + self.unreached;
        let survived = self.all - self.noticed - others;
        let mut text = format!(
            "{}: {} noticed, {survived} not noticed",
            counted(self.all, "change", "changes"),
            self.noticed,
        );
        if self.exhaustive > 0 {
            text += &format!(" ({} although every behaviour was run)", self.exhaustive);
        }
        for (number, what) in [
            (self.timed_out, "timed out"),
            (self.undecided, "undecided"),
            (self.unreached, "not reached"),
            (self.unbuildable, "unbuildable"),
        ] {
            if number > 0 {
                text += &format!(", {number} {what}");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executions_are_read_from_headlines() {
        assert_eq!(executions("deadlock after 1 execution"), Some(1));
        assert_eq!(executions("data race after 1,234 executions"), Some(1234));
        assert_eq!(executions("its process ended after 3 s"), None);
        assert_eq!(executions("panicked"), None);
    }

    #[test]
    fn what_is_no_program_is_not_counted_as_missed() {
        let change = Change {
            file: "a.rs".to_owned(),
            line: 1,
            column: 2,
            operation: "logical".to_owned(),
            change: "`&&` becomes `||`".to_owned(),
            variable: None,
            difference: None,
        };
        assert_eq!(change.to_string(), "a.rs:1:2: logical: `&&` becomes `||`");
        let tried = |outcome| Tried {
            change: change.clone(),
            outcome,
        };
        let noticed = || {
            tried(Outcome::Noticed {
                test: String::new(),
                headline: String::new(),
            })
        };
        let unbuildable = || tried(Outcome::Unbuildable { why: String::new() });
        let counts = Counts::of(&[noticed(), unbuildable()]);
        assert!(counts.all_noticed());
        assert_eq!(
            counts.in_words(),
            "2 changes: 1 noticed, 0 not noticed, 1 unbuildable"
        );
        assert!(!Counts::of(&[noticed(), tried(Outcome::Unreached)]).all_noticed());
    }
}
