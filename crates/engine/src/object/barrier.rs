//! A barrier: threads pass in groups of a fixed size.
//!
//! A group is released as a whole, so the arrival order of its members makes no difference. If more
//! threads wait than a group has members, the members of the group are a choice. The leader of a
//! group matters only when a thread asks for it; then every answer is possible that leaves the
//! group one leader.

use super::synchronization::Synchronization;
use super::{Machine, Object, Request};
use crate::base::ids::{EventId, ThreadId};
use crate::base::outcome::Outcome;
use crate::base::reply::Reply;
use crate::base::subsets::{number_of, subset, subsets};
use crate::base::words::{Problem, Reader, Words, never};

/// The barrier's state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Barrier {
    size: usize,
    /// In the order of their release.
    groups: Vec<Group>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Group {
    members: Vec<Member>,
    /// Name of the group: the pass of one member, always of the same one.
    name: EventId,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Member {
    thread: ThreadId,
    has_left: bool,
    /// Answer to the first question whether the member leads; `None` before it.
    leads: Option<bool>,
}

/// A barrier has no calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {}

never! { Call }

impl Request for Call {
    fn label(self) -> &'static str {
        match self {}
    }
}

impl Machine for Barrier {
    type Call = Call;

    fn write_initial(&self, out: &mut String) {
        self.size().write(out);
    }

    fn read_initial(words: &mut Reader<'_>) -> Result<Self, Problem> {
        Ok(Barrier::new(words.read()?))
    }

    fn open(&self, call: Call, _by: ThreadId) -> bool {
        match call {}
    }

    fn apply(&mut self, call: Call, _by: ThreadId, _outcome: Outcome) -> Reply {
        match call {}
    }

    fn synchronization(&self, call: Call, _reply: Reply) -> Synchronization {
        match call {}
    }
}

impl Object {
    /// Returns the barrier of a barrier operation.
    pub(crate) fn barrier(&self) -> &Barrier {
        match self {
            Object::Barrier(barrier) => barrier,
            other => panic!("raddle: a meeting at {other:?}; please report this"),
        }
    }

    /// Returns the barrier of a barrier operation.
    pub(crate) fn barrier_mut(&mut self) -> &mut Barrier {
        match self {
            Object::Barrier(barrier) => barrier,
            other => panic!("raddle: a meeting at {other:?}; please report this"),
        }
    }
}

