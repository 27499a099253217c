//! Everything of raddle that this crate uses: the one place where its names come from.

pub(crate) use raddle_check::program::variable::made_at;
pub(crate) use raddle_check::program::{
    Dialect, InterruptReader, Library, Program, RunningBinary, WorkerKind, shell_word,
};
pub(crate) use raddle_check::protocol;
pub(crate) use raddle_check::runtime::native::{Native, Top};
pub(crate) use raddle_check::{Checker, Failure, FailureKind, Memory, Place, Report, run_observed};
pub(crate) use raddle_engine::check::panic::Manner;
