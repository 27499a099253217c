//! Output formats of reports, failures and traces.

pub mod event;
mod graphviz;
pub mod html;
pub(crate) mod json;
pub(crate) mod std_trace;
pub(crate) mod text;
