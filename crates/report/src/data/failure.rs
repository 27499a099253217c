//! One thing that goes wrong, with everything needed to understand and to replay it.

use std::fmt;

use raddle_engine::Schedule;
use serde::{Serialize, Serializer};

use crate::data::insight::{CriticalPair, Mark, Minimised, Receive, Told, Wait};
use crate::data::trace::Trace;

/// What kind of thing goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[non_exhaustive]
pub enum FailureKind {
    /// A thread panicked and nobody dealt with it.
    Panic,
    /// Some threads can never go on.
    Deadlock,
    /// A thread waits for ever, because it was notified before it waited.
    LostWakeup,
    /// Threads look again and again at what nobody is left to change.
    Livelock,
    /// A thread waits for what nobody will give it when the body of the check has ended.
    ThreadOutlives,
    /// Locks are taken in different orders.
    LockOrder,
    /// Messages were sent that nobody received.
    Leak,
    /// The program behaves differently when it is run the same way.
    Nondeterminism,
    /// The program does not do what the schedule to be replayed says.
    ScheduleMismatch,
    /// An execution has more events than it may have. That is no fault of the program's: it may be a loop
    /// without end, or a test that does much.
    TooLong,
    /// An execution exceeded another of its limits.
    Limit,
    /// No execution does what the future says that was asked for.
    Impossible,
    /// A thread does not come to its next operation.
    Hang,
    /// Two accesses of a cell, one of them a write, that nothing orders.
    DataRace,
    /// A thread used memory that was freed, dropped or never made.
    UseAfterFree,
    /// A thread did something for which the system ends the process.
    Crash,
    /// An assertion of a program in C or C++ failed.
    Assertion,
    /// A program in C or C++ used memory outside of what it had asked for.
    OutOfBounds,
    /// A program in C or C++ ended with a status that is not 0.
    Exit,
    /// A program in C or C++ did something that raddle cannot control.
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
            FailureKind::ScheduleMismatch => "schedule does not fit",
            FailureKind::TooLong => "too long",
            FailureKind::Limit => "limit exceeded",
            FailureKind::Impossible => "impossible future",
            FailureKind::Hang => "hang",
            FailureKind::DataRace => "data race",
            FailureKind::UseAfterFree => "use after free",
            FailureKind::Crash => "crash",
            FailureKind::Assertion => "failed assertion",
            FailureKind::OutOfBounds => "use outside of a block",
            FailureKind::Exit => "bad exit status",
            FailureKind::Uncontrolled => "not controlled",
        })
    }
}

/// One thing that goes wrong. `Display` tells the story.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Failure {
    /// What kind of thing.
    pub kind: FailureKind,
    /// What happened, in a few lines.
    pub message: String,
    /// The schedule that leads there.
    #[serde(serialize_with = "as_text")]
    pub schedule: Schedule,
    /// The steps that led there.
    pub trace: Trace,
    /// In which execution it was found, counted from 1.
    pub execution: u64,
    /// How the search was run, in a few words.
    pub search: String,
    /// What to type to see it again.
    pub replay: Option<String>,
    /// What else the user should know.
    pub notes: Vec<String>,
    /// The execution as it was found, if the one that is told is another.
    pub found: Option<Box<Told>>,
    /// How it was made shorter, if that was tried.
    pub minimised: Option<Minimised>,
    /// The execution most like the one that is told in which all goes well, if one was found.
    pub passing: Option<Box<Told>>,
    /// The two steps whose order decides, if they are known.
    pub critical: Option<CriticalPair>,
    /// What steps of the story could have seen instead.
    pub receives: Vec<Receive>,
    /// The lines that have to do with it.
    pub marks: Vec<Mark>,
    /// Who waits for whom at the end.
    pub waits: Vec<Wait>,
    /// The page that shows it, if there is one.
    pub page: Option<String>,
}

fn as_text<S: Serializer>(schedule: &Schedule, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(schedule)
}

impl Failure {
    /// A failure of which nothing else is known.
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
            waits: Vec::new(),
            page: None,
        }
    }

    /// What makes it the same failure as another one.
    pub fn gist(&self) -> (FailureKind, String) {
        let message = match self.kind {
            FailureKind::TooLong | FailureKind::Limit => {
                self.message.lines().next().unwrap_or_default()
            }
            _ => &self.message,
        };
        (self.kind, message.to_owned())
    }
}
