//! Schedules as text that a person can read, edit and keep.
//!
//! ```text
//! raddle schedule 2
//! check tests::nothing_is_lost
//! main: begin, spawn main.1, spawn adder
//! main.1: begin, load counter
//! adder: begin, load counter, store counter, end
//! main.1: store counter, end
//! main: join main.1, join adder, load counter, end
//! ```
//!
//! There is one line for each stretch that a thread runs without interruption. An operation with
//! several outcomes is followed by the number of its outcome (`choose=1`). A name that is no plain
//! word is quoted. Lines may be joined with `;`; blank lines and text behind ` #` are ignored.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::iter::Peekable;
use std::str::Chars;
use std::sync::Arc;

use super::{CheckName, Schedule, ScheduleStep, TokenError};
use crate::base::outcome::Outcome;

const START: &str = "raddle schedule ";
const VERSION: u32 = 2;
const CHECK: &str = "check ";

pub(super) fn write(schedule: &Schedule, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{START}{VERSION}")?;
    if let Some(check) = &schedule.check {
        write!(f, "\n{CHECK}")?;
        write_name(&check.test, f)?;
        if check.number != 1 {
            write!(f, " {}", check.number)?;
        }
    }
    let mut last = None;
    for step in &schedule.steps {
        if last == Some(&step.thread) {
            f.write_str(", ")?;
        } else {
            f.write_str("\n")?;
            write_name(&step.thread, f)?;
            f.write_str(": ")?;
            last = Some(&step.thread);
        }
        write_step(step, f)?;
    }
    f.write_str("\n")
}

pub(super) fn write_step(step: &ScheduleStep, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match step.operation.is_empty() || step.operation.contains(is_special) {
        true => write_quoted(&step.operation, f)?,
        false => write_name(&step.operation, f)?,
    }
    for thing in &step.things {
        f.write_str(" ")?;
        write_name(thing, f)?;
    }
    if !step.outcome.is_first() || step.operation == "choose" {
        write!(f, "={}", step.outcome.number())?;
    }
    Ok(())
}

/// True for a character that ends a plain word.
fn is_special(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, ',' | ';' | ':' | '=' | '"' | '\\')
}

fn write_name(name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    // The `::` of a test's name does not end a word.
    let is_word = !name.replace("::", "").contains(is_special);
    if is_word && !name.is_empty() && !name.starts_with(['#', ':']) && !name.ends_with(':') {
        return f.write_str(name);
    }
    write_quoted(name, f)
}

fn write_quoted(name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_char('"')?;
    for c in name.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

/// A reason why a text is not a schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScheduleError {
    /// The text does not start with the header of a schedule.
    NotASchedule,
    /// Another version of raddle wrote it.
    Version(u32),
    /// A line cannot be read.
    Line {
        /// Number of the line from 1, the header included.
        line: usize,
        /// Text that was found.
        text: String,
        /// Problem with it.
        problem: &'static str,
    },
    /// The text is an invalid token.
    Token(TokenError),
}

