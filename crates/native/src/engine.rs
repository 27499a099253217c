//! What this crate uses of raddle: the one place where its names come from.

pub(crate) use raddle::__private::native::{
    Manner, Native, Symbols, Top, check_test, check_whole, install, made_at, on_end,
};
pub(crate) use raddle::__private::run_observed;
pub(crate) use raddle::{Checker, Failure, FailureKind, Memory, Place, Report};
