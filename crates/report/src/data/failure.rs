//! Failures, with everything needed to understand and to replay them.

use std::fmt;

use raddle_engine::Schedule;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::data::insight::{CriticalPair, Mark, Minimised, Race, Receive, RecordedExecution, Wait};
use crate::data::trace::Trace;

/// Kind of a failure.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum FailureKind {
    /// A thread panicked, and the panic was not handled.
    Panic,
    /// Threads block each other, or wait for an event that no thread can cause any more.
    Deadlock,
    /// A thread waits for ever, because it was notified before it waited.
    LostWakeup,
    /// Threads spin on values that no other thread is left to change.
    Livelock,
    /// A thread still waits, with no thread left to wake it, after the body of the check has ended.
    ThreadOutlives,
    /// Locks are acquired in inconsistent orders.
    LockOrder,
    /// Messages were sent and not received.
    Leak,
    /// The program behaves differently under the same schedule.
    Nondeterminism,
    /// An operation depends on a value that the program declares to be ignored.
    IgnoredValue,
    /// The program cannot follow the schedule that it should replay.
    ScheduleMismatch,
    /// An execution exceeded the limit of events, or had not ended when the time of the check was over. This
    /// need not be a bug: the cause may be an endless loop or a long test.
    TooLong,
    /// An execution exceeded another limit.
    Limit,
    /// No execution has the requested alternative.
    Impossible,
    /// No failure was found, but the check has reached less than the guarantee that it requires.
    Requirement,
    /// A thread does not reach its next scheduling point.
    Hang,
    /// Two accesses to a cell, at least one of them a write, without a happens-before edge.
    DataRace,
    /// Accesses that could race, although no execution was found that shows it: two of one cell that no common
    /// lock protects, or those of a race in a block or of variables that belong together.
    UnconfirmedRace,
    /// Another thread's use of a variable between two uses of it in a block, with values that no serial order of the
    /// blocks has.
    BlockRace,
    /// Two unordered uses of variables that belong together, in an execution that fails.
    MultiDataRace,
    /// Other threads' uses of variables that belong together between two uses of them in a block, with values that no
    /// serial order of the blocks has.
    MultiDataBlockRace,
    /// The order of labelled events violates a property of the check.
    Property,
    /// A thread used memory that was freed, dropped or never initialised.
    UseAfterFree,
    /// A native program freed a block that was freed before.
    DoubleFree,
    /// A program in C or C++ read memory that nothing had written.
    Uninitialised,
    /// A thread performed an action for which the operating system ends the process.
    Crash,
    /// An assertion of a program in C or C++ failed.
    Assertion,
    /// A program in C or C++ accessed memory outside of an allocated block.
    OutOfBounds,
    /// A program in C or C++ ended with a non-zero exit status.
    Exit,
    /// A thread that the check does not control used a value of an execution, or a program in C or
    /// C++ performed an action that raddle cannot control.
    Uncontrolled,
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FailureKind::Panic => "panic",
            FailureKind::Deadlock => "deadlock",
            FailureKind::LostWakeup => "lost wake-up",
            FailureKind::Livelock => "livelock",
            FailureKind::ThreadOutlives => "thread outlives the check",
            FailureKind::LockOrder => "lock order",
            FailureKind::Leak => "leak",
            FailureKind::Nondeterminism => "nondeterminism",
            FailureKind::IgnoredValue => "ignored value matters",
            FailureKind::ScheduleMismatch => "schedule does not fit",
            FailureKind::TooLong => "too long",
            FailureKind::Limit => "limit exceeded",
            FailureKind::Impossible => "impossible alternative",
            FailureKind::Requirement => "less than required",
            FailureKind::Hang => "hang",
            FailureKind::DataRace => "data race",
            FailureKind::UnconfirmedRace => "unconfirmed race",
            FailureKind::BlockRace => "block race",
            FailureKind::MultiDataRace => "multi-data race",
            FailureKind::MultiDataBlockRace => "multi-data block race",
            FailureKind::Property => "violated property",
            FailureKind::UseAfterFree => "use after free",
            FailureKind::DoubleFree => "double free",
            FailureKind::Uninitialised => "uninitialised read",
            FailureKind::Crash => "crash",
            FailureKind::Assertion => "failed assertion",
            FailureKind::OutOfBounds => "out-of-bounds access",
            FailureKind::Exit => "bad exit status",
            FailureKind::Uncontrolled => "not controlled",
        })
    }
}

/// A failure. `Display` prints its story.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Failure {
    /// The kind of the failure.
    pub kind: FailureKind,
    /// Description in a few lines.
    pub message: String,
    /// The schedule that reproduces it.
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    pub schedule: Schedule,
    /// The steps up to the failure.
    pub trace: Trace,
    /// Number of the execution in which it was found, from 1.
    pub execution: u64,
    /// Description of the search in a few words.
    pub search: String,
    /// Command that replays it.
    pub replay: Option<String>,
    /// Further remarks for the user.
    pub notes: Vec<String>,
    /// The execution in which the failure was found, if `trace` is that of a minimised one.
    pub found: Option<Box<RecordedExecution>>,
    /// Result of the minimisation, if there was one.
    pub minimised: Option<Minimised>,
    /// The most similar execution without a failure, if one was found.
    pub passing: Option<Box<RecordedExecution>>,
    /// The two steps whose order decides the failure, if known.
    pub critical: Option<CriticalPair>,
    /// Steps that could have had another source, with their sources.
    pub receives: Vec<Receive>,
    /// Source lines that the failure is about.
    pub marks: Vec<Mark>,
    /// The race by which the failure was predicted, or that it is, if it is one in a block or of variables that belong
    /// together.
    #[serde(default)]
    pub race: Option<Race>,
    /// Threads that wait at the end, as edges of the wait-for graph.
    pub waits: Vec<Wait>,
    /// Path of the page that shows it, if there is one.
    pub page: Option<String>,
}

fn as_text<S: Serializer>(schedule: &Schedule, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(schedule)
}

fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Schedule, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(D::Error::custom)
}

impl Failure {
    /// Builds a failure without any optional part.
    pub(crate) fn bare(
        kind: FailureKind,
        message: String,
        trace: Trace,
        schedule: Schedule,
        execution: u64,
    ) -> Self {
        Failure {
            kind,
            message,
            schedule,
            trace,
            execution,
            search: String::new(),
            replay: None,
            notes: Vec::new(),
            found: None,
            minimised: None,
            passing: None,
            critical: None,
            receives: Vec::new(),
            marks: Vec::new(),
            race: None,
            waits: Vec::new(),
            page: None,
        }
    }

    /// Returns the identity of the failure: two failures with the same gist count as one.
    pub fn gist(&self) -> (FailureKind, String) {
        let message = match self.kind {
            // The same property may be violated by several orders.
            FailureKind::TooLong | FailureKind::Limit | FailureKind::Property => {
                self.message.lines().next().unwrap_or_default()
            }
            _ => &self.message,
        };
        (self.kind, message.to_owned())
    }
}
