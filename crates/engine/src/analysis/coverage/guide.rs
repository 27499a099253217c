//! What guided search wants to know while an execution goes on.

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

    /// Whether the execution that goes on has covered it.
    pub(crate) fn is_current(&self, id: Id) -> bool {
        self.board.current.contains(id)
    }

    /// What the execution that goes on has covered of what is combined.
    pub(crate) fn current_members(&self, members: &mut Bits) {
        members.clear();
        for id in self.board.current.iter_in(&self.combining) {
            members.insert(self.places[id] as usize);
        }
    }

    /// The place of a requirement among those that are combined.
    pub(super) fn member(&self, id: Id) -> Option<usize> {
        let is_member = self.combining.contains(id);
        is_member.then(|| self.places[id] as usize)
    }

    /// How many of these were never covered together with a requirement.
    pub(crate) fn never_with(&self, id: Id, members: &Bits) -> u32 {
        let member = self.member(id);
        match member.and_then(|member| self.combinations.row(member)) {
            Some(row) => members.missing_in(row),
            None => members.count(),
        }
    }

    /// All numbers of what is combined, with how it stands.
    pub(crate) fn members(&self) -> impl Iterator<Item = (Id, Requirement, Standing)> + '_ {
        let members = self.members.iter();
        members.map(|&id| (id, self.board.catalogue.get(id), self.standing(id)))
    }
}
