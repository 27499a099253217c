//! Schedules: the order of operations, in names that survive edits of the program.
//!
//! A step names a thread, an operation, and the things it uses. The second step of a thread with
//! the same operation on the same thing stands for the second such operation, whatever comes in
//! between. So nothing depends on positions, and operations that a schedule does not mention may be
//! added or removed.
//!
//! There are two forms: text to read, edit and keep, and a short token to paste.

mod digits;
mod text;
mod token;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::event::Event;
use super::execution::Execution;
use super::naming::Names;
use crate::base::outcome::Outcome;

pub use text::ScheduleError;
pub use token::TokenError;

/// A thread's path in the tree of creations: `main`, `main.2`, `main.2.1`, ...
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ThreadPath(Vec<u32>);

impl ThreadPath {
    /// Creates the path of these steps from the main thread; 1 is the first thread created.
    pub fn new(steps: Vec<u32>) -> Self {
        ThreadPath(steps)
    }

    /// Returns the number of the child at each level, counted from 1.
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
    /// Thread: its name if no other has it, or else its path in the tree of creations.
    pub thread: Arc<str>,
    /// Label of the operation.
    pub operation: Cow<'static, str>,
    /// Things that the operation uses: by label, or by kind, with a number if there are several.
    pub things: Vec<Arc<str>>,
    /// Outcome; 0 for operations that have only one.
    pub outcome: Outcome,
}

/// The check that a schedule belongs to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CheckName {
    /// Name of the test.
    pub test: String,
    /// Number of the check within the test, counted from 1.
    pub number: u32,
}

impl fmt::Display for CheckName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            1 => write!(f, "`{}`", self.test),
            number => write!(f, "check {number} of `{}`", self.test),
        }
    }
}

/// A schedule: the operations of all threads, in order.
///
/// `Display` writes it as text, and text and tokens can be parsed.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Schedule {
    /// Check that the schedule was made by, if it is known.
    pub check: Option<CheckName>,
    /// Steps in order.
    pub steps: Vec<ScheduleStep>,
}

impl Schedule {
    /// Returns the schedule of this execution.
    pub fn of(execution: &Execution) -> Self {
        Schedule::of_first(usize::MAX, execution)
    }

    /// The first steps of the schedule that this execution followed, at most `most` of them.
    pub fn of_first(most: usize, execution: &Execution) -> Self {
        let names = Names::of(execution);
        let step = |event: &Event| ScheduleStep {
            thread: names.thread(event.id.thread),
            operation: Cow::Borrowed(event.operation.label()),
            things: names.of_event(event, execution),
            outcome: event.outcome,
        };
        Schedule {
            check: None,
            steps: execution.events.iter().take(most).map(step).collect(),
        }
    }

    /// Encodes the schedule as a token: one short word, with a checksum.
    pub fn to_token(&self) -> String {
        token::encode(self)
    }

    /// Decodes a token of [`to_token`](Self::to_token).
    pub fn from_token(token: &str) -> Result<Self, TokenError> {
        token::decode(token)
    }
}

/// Returns a token of any bytes, with a valid checksum, for tests of the decoder.
#[doc(hidden)]
pub fn seal_token(body: &[u8]) -> String {
    token::seal(body)
}

impl fmt::Display for ScheduleStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write_step(self, f)
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write(self, f)
    }
}

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        if token::looks_like_one(text.trim()) {
            return Ok(token::decode(text.trim())?);
        }
        text::read(text)
    }
}
