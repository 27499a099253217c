//! Branches as text.

use std::fmt;

use crate::data::branches::{
    Branch, BranchChoice, BranchGraph, BranchGuidelines, BranchSource, BranchStep, Branches,
};
use crate::words::number::counted;

/// Maximum number of branches in the text, and of operations with one result.
const SHOWN: usize = 40;

impl fmt::Display for Branches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_recorded() {
            return write!(f, "branches were not recorded");
        }
        let number = match self.branches.len() as u64 {
            0 => "no branch is".to_owned(),
            1 => "1 branch is".to_owned(),
            more => format!("{} are", counted(more, "branch", "branches")),
        };
        let classes = counted(self.classes, "class", "classes");
        let extent = match self.is_complete {
            true => format!("all {classes}"),
            false => format!("{classes}; there may be others"),
        };
        write!(f, "{number} decided by interleaving ({extent})")?;
        for branch in self.branches.iter().take(SHOWN) {
            write!(f, "\n  {branch}")?;
        }
        more(f, self.branches.len())?;
        if !self.one_sided.is_empty() {
            write!(f, "\nonly one result")?;
        }
        for one in self.one_sided.iter().take(SHOWN) {
            let (operation, result, never) = (&one.operation, &one.result, &one.never);
            write!(f, "\n  {operation}: always `{result}`, never `{never}`")?;
        }
        more(f, self.one_sided.len())?;
        write!(f, "\n{}", self.guidelines)
    }
}

fn more(f: &mut fmt::Formatter<'_>, all: usize) -> fmt::Result {
    match all.saturating_sub(SHOWN) {
        0 => Ok(()),
        more => write!(f, "\n  and {more} more"),
    }
}

impl fmt::Display for BranchGuidelines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sources of receives: {} seen", self.seen)?;
        for (number, what) in [
            (self.followed, "of these by directed executions"),
            (self.impossible, "impossible"),
            (self.not_followed, "not reached"),
        ] {
            if number > 0 {
                write!(f, ", {number} {what}")?;
            }
        }
        match self.is_open {
            true => write!(f, ", others not tried"),
            false => Ok(()),
        }
    }
}

impl fmt::Display for BranchStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{} at {place}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "after {}", self.after)?;
        if let Some(result) = &self.result {
            write!(f, ", which {result}")?;
        }
        write!(f, " ({})", self.threads.join(", "))?;
        if self.graphs.is_empty() {
            write!(f, "\n    no sources of receives were found that decide it")?;
            for outcome in &self.outcomes {
                write!(f, "\n    -> {}", outcome.step)?;
            }
        }
        for graph in &self.graphs {
            write_graph(f, graph, 4)?;
        }
        Ok(())
    }
}

fn write_graph(f: &mut fmt::Formatter<'_>, graph: &BranchGraph, depth: usize) -> fmt::Result {
    let BranchGraph::Choice(choice) = graph else {
        return Ok(());
    };
    write!(f, "\n{:depth$}{choice} takes", "")?;
    for (source, rest) in &choice.sources {
        let inner = depth + 2;
        match rest {
            BranchGraph::Outcome(step) => write!(f, "\n{:inner$}{source} -> {step}", "")?,
            BranchGraph::Choice(_) => {
                write!(f, "\n{:inner$}{source}, and", "")?;
                write_graph(f, rest, inner + 2)?;
            }
        }
    }
    Ok(())
}

impl fmt::Display for BranchChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {}", self.receive, self.thread)?;
        occurrence(f, self.occurrence)
    }
}

impl fmt::Display for BranchSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.send, &self.thread) {
            _ if self.is_absent => return write!(f, "nothing, as it is not performed"),
            (Some(send), Some(thread)) => write!(f, "{send} by {thread}")?,
            _ => write!(f, "what was there first")?,
        }
        occurrence(f, self.occurrence)?;
        match self.outcome {
            0 => Ok(()),
            outcome => write!(f, ", with outcome {outcome}"),
        }
    }
}

/// Writes which of several operations at a place is meant.
fn occurrence(f: &mut fmt::Formatter<'_>, occurrence: Option<u32>) -> fmt::Result {
    match occurrence {
        Some(number) => write!(f, ", number {}", number + 1),
        None => Ok(()),
    }
}
