//! Schedules: what ran when, as text that a person can read, edit and paste.
//!
//! ```text
//! raddle schedule 1
//! main: begin spawn spawn
//! main.1: begin load
//! main.2: begin load store end
//! main.1: store end
//! main: join join load end
//! ```
//!
//! One line for each stretch that a thread runs without interruption. Threads are named by who
//! created them (`main.2` is the second thread that `main` created), which no schedule changes.
//! An operation with several outcomes says which one it had (`choose=1`). Lines may be joined
//! with `;`, blank lines and text behind `#` are ignored.

use std::fmt;
use std::str::FromStr;

use crate::event::Operation;
use crate::execution::Execution;

const HEADER: &str = "raddle schedule 1";

/// A thread's place in the tree of creations: `main`, `main.2`, `main.2.1`, ...
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ThreadPath(Vec<u32>);

impl ThreadPath {
    /// The path that follows these steps from the main thread; 1 is the first thread created.
    pub fn new(steps: Vec<u32>) -> Self {
        ThreadPath(steps)
    }

    /// Which child to take at each level, counted from 1.
    pub fn steps(&self) -> &[u32] {
        &self.0
    }
}

impl fmt::Display for ThreadPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("main")?;
        self.0.iter().try_for_each(|step| write!(f, ".{step}"))
    }
}

impl FromStr for ThreadPath {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split('.');
        if parts.next() != Some("main") {
            return Err(());
        }
        let step = |part: &str| match part.parse() {
            Ok(step) if step > 0 && !part.starts_with('+') => Ok(step),
            _ => Err(()),
        };
        parts.map(step).collect::<Result<_, _>>().map(ThreadPath)
    }
}

/// One step of a schedule.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ScheduleStep {
    /// Who.
    pub thread: ThreadPath,
    /// Does what: the operation's label.
    pub operation: String,
    /// With which outcome; 0 for operations that have only one.
    pub outcome: u32,
}

/// A schedule: which thread did what, in which order.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Schedule {
    /// The steps in order.
    pub steps: Vec<ScheduleStep>,
}

impl Schedule {
    /// The schedule that this execution followed.
    pub fn of(execution: &Execution) -> Self {
        let step = |event: &crate::event::Event| ScheduleStep {
            thread: execution.path(event.id.thread),
            operation: event.operation.label().to_owned(),
            outcome: event.outcome,
        };
        Schedule {
            steps: execution.events.iter().map(step).collect(),
        }
    }

    /// The schedule on one line, for a shell variable.
    pub fn one_line(&self) -> String {
        self.to_string().trim_end().replace('\n', "; ")
    }
}

impl ScheduleStep {
    /// Whether this is a step with this operation.
    pub(crate) fn fits(&self, operation: &Operation) -> bool {
        self.operation == operation.label()
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEADER)?;
        let mut last = None;
        for step in &self.steps {
            if last != Some(&step.thread) {
                write!(f, "\n{}:", step.thread)?;
                last = Some(&step.thread);
            }
            write!(f, " {}", step.operation)?;
            if step.outcome != 0 || step.operation == "choose" {
                write!(f, "={}", step.outcome)?;
            }
        }
        f.write_str("\n")
    }
}

/// Why a text is not a schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScheduleError {
    /// It does not start as schedules do.
    NotASchedule,
    /// It was written by another version of raddle.
    Version(String),
    /// A line cannot be read.
    Line {
        /// Counted from 1, the header included.
        line: usize,
        /// What was found.
        text: String,
        /// What is wrong with it.
        problem: &'static str,
    },
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScheduleError::NotASchedule => {
                write!(f, "not a schedule: the first line must be `{HEADER}`")
            }
            ScheduleError::Version(version) => write!(
                f,
                "a schedule of version `{version}`, but this version of raddle reads `{HEADER}`: \
                 run the test again to get a new one"
            ),
            ScheduleError::Line {
                line,
                text,
                problem,
            } => {
                write!(f, "line {line} of the schedule, `{text}`: {problem}")
            }
        }
    }
}

impl std::error::Error for ScheduleError {}

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let mut lines = text
            .split(['\n', ';'])
            .enumerate()
            .map(|(number, line)| (number + 1, line.split('#').next().unwrap_or("").trim()))
            .filter(|(_, line)| !line.is_empty());
        match lines.next() {
            Some((_, HEADER)) => {}
            Some((_, line)) => match line.strip_prefix("raddle schedule ") {
                Some(version) => return Err(ScheduleError::Version(version.trim().to_owned())),
                None => return Err(ScheduleError::NotASchedule),
            },
            None => return Err(ScheduleError::NotASchedule),
        }
        let mut steps = Vec::new();
        for (number, line) in lines {
            parse_line(line, &mut steps).map_err(|problem| ScheduleError::Line {
                line: number,
                text: line.to_owned(),
                problem,
            })?;
        }
        Ok(Schedule { steps })
    }
}

fn parse_line(line: &str, steps: &mut Vec<ScheduleStep>) -> Result<(), &'static str> {
    let (thread, operations) = line.split_once(':').ok_or("there is no `thread:`")?;
    let thread: ThreadPath = thread
        .trim()
        .parse()
        .map_err(|()| "the thread is not `main` or like `main.2.1`")?;
    for word in operations.split_whitespace() {
        let (operation, outcome) = match word.split_once('=') {
            None => (word, 0),
            Some((operation, outcome)) => (
                operation,
                outcome.parse().map_err(|_| "an outcome is not a number")?,
            ),
        };
        if operation.is_empty() {
            return Err("an operation has no name");
        }
        steps.push(ScheduleStep {
            thread: thread.clone(),
            operation: operation.into(),
            outcome,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "raddle schedule 1\nmain: begin spawn\nmain.1: begin choose=0\n\
                        main: load\nmain.1: choose=2 end\nmain: join end\n";

    #[test]
    fn text_makes_an_exact_round_trip() {
        let schedule: Schedule = TEXT.parse().unwrap();
        assert_eq!(schedule.steps.len(), 9);
        assert_eq!(schedule.steps[5].outcome, 2);
        assert_eq!(schedule.to_string(), TEXT);
        assert_eq!(schedule.one_line().parse(), Ok(schedule));
    }

    #[test]
    fn comments_and_blank_lines_are_ignored() {
        let commented = TEXT.replace("main: load", "\n# here it happens\nmain: load # !");
        assert_eq!(commented.parse::<Schedule>(), TEXT.parse());
    }

    #[test]
    fn bad_text_is_named() {
        let problem = |text: &str| text.parse::<Schedule>().unwrap_err().to_string();
        assert_eq!(
            problem(""),
            "not a schedule: the first line must be `raddle schedule 1`"
        );
        assert_eq!(
            problem("raddle schedule 7\nmain: begin"),
            "a schedule of version `7`, but this version of raddle reads `raddle schedule 1`: \
             run the test again to get a new one"
        );
        assert_eq!(
            problem("raddle schedule 1\nmain begin"),
            "line 2 of the schedule, `main begin`: there is no `thread:`"
        );
        assert_eq!(
            problem("raddle schedule 1\nmain: begin\nmain.0: begin"),
            "line 3 of the schedule, `main.0: begin`: the thread is not `main` or like `main.2.1`"
        );
        assert_eq!(
            problem("raddle schedule 1; main: choose=x"),
            "line 2 of the schedule, `main: choose=x`: an outcome is not a number"
        );
    }
}