impl From<TokenError> for ScheduleError {
    fn from(error: TokenError) -> Self {
        ScheduleError::Token(error)
    }
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScheduleError::NotASchedule => write!(
                f,
                "not a schedule: the first line must be `{START}{VERSION}`"
            ),
            ScheduleError::Version(version) => other_version(f, "schedule", *version, VERSION),
            ScheduleError::Line {
                line,
                text,
                problem,
            } => {
                write!(f, "line {line} of the schedule, `{text}`: {problem}")
            }
            ScheduleError::Token(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ScheduleError {}

/// Writes the message about a schedule or token that another version of raddle wrote.
pub(super) fn other_version(
    f: &mut fmt::Formatter<'_>,
    what: &str,
    found: u32,
    known: u32,
) -> fmt::Result {
    let (age, help) = if found < known {
        ("an older", "run the test again to get a new one")
    } else {
        (
            "a newer",
            "update raddle, or run the test again to get a new one",
        )
    };
    write!(
        f,
        "a {what} of version {found}, which {age} raddle wrote; this one reads version {known}: {help}"
    )
}

pub(super) fn read(text: &str) -> Result<Schedule, ScheduleError> {
    let mut lines = lines(text).into_iter();
    let version = lines
        .next()
        .and_then(|(_, line)| line.strip_prefix(START)?.trim().parse().ok());
    match version {
        Some(VERSION) => {}
        Some(version) => return Err(ScheduleError::Version(version)),
        None => return Err(ScheduleError::NotASchedule),
    }
    let mut schedule = Schedule::default();
    for (number, line) in lines {
        read_line(line, &mut schedule).map_err(|problem| ScheduleError::Line {
            line: number,
            text: line.to_owned(),
            problem,
        })?;
    }
    Ok(schedule)
}

/// Returns the lines that have content, with their numbers and without comments.
fn lines(text: &str) -> Vec<(usize, &str)> {
    let mut lines = Vec::new();
    let (mut start, mut comment) = (0, None);
    let (mut quoted, mut escaped, mut after_space) = (false, false, true);
    let end_of_text = [(text.len(), '\n')];
    let mut number = 1;
    for (position, c) in text.char_indices().chain(end_of_text) {
        match c {
            '\n' | ';' if !(quoted && c == ';') && (comment.is_none() || c == '\n') => {
                let line = text[start..comment.unwrap_or(position)].trim();
                if !line.is_empty() {
                    lines.push((number, line));
                }
                number += 1;
                (start, comment, quoted) = (position + c.len_utf8(), None, false);
            }
            '"' if !escaped && comment.is_none() => quoted = !quoted,
            '#' if after_space && !quoted && comment.is_none() => comment = Some(position),
            _ => {}
        }
        escaped = quoted && c == '\\' && !escaped;
        after_space = c.is_whitespace() || c == ';';
    }
    lines
}

fn read_line(line: &str, schedule: &mut Schedule) -> Result<(), &'static str> {
    let mut words = Words(line.chars().peekable());
    if let Some(check) = line.strip_prefix(CHECK)
        && schedule.steps.is_empty()
        && !check.trim_start().starts_with(':')
    {
        let mut words = Words(check.chars().peekable());
        let test = words.name(true)?.ok_or("the test has no name")?;
        let number = match words.name(false)? {
            None => 1,
            Some(number) => number
                .parse()
                .ok()
                .filter(|&number| number > 0)
                .ok_or("the number of the check is not a number")?,
        };
        schedule.check = Some(CheckName { test, number });
        return words.end();
    }
    let thread = words.name(true)?.ok_or("there is no `thread:`")?;
    if !words.take(':') {
        return Err("there is no `thread:`");
    }
    let thread: Arc<str> = Arc::from(thread);
    loop {
        let Some(operation) = words.name(false)? else {
            return words.end();
        };
        let mut step = ScheduleStep {
            thread: Arc::clone(&thread),
            operation: Cow::Owned(operation),
            things: Vec::new(),
            outcome: Outcome::FIRST,
        };
        while let Some(thing) = words.name(true)? {
            step.things.push(Arc::from(thing));
        }
        if words.take('=') {
            let outcome = words.name(false)?.unwrap_or_default();
            let number = outcome.parse().map_err(|_| "an outcome is not a number")?;
            step.outcome = Outcome::nth(number);
        }
        schedule.steps.push(step);
        if !words.take(',') {
            return words.end();
        }
    }
}

/// The rest of a line.
struct Words<'a>(Peekable<Chars<'a>>);

