//! What a search has learnt about a failure beyond its schedule: the reason, the change that removes it, the most
//! similar execution that passes. It is saved as comments behind the schedule and shown when the schedule fails again.
//!
//! It applies to a later failure only if that is the same failure: the same kind, message and steps, which contain
//! their sites in the source. Statements about all executions, such as "this does not happen in any of its classes",
//! apply only to the same build of the program under the same settings.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

use raddle_engine::Schedule;
use raddle_report::{CriticalPair, Failure, Mark, Minimised, Place};

use crate::program::build_fingerprint;
use crate::settings::checker::Checker;

/// Beginning of a line that has a part of it.
const MARK: &str = "# learnt ";
/// Beginning of the note about a minimisation that ran out of time.
pub(crate) const MAYBE_SHORTER: &str = "there may be a shorter story";

/// An execution as its number of preemptions and its schedule.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SavedExecution {
    pub(crate) preemptions: u32,
    pub(crate) schedule: Schedule,
}

/// Explanation of one failure.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Learnt {
    /// Identity of the failure.
    failure: String,
    /// Identity of the program and the settings.
    program: String,
    /// The message, with the change that removes the failure as its last line.
    message: String,
    /// With such a change, the marks of causes, which include those of the change.
    pub(crate) marks: Vec<Mark>,
    pub(crate) note: Option<String>,
    pub(crate) critical: Option<CriticalPair>,
    pub(crate) passing: Option<SavedExecution>,
    pub(crate) found: Option<SavedExecution>,
    pub(crate) minimised: Option<Minimised>,
}

/// How much of an explanation applies to a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Applies {
    /// All of it.
    Whole,
    /// Statements about single executions.
    Executions,
    /// Nothing: it is another failure.
    Not,
}

impl Learnt {
    /// Extracts the explanation of a failure; `None` if there is none.
    pub(crate) fn of(failure: &Failure, settings: &str) -> Option<Self> {
        let hint = failure.message.lines().last();
        let has_hint = hint.is_some_and(|line| line.starts_with("help: with `"));
        if failure.minimised.is_none() && !has_hint {
            return None;
        }
        let execution = |text: &str, preemptions| {
            let schedule = text.parse().ok()?;
            Some(SavedExecution {
                preemptions,
                schedule,
            })
        };
        let mut notes = failure.notes.iter();
        let causes = failure.marks.iter().filter(|mark| !mark.is_primary);
        Some(Learnt {
            failure: identity(failure),
            program: program(settings),
            message: failure.message.clone(),
            marks: match has_hint {
                true => causes.cloned().collect(),
                false => Vec::new(),
            },
            note: notes.find(|note| note.starts_with(MAYBE_SHORTER)).cloned(),
            critical: failure.critical.clone(),
            passing: (failure.passing.as_ref())
                .and_then(|it| execution(&it.schedule, it.preemptions)),
            found: (failure.found.as_ref()).and_then(|it| execution(&it.schedule, it.preemptions)),
            minimised: failure.minimised,
        })
    }

    /// Returns how much of it applies to a failure that has just occurred under these settings.
    pub(crate) fn applies_to(&self, failure: &Failure, settings: &str) -> Applies {
        let is_same = self.failure == identity(failure) && self.hint(failure).is_some();
        match is_same {
            false => Applies::Not,
            true if self.program == program(settings) => Applies::Whole,
            true => Applies::Executions,
        }
    }

    /// Returns the lines that its message has in addition; `None` if the messages differ otherwise.
    pub(crate) fn hint(&self, failure: &Failure) -> Option<&str> {
        let rest = self.message.strip_prefix(&failure.message)?;
        (rest.is_empty() || rest.starts_with('\n')).then_some(rest)
    }

