//! Behaviour of a program in terms of its labelled events: properties, and the graph of all states.
//!
//! The program labels operations ([`EventLabel`](crate::EventLabel)). A class of executions is a partial order of
//! events, so its labelled events have several orders; a statement about the order of labelled events is judged over
//! all of them ([`order`]). Properties are formulas of linear temporal logic with past operators ([`formula`]), which
//! a [`Monitor`](monitor) evaluates along a word of labels. The states of all classes together are a labelled
//! transition system ([`graph`]), which is minimised and compared with given sequences.

pub mod formula;
pub mod graph;
pub mod judge;
pub mod monitor;
pub mod order;
pub mod sequences;