impl Words<'_> {
    fn skip_space(&mut self) {
        while self.0.next_if(|c| c.is_whitespace()).is_some() {}
    }

    fn take(&mut self, c: char) -> bool {
        self.skip_space();
        self.0.next_if_eq(&c).is_some()
    }

    /// Reads a plain word or a quoted one; `::` is part of a plain word if `colons` is true.
    fn name(&mut self, colons: bool) -> Result<Option<String>, &'static str> {
        self.skip_space();
        if self.0.next_if_eq(&'"').is_some() {
            return self.quoted().map(Some);
        }
        let mut name = String::new();
        loop {
            if let Some(c) = self.0.next_if(|&c| !is_special(c)) {
                name.push(c);
                continue;
            }
            let mut ahead = self.0.clone();
            if colons && ahead.next() == Some(':') && ahead.next() == Some(':') {
                self.0 = ahead;
                name.push_str("::");
                continue;
            }
            return Ok((!name.is_empty()).then_some(name));
        }
    }

    fn quoted(&mut self) -> Result<String, &'static str> {
        let mut name = String::new();
        loop {
            match self.0.next().ok_or("a quote is not closed")? {
                '"' => return Ok(name),
                '\\' => match self.0.next().ok_or("a quote is not closed")? {
                    'n' => name.push('\n'),
                    c => name.push(c),
                },
                c => name.push(c),
            }
        }
    }

    fn end(&mut self) -> Result<(), &'static str> {
        self.skip_space();
        match self.0.peek() {
            None => Ok(()),
            Some(_) => Err("steps are separated by `,`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "raddle schedule 2\ncheck tests::it 2\nmain: begin, spawn a::b\n\
                        a::b: begin, choose=0, receive Port#1 \"my; port\"=3\nmain: load x[0]\n\
                        a::b: choose=2, end\nmain: join a::b, end\n";

    #[test]
    fn text_makes_an_exact_round_trip() {
        let schedule: Schedule = TEXT.parse().unwrap();
        assert_eq!(schedule.steps.len(), 10);
        assert_eq!(schedule.steps[4].outcome, Outcome::nth(3));
        assert_eq!(
            schedule.steps[4].things,
            [Arc::from("Port#1"), Arc::from("my; port")]
        );
        assert_eq!(schedule.check.as_ref().unwrap().number, 2);
        assert_eq!(schedule.to_string(), TEXT);
        let one_line = TEXT.trim_end().replace('\n', "; ");
        assert_eq!(one_line.parse(), Ok(schedule));
    }

    #[test]
    fn odd_names_come_back_as_they_were() {
        for name in [
            "", " ", "a b", "#1", "a#1", "x # y", "\"", "\\", "a\nb", "a:", ":", "::", "::a",
            "a::b", "1=2",
        ] {
            let step = ScheduleStep {
                thread: Arc::from(name),
                // Tokens can spell any name.
                operation: Cow::Borrowed(name),
                things: vec![Arc::from(name), Arc::from(name)],
                outcome: Outcome::nth(1),
            };
            let check = CheckName {
                test: name.to_owned(),
                number: 1,
            };
            let schedule = Schedule {
                check: Some(check),
                steps: vec![step],
            };
            assert_eq!(schedule.to_string().parse(), Ok(schedule), "{name:?}");
        }
    }

    #[test]
    fn comments_and_blank_lines_are_ignored() {
        let commented = TEXT.replace("main: load", "\n# here; it happens\nmain:load");
        let commented = commented.replace("x[0]", "x[0] # \"!");
        assert_eq!(commented.parse::<Schedule>(), TEXT.parse());
    }

    #[test]
    fn bad_text_is_named() {
        let problem = |text: &str| text.parse::<Schedule>().unwrap_err().to_string();
        assert_eq!(
            problem(""),
            "not a schedule: the first line must be `raddle schedule 2`"
        );
        assert_eq!(
            problem("raddle schedule 1\nmain: begin"),
            "a schedule of version 1, which an older raddle wrote; this one reads version 2: run \
             the test again to get a new one"
        );
        assert_eq!(
            problem("raddle schedule 7\nmain: begin"),
            "a schedule of version 7, which a newer raddle wrote; this one reads version 2: \
             update raddle, or run the test again to get a new one"
        );
        for (line, found) in [
            ("main begin", "there is no `thread:`"),
            (": begin", "there is no `thread:`"),
            ("main: choose=x", "an outcome is not a number"),
            ("main: choose=1 2", "steps are separated by `,`"),
            ("main: lock \"m", "a quote is not closed"),
            ("check a 0", "the number of the check is not a number"),
        ] {
            assert_eq!(
                problem(&format!("raddle schedule 2; {line}")),
                format!("line 2 of the schedule, `{line}`: {found}")
            );
        }
    }
}