    /// Returns its lines, to be added to the text of the schedule.
    pub(crate) fn to_comments(&self) -> String {
        let mut lines = String::new();
        let mut line = |name: &str, value: &str| {
            let value = value.replace('\\', "\\\\").replace('\n', "\\n");
            let _ = writeln!(lines, "{MARK}{name} {value}");
        };
        line("failure", &self.failure);
        line("program", &self.program);
        line("message", &self.message);
        if !self.marks.is_empty() {
            let marks = self.marks.iter().map(|Mark { place, what, .. }| {
                let Place { file, line, column } = place;
                format!("{line} {column} {file}\n{what}\n")
            });
            line("marks", &marks.collect::<String>());
        }
        if let Some(note) = &self.note {
            line("note", note);
        }
        if let Some(pair) = &self.critical {
            let second = pair.second.map_or("-".to_owned(), |step| step.to_string());
            let about = if pair.is_about { "about" } else { "beside" };
            line(
                "pair",
                &format!("{} {second} {about} {}", pair.first, pair.why),
            );
        }
        for (name, execution) in [("passing", &self.passing), ("found", &self.found)] {
            if let Some(it) = execution {
                line(
                    name,
                    &format!("{} {}", it.preemptions, it.schedule.to_token()),
                );
            }
        }
        if let Some(it) = &self.minimised {
            let numbers = format!(
                "{} {} {} {} {} {}",
                it.preemptions_before,
                it.preemptions_after,
                it.events_before,
                it.events_after,
                it.runs,
                u8::from(it.is_minimal)
            );
            line("minimised", &numbers);
        }
        lines
    }

    /// Reads the lines in the text of a schedule; `None` if there are none, or one cannot be read.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let lines = text.lines().filter_map(|line| line.strip_prefix(MARK));
        let parts: BTreeMap<&str, String> = lines
            .filter_map(|line| line.split_once(' '))
            .map(|(name, value)| (name, unescaped(value)))
            .collect();
        let part = |name: &str| parts.get(name).cloned();
        /// `None` if the part is there and cannot be read.
        fn read<T>(part: Option<String>, read: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
            match part {
                None => Some(None),
                Some(text) => read(&text).map(Some),
            }
        }
        let execution = |text: &str| {
            let (preemptions, token) = text.split_once(' ')?;
            Some(SavedExecution {
                preemptions: preemptions.parse().ok()?,
                schedule: Schedule::from_token(token).ok()?,
            })
        };
        Some(Learnt {
            failure: part("failure")?,
            program: part("program")?,
            message: part("message")?,
            marks: read(part("marks"), marks)?.unwrap_or_default(),
            note: part("note"),
            critical: read(part("pair"), pair)?,
            passing: read(part("passing"), execution)?,
            found: read(part("found"), execution)?,
            minimised: read(part("minimised"), minimised)?,
        })
    }
}

/// Returns the text of a failure's schedule, with the explanation if there is one.
pub(crate) fn with_schedule(failure: &Failure, schedule: &Schedule, settings: &str) -> String {
    let mut text = schedule.to_string();
    if let Some(learnt) = Learnt::of(failure, settings) {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text += &learnt.to_comments();
    }
    text
}

/// Returns the settings that decide which executions a program has.
pub(crate) fn settings(checker: &Checker) -> String {
    format!("{:?} {:?}", checker.memory, checker.policy())
}

/// Identity of a failure: its kind, and its steps with their sites. The message is compared apart.
fn identity(failure: &Failure) -> String {
    let mut hasher = DefaultHasher::new();
    for step in &failure.trace.steps {
        (step.thread, &step.what, &step.place, step.waits).hash(&mut hasher);
    }
    format!("{:?} {:016x}", failure.kind, hasher.finish())
}

fn program(settings: &str) -> String {
    format!("{} {settings}", build_fingerprint())
}

fn pair(text: &str) -> Option<CriticalPair> {
    let mut parts = text.splitn(4, ' ');
    let mut next = || parts.next();
    Some(CriticalPair {
        first: next()?.parse().ok()?,
        second: match next()? {
            "-" => None,
            step => Some(step.parse().ok()?),
        },
        is_about: next()? == "about",
        why: next()?.to_owned(),
    })
}

