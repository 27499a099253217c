//! What a check has found, as data that can be serialised.

pub(crate) mod advice;
pub(crate) mod coverage;
pub(crate) mod earlier;
pub(crate) mod effect;
pub(crate) mod estimate;
pub(crate) mod failure;
pub(crate) mod guarantee;
pub(crate) mod insight;
pub(crate) mod place;
pub(crate) mod report;
pub(crate) mod trace;
