//! Results of a check as serialisable data. No module here builds sentences or knows an output
//! format; `Display` is implemented here only for keys and fixed labels.

pub(crate) mod advice;
pub(crate) mod alternatives;
pub(crate) mod branches;
pub mod build;
pub(crate) mod coverage;
pub(crate) mod earlier;
pub(crate) mod effect;
pub(crate) mod estimate;
pub mod exchange;
pub(crate) mod failure;
pub(crate) mod fold;
pub(crate) mod guarantee;
pub(crate) mod insight;
pub(crate) mod limit;
pub(crate) mod place;
pub(crate) mod properties;
pub(crate) mod reached;
pub(crate) mod report;
pub(crate) mod trace;
