//! Queries of coverage-guided search during an execution.

use super::Coverage;
use super::bits::Bits;
use super::catalogue::{Id, Requirement};
use super::counts::Standing;
use super::pass::Pass;

impl Coverage {
    pub(crate) fn pass(&self) -> &Pass {
        &self.pass
    }

    pub(crate) fn find(&self, requirement: Requirement) -> Option<Id> {
        self.board.catalogue.find(requirement)
    }

    pub(crate) fn requirement(&self, id: Id) -> Requirement {
        self.board.catalogue.get(id)
    }

    pub(crate) fn is_covered(&self, id: Id) -> bool {
        self.board.covered.contains(id)
    }

    /// True when the current execution has covered a combined requirement.
    pub(crate) fn is_current(&self, id: Id) -> bool {
        self.board.is_current(id)
    }

    /// Writes the combined requirements covered by the current execution into `members`.
    pub(crate) fn current_members(&mut self, members: &mut Bits) {
        members.clone_from(self.board.together());
    }

    /// Returns the number of these that were never covered together with the requirement.
    pub(crate) fn never_with(&self, id: Id, members: &Bits) -> u32 {
        match self.board.row(id) {
            Some(row) => members.missing_in(self.combinations.row(row)),
            None => members.count(),
        }
    }

    /// Returns all combined requirements with their status.
    pub(crate) fn members(&self) -> impl Iterator<Item = (Id, Requirement, Standing)> + '_ {
        let all = self.board.catalogue.iter();
        let combined = all.filter(|(_, requirement)| self.combined.contains(requirement.metric));
        combined.map(|(id, requirement)| (id, requirement, self.standing(id)))
    }
}
