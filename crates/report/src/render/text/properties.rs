//! Results of properties as one line each.

use std::fmt;

use crate::data::properties::{PropertyResult, PropertyVerdict};
use crate::words::number::counted;

impl fmt::Display for PropertyResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "property `{}` ", self.name)?;
        let executions = counted(self.executions, "execution", "executions");
        match self.verdict {
            PropertyVerdict::Holds => write!(f, "holds in every order of {executions}")?,
            PropertyVerdict::Violated => f.write_str("is violated")?,
            PropertyVerdict::Undecided => {
                let reasons = self.reasons.join("; ");
                write!(f, "is not decided: {reasons}; no violation in {executions}")?;
            }
        }
        if self.fair_loops > 0 && self.verdict != PropertyVerdict::Violated {
            let loops = counted(
                self.fair_loops,
                "of them ends in a loop",
                "of them end in loops",
            );
            write!(
                f,
                "; {loops}, judged as if every thread in it has its turns for ever"
            )?;
        }
        for label in &self.unseen {
            write!(f, "; no event has the label {label:?}")?;
        }
        Ok(())
    }
}
