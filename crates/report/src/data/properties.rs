//! Results of the properties of a check.

use serde::Serialize;

/// The judgement about a property.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub enum PropertyVerdict {
    /// Every order of the labelled events of every execution that was run fulfils it.
    Holds,
    /// Some order violates it; the report has the failure.
    Violated,
    /// No violation was found, but not every order was judged; see [`PropertyResult::reasons`].
    Undecided,
}

/// The result of a property that a check has judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PropertyResult {
    /// Its name.
    pub name: String,
    /// The text of its formula.
    pub formula: String,
    /// The judgement.
    pub verdict: PropertyVerdict,
    /// Number of executions of which every order was judged up to the end of the program.
    pub executions: u64,
    /// Number of those that end in loops which go on for ever. Each was judged as the execution in which every thread
    /// that spins has its turns again and again, and no other has one: a fair one.
    pub fair_loops: u64,
    /// Labels and patterns of the formula that no event of these executions has.
    pub unseen: Vec<String>,
    /// Reasons why it is not decided.
    pub reasons: Vec<String>,
}

impl PropertyResult {
    /// Creates a result of no executions.
    pub fn new(name: String, formula: String) -> Self {
        PropertyResult {
            name,
            formula,
            verdict: PropertyVerdict::Holds,
            executions: 0,
            fair_loops: 0,
            unseen: Vec::new(),
            reasons: Vec::new(),
        }
    }
}
