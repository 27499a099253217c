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

    pub(crate) fn is_covered(&self, id: Id) -> bool {
        self.covered.contains(id)
    }

    /// True when the current execution has covered it.
    pub(crate) fn is_current(&self, id: Id) -> bool {
        self.board.current.contains(id)
    }

    /// Writes the combined requirements covered by the current execution into `members`.
    pub(crate) fn current_members(&self, members: &mut Bits) {
        members.clear();
        for id in self.board.current.iter_in(&self.combining) {
            members.insert(self.places[id] as usize);
        }
    }

    /// Returns the index of a requirement among the combined ones.
    pub(super) fn member(&self, id: Id) -> Option<usize> {
        let is_member = self.combining.contains(id);
        is_member.then(|| self.places[id] as usize)
    }

    /// Returns the number of these that were never covered together with the requirement.
    pub(crate) fn never_with(&self, id: Id, members: &Bits) -> u32 {
        let member = self.member(id);
        match member.and_then(|member| self.combinations.row(member)) {
            Some(row) => members.missing_in(row),
            None => members.count(),
        }
    }

    /// Returns all combined requirements with their status.
    pub(crate) fn members(&self) -> impl Iterator<Item = (Id, Requirement, Standing)> + '_ {
        let members = self.members.iter();
        members.map(|&id| (id, self.board.catalogue.get(id), self.standing(id)))
    }
}
