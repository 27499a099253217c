//! All imports from raddle's other crates, in one place.

pub(crate) use raddle_check::program::variable::made_at;
pub(crate) use raddle_check::program::{
    Dialect, InterruptReader, Library, Program, RunningBinary, WorkerKind, build_fingerprint_of,
    shell_word,
};
pub(crate) use raddle_check::protocol;
pub(crate) use raddle_check::runtime::native::{Native, Top};
pub(crate) use raddle_check::{
    Checker, Failure, FailureKind, Layout, Memory, Place, Report, replay, run_observed,
};
pub(crate) use raddle_engine::check::panic::Manner;