impl Barrier {
    /// Creates a barrier for groups of this size; 0 is the same as 1.
    pub fn new(size: usize) -> Self {
        Barrier {
            size: size.max(1),
            groups: Vec::new(),
        }
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// True when the thread's group has been formed and the thread has not passed yet.
    fn is_released(&self, thread: ThreadId) -> bool {
        self.groups
            .iter()
            .any(|group| group.members.iter().any(|one| one.waits_as(thread)))
    }

    /// Returns the waiting threads that are in no group and could be in one with `thread`.
    fn companions(&self, waiting: &[ThreadId], thread: ThreadId) -> Vec<ThreadId> {
        let waiting = waiting.iter().copied();
        waiting
            .filter(|&one| one != thread && !self.is_released(one))
            .collect()
    }

    /// Returns the number of groups that the waiting threads could form with `thread`; 1 if it has
    /// its group.
    pub(crate) fn possible_groups(&self, waiting: &[ThreadId], thread: ThreadId) -> u32 {
        if self.is_released(thread) {
            return 1;
        }
        let companions = self.companions(waiting, thread).len();
        subsets(companions, self.size - 1).max(1)
    }

    /// Returns the number of the possible group that has these members besides `thread`; 0 if it
    /// has its group.
    pub(crate) fn group_number(
        &self,
        waiting: &[ThreadId],
        thread: ThreadId,
        members: &[ThreadId],
    ) -> Option<u32> {
        if self.is_released(thread) {
            return Some(0);
        }
        let companions = self.companions(waiting, thread);
        let positions: Vec<usize> = (0..companions.len())
            .filter(|&position| members.contains(&companions[position]))
            .collect();
        let is_whole = positions.len() + 1 == self.size;
        is_whole.then(|| number_of(companions.len(), &positions))
    }

    /// Returns for each waiting thread whether it can pass. Threads with a group can; all can if
    /// enough threads without one wait to form another.
    pub(crate) fn can_pass(&self, waiting: &[ThreadId]) -> Vec<bool> {
        let released: Vec<bool> = waiting.iter().map(|&one| self.is_released(one)).collect();
        let free = released.iter().filter(|&&released| !released).count();
        let enough = free >= self.size;
        released
            .into_iter()
            .map(|released| enough || released)
            .collect()
    }

    /// Lets the thread of `event` pass, in the possible group with this number unless it has its
    /// group. Returns the preceding group and the number of earlier passes of the thread. For the
    /// first member to pass, the preceding group is the one before its own; for any other member,
    /// its own.
    ///
    /// `name` selects the event that names a new group from the members' next events.
    pub(crate) fn pass(
        &mut self,
        waiting: &[ThreadId],
        event: EventId,
        number: u32,
        name: impl FnOnce(&[ThreadId]) -> EventId,
    ) -> (Option<EventId>, u32) {
        let thread = event.thread;
        let mut rounds = self.rounds(thread);
        if self.is_released(thread) {
            rounds -= 1;
        } else {
            let companions = self.companions(waiting, thread);
            let positions = subset(companions.len(), self.size - 1, number);
            let mut members: Vec<ThreadId> = positions.iter().map(|&one| companions[one]).collect();
            members.push(thread);
            self.form_group(&members, name(&members));
        }
        let (group, before) = self.leave(thread);
        let preceding = if group == event { before } else { Some(group) };
        (preceding, rounds)
    }

    /// Returns the number of groups that the thread has been in.
    fn rounds(&self, thread: ThreadId) -> u32 {
        let with_it = self.groups.iter().filter(|group| group.has(thread));
        with_it.count() as u32
    }

    fn form_group(&mut self, threads: &[ThreadId], name: EventId) {
        let members = threads.iter().map(|&thread| Member {
            thread,
            has_left: false,
            leads: None,
        });
        self.groups.push(Group {
            members: members.collect(),
            name,
        });
    }

    /// Returns name and members of the group that the thread of this event left with it: the group
    /// of the source, or the one that is named after the event.
    pub(crate) fn group_left_by(
        &self,
        event: EventId,
        source: Option<EventId>,
    ) -> (EventId, impl Iterator<Item = ThreadId> + '_) {
        let named = |name| self.groups.iter().find(move |group| group.name == name);
        let group = named(event).or_else(|| named(source?));
        let group = group.expect("who goes on has met others");
        (group.name, group.members.iter().map(|one| one.thread))
    }

    /// Returns the name of the group that was released before the one with this name.
    pub(crate) fn group_before(&self, name: EventId) -> Option<EventId> {
        let position = self.groups.iter().position(|group| group.name == name)?;
        let before = position.checked_sub(1)?;
        Some(self.groups[before].name)
    }

    /// Marks the thread as passed; returns the names of its group and of the group before.
    fn leave(&mut self, thread: ThreadId) -> (EventId, Option<EventId>) {
        let left = |group: &mut Group| {
            let member = group.members.iter_mut().find(|one| one.waits_as(thread));
            member.map(|member| member.has_left = true).is_some()
        };
        let position = self.groups.iter_mut().position(left);
        let position = position.expect("its group has met");
        let before = position.checked_sub(1);
        (
            self.groups[position].name,
            before.map(|before| self.groups[before].name),
        )
    }

    fn group(&self, thread: ThreadId, round: u32) -> usize {
        let positions = 0..self.groups.len();
        let mut with_it = positions.filter(|&position| self.groups[position].has(thread));
        let position = with_it.nth(round as usize);
        position.expect("it has met others so often")
    }

    /// True when the question whether the thread led its group may have either answer.
    pub(crate) fn may_lead_or_not(&self, thread: ThreadId, round: u32) -> bool {
        let group = &self.groups[self.group(thread, round)];
        group.only_answer(thread).is_none()
    }

    /// Returns the name of the thread's group, and whether the thread led it; `wanted` is the
    /// answer where both are possible.
    pub(crate) fn leads(&mut self, thread: ThreadId, round: u32, wanted: bool) -> (EventId, bool) {
        let group = self.group(thread, round);
        let group = &mut self.groups[group];
        let leads = group.only_answer(thread).unwrap_or(wanted);
        let mut members = group.members.iter_mut();
        if let Some(member) = members.find(|one| one.thread == thread) {
            member.leads = Some(leads);
        }
        (group.name, leads)
    }
}

impl Group {
    fn has(&self, thread: ThreadId) -> bool {
        self.members.iter().any(|one| one.thread == thread)
    }

    /// Returns the answer to whether the thread leads, if only one is possible.
    fn only_answer(&self, thread: ThreadId) -> Option<bool> {
        let answered = self.members.iter();
        let answered = answered.filter_map(|member| Some((member.thread, member.leads?)));
        only_answer(answered, thread, self.members.len())
    }
}

/// Returns the only possible answer to whether `member` leads its group, given the earlier answers;
/// `None` if both are possible. A group has one leader, and a repeated question has the same
/// answer.
pub(crate) fn only_answer<M: PartialEq>(
    answered: impl Iterator<Item = (M, bool)>,
    member: M,
    group_size: usize,
) -> Option<bool> {
    let mut others: Vec<M> = Vec::new();
    let mut has_leader = false;
    for (one, leads) in answered {
        if one == member {
            return Some(leads);
        }
        has_leader |= leads;
        if !others.contains(&one) {
            others.push(one);
        }
    }
    match has_leader {
        true => Some(false),
        false => (others.len() + 1 == group_size).then_some(true),
    }
}

impl Member {
    fn waits_as(&self, thread: ThreadId) -> bool {
        self.thread == thread && !self.has_left
    }
}
