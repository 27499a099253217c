//! Partial traces as text.
//!
//! ```text
//! # a comment
//! ordered
//! worker  src/pool.rs:31
//! worker  src/pool.rs:35 lock
//! main    at src/pool.rs:50
//! ```
//!
//! A name with white space stands in double quotes.

use std::fmt;
use std::str::FromStr;

use super::{LogLine, LogPlace, PartialTrace, ThreadLog};

/// A text that is not a partial trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialTraceError {
    line: u32,
    problem: String,
}

impl fmt::Display for PartialTraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PartialTraceError { line, problem } = self;
        if *line > 0 {
            write!(f, "line {line}: ")?;
        }
        write!(
            f,
            "{problem}; a line of a partial trace is `THREAD FILE:LINE`, `THREAD FILE:LINE OPERATION` or \
             `THREAD at FILE:LINE`"
        )
    }
}

impl std::error::Error for PartialTraceError {}

/// Splits a line into words. A word in double quotes may contain white space.
fn words(line: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').ok_or("a quote is not closed")?,
            None => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    Ok(words)
}

impl LogPlace {
    /// Parses `FILE:LINE` or `FILE:LINE:COLUMN`.
    fn parse(text: &str, operation: Option<String>) -> Option<Self> {
        let number = |text: &str| text.parse::<u32>().ok().filter(|&it| it > 0);
        let (before, last) = text.rsplit_once(':')?;
        let last = number(last)?;
        let with_column = before
            .rsplit_once(':')
            .and_then(|(file, line)| Some((file, number(line)?)));
        let (file, line, column) = match with_column {
            Some((file, line)) => (file, line, Some(last)),
            None => (before, last, None),
        };
        (!file.is_empty()).then(|| LogPlace {
            file: file.to_owned(),
            line,
            column,
            operation,
        })
    }
}

impl FromStr for PartialTrace {
    type Err = PartialTraceError;

    fn from_str(text: &str) -> Result<Self, PartialTraceError> {
        let mut trace = PartialTrace::default();
        for (line, content) in (1..).zip(text.lines()) {
            let content = content.trim();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            if content == "ordered" {
                trace.is_ordered = true;
                continue;
            }
            let error = |problem: String| PartialTraceError { line, problem };
            let words = words(content).map_err(|it| error(it.to_owned()))?;
            let (thread, rest) = words.split_first().expect("the line is not empty");
            let is_at = rest.first().is_some_and(|word| word == "at");
            let mut rest = rest.iter().skip(usize::from(is_at));
            let (place, operation, more) = (rest.next(), rest.next(), rest.next());
            if let Some(more) = more {
                return Err(error(format!("`{more}` is too much")));
            }
            let place = place.ok_or_else(|| error("the place is missing".to_owned()))?;
            let place = LogPlace::parse(place, operation.cloned())
                .ok_or_else(|| error(format!("`{place}` is not a place")))?;
            let known = trace.threads.iter().position(|it| it.thread == *thread);
            let log = match known {
                Some(known) => &mut trace.threads[known],
                None => {
                    trace.threads.push(ThreadLog {
                        thread: thread.clone(),
                        passed: Vec::new(),
                        at: Vec::new(),
                    });
                    trace.threads.last_mut().expect("it was just pushed")
                }
            };
            match is_at {
                true => log.at.push(place),
                false if !log.at.is_empty() => {
                    let problem = format!("`{thread}` goes on after the place it was at");
                    return Err(error(problem));
                }
                false => log.passed.push(LogLine { line, place }),
            }
        }
        match trace.threads.is_empty() {
            true => Err(PartialTraceError {
                line: 0,
                problem: "there is no line of a thread".to_owned(),
            }),
            false => Ok(trace),
        }
    }
}
