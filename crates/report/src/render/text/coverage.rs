//! Coverage as text.

use std::fmt;

use raddle_engine::coverage::Metric;

use crate::data::coverage::{Coverage, CoverageCounts, Covered};
use crate::words::number::counted;

/// Maximum number of uncovered requirements in the text.
const SHOWN: usize = 40;

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_measured() {
            return write!(f, "coverage was not measured");
        }
        let executions = counted(self.executions, "execution", "executions");
        writeln!(f, "coverage after {executions}")?;
        let heads = ["metric", "covered", "known", "infeasible"];
        writeln!(
            f,
            "  {:<14}{:>9}{:>9}{:>12}",
            heads[0], heads[1], heads[2], heads[3]
        )?;
        for metric in Metric::ALL {
            let counts = self.counts(metric);
            if counts.known > 0 {
                let name = metric.name();
                let CoverageCounts {
                    covered,
                    known,
                    infeasible,
                } = counts;
                writeln!(f, "  {name:<14}{covered:>9}{known:>9}{infeasible:>12}")?;
            }
        }
        match self.combined.as_str() {
            "" => f.write_str("  pairs in one execution were not counted")?,
            combined => write!(
                f,
                "  {} of at most {} pairs of {combined} in one execution",
                self.combinations.covered, self.combinations.known
            )?,
        }
        for (place, counts) in self.places() {
            write!(f, "\n  {place}: {} of {}", counts.covered, counts.known)?;
            if counts.infeasible > 0 {
                write!(f, ", {} infeasible", counts.infeasible)?;
            }
        }
        let open: Vec<_> = self.goals().filter(|(_, it)| *it != Covered::Yes).collect();
        if !open.is_empty() {
            write!(f, "\nnot covered:")?;
        }
        for (goal, covered) in open.iter().take(SHOWN) {
            write!(f, "\n  {goal}: {covered}")?;
        }
        match open.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}
