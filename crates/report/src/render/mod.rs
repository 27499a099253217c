//! Reports, failures and traces in their output formats.

pub mod event;
mod graphviz;
pub mod html;
pub(crate) mod json;
pub(crate) mod std_trace;
mod text;
