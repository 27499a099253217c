//! Stages of coverage-guided search after a change of the program.
//!
//! The search goes for new requirements first, then for those that the earlier version covered (see
//! [`Baseline`](crate::coverage::Baseline)). Each class has a singular and a combinatorial phase.
//! A phase ends after ten executions in a row of which each covered less than one in a hundred of
//! the requirements covered so far; the last one does not end. (Hong, 2015, section 5.3.4. It leaves
//! open how phases and classes nest.)

use super::{Phase, STALE};
use crate::analysis::coverage::{Baseline, Requirement, Standing, TargetClass};

/// An execution is significant if it covers at least one requirement in this number of those covered
/// so far.
const SIGNIFICANT: u64 = 100;

/// The targets of the search, and its stage.
#[derive(Clone, Debug)]
pub(super) struct Aim {
    baseline: Baseline,
    class: TargetClass,
    covered: u64,
    vain: u32,
}

impl Aim {
    pub(super) fn new(baseline: Baseline) -> Self {
        Aim {
            baseline,
            class: TargetClass::New,
            covered: 0,
            vain: 0,
        }
    }

    /// True when the requirement is a target of this stage or an earlier one.
    pub(super) fn is_target(&self, requirement: Requirement, standing: Standing) -> bool {
        let class = self.baseline.class(requirement, standing);
        class.is_some_and(|class| class <= self.class)
    }

    /// Counts an execution that covered this number of requirements first, and returns the phase that
    /// comes after it.
    pub(super) fn advance(&mut self, phase: Phase, gained: u64) -> Phase {
        let is_significant = gained > 0 && gained * SIGNIFICANT >= self.covered;
        self.covered += gained;
        self.vain = match is_significant {
            true => 0,
            false => self.vain + 1,
        };
        if self.vain < STALE {
            return phase;
        }
        match (phase, self.class.next()) {
            (Phase::Singular, _) => {
                self.vain = 0;
                Phase::Combinatorial
            }
            (Phase::Combinatorial, Some(class)) => {
                (self.vain, self.class) = (0, class);
                Phase::Singular
            }
            (Phase::Combinatorial, None) => Phase::Combinatorial,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_end_after_ten_executions_without_a_hundredth() {
        let mut aim = Aim::new(Baseline::default());
        let mut phase = aim.advance(Phase::Singular, 250);
        for _ in 0..9 {
            phase = aim.advance(phase, 2);
        }
        assert_eq!((phase, aim.class), (Phase::Singular, TargetClass::New));
        // 268 are covered, so that three are a hundredth of them.
        phase = aim.advance(phase, 3);
        assert_eq!(aim.vain, 0);
        let mut stages = Vec::new();
        for _ in 0..70 {
            phase = aim.advance(phase, 0);
            if stages.last() != Some(&(phase, aim.class)) {
                stages.push((phase, aim.class));
            }
        }
        assert_eq!(
            stages,
            [
                (Phase::Singular, TargetClass::New),
                (Phase::Combinatorial, TargetClass::New),
                (Phase::Singular, TargetClass::Kept),
                (Phase::Combinatorial, TargetClass::Kept),
                (Phase::Singular, TargetClass::Lost),
                (Phase::Combinatorial, TargetClass::Lost),
            ]
        );
    }
}