/// Reads marks of causes, each a line with the place and one with the words.
fn marks(text: &str) -> Option<Vec<Mark>> {
    let lines: Vec<&str> = text.lines().collect();
    let mark = |lines: &[&str]| {
        let [place, what] = lines.try_into().ok()?;
        let mut parts = str::splitn(place, 3, ' ');
        let (line, column) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let file = parts.next()?.to_owned();
        Some(Mark {
            place: Place { file, line, column },
            what: str::to_owned(what),
            is_primary: false,
        })
    };
    lines.chunks(2).map(mark).collect()
}

fn minimised(text: &str) -> Option<Minimised> {
    let numbers: Option<Vec<u64>> = text.split(' ').map(|number| number.parse().ok()).collect();
    let [before, after, events_before, events_after, runs, is_minimal] =
        numbers?.try_into().ok()?;
    Some(Minimised {
        preemptions_before: before.try_into().ok()?,
        preemptions_after: after.try_into().ok()?,
        events_before: events_before.try_into().ok()?,
        events_after: events_after.try_into().ok()?,
        runs,
        is_minimal: is_minimal == 1,
    })
}

fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('n') => plain.push('\n'),
                other => plain.extend(other),
            },
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Learnt {
        let schedule: Schedule = "raddle schedule 2; main: begin, choose=1".parse().unwrap();
        let execution = |preemptions| SavedExecution {
            preemptions,
            schedule: schedule.clone(),
        };
        let mark = |line| Mark {
            place: Place {
                file: "C:\\my files\\a.rs".to_owned(),
                line,
                column: 5,
            },
            what: "with `Release` instead of `Relaxed` here this does not happen".to_owned(),
            is_primary: false,
        };
        Learnt {
            failure: "Panic 0123".to_owned(),
            program: "ab Rc11".to_owned(),
            message: "a \\ in\nthree\nlines".to_owned(),
            marks: [3, 14].map(mark).into(),
            note: Some(format!(
                "{MAYBE_SHORTER}: the search for it ended after 5 s"
            )),
            critical: Some(CriticalPair {
                first: 3,
                second: None,
                why: "fails when `a` comes; before # `b`".to_owned(),
                is_about: true,
            }),
            passing: Some(execution(0)),
            found: Some(execution(2)),
            minimised: Some(Minimised {
                preemptions_before: 2,
                preemptions_after: 1,
                events_before: 20,
                events_after: 10,
                runs: 300,
                is_minimal: true,
            }),
        }
    }

    #[test]
    fn comments_are_read_as_they_were_written() {
        let whole = example();
        let bare = Learnt {
            marks: Vec::new(),
            note: None,
            critical: None,
            passing: None,
            found: None,
            minimised: None,
            ..example()
        };
        let schedule = "raddle schedule 2\nmain: begin, end\n";
        for learnt in [whole, bare] {
            let text = format!("{schedule}{}", learnt.to_comments());
            assert_eq!(Learnt::parse(&text), Some(learnt));
            assert_eq!(text.parse::<Schedule>(), schedule.parse());
        }
        assert_eq!(Learnt::parse(schedule), None);
    }

    #[test]
    fn damaged_comments_say_nothing() {
        let text = example().to_comments();
        for (part, damaged) in [
            ("minimised 2 ", "minimised x "),
            ("passing 0 r1.", "passing 0 r9."),
            ("pair 3 -", "pair"),
            ("marks 3 5 ", "marks 3 "),
            ("\\n14 5 ", "\\n"),
            ("# learnt program", "# program"),
        ] {
            assert!(text.contains(part), "{part}");
            assert_eq!(
                Learnt::parse(&text.replacen(part, damaged, 1)),
                None,
                "{part}"
            );
        }
    }
}
