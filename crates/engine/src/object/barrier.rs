//! A barrier: threads meet there in groups, and nobody goes on alone.
//!
//! A whole group meets at once, so the order in which its members came makes no difference. If more
//! threads wait than a group has members, who meets whom is a choice. Nor does it matter who leads a
//! group until somebody asks: then every answer is possible that leaves the group one leader.

use super::passing::Passing;
use super::{Machine, Request};
use crate::base::ids::{EventId, ThreadId};
use crate::base::reply::Reply;

/// The barrier's state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Barrier {
    size: usize,
    /// In the order they met.
    groups: Vec<Group>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Group {
    members: Vec<Member>,
    /// Names the group: the meeting of one of its members, always the same one.
    name: EventId,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Member {
    thread: ThreadId,
    has_left: bool,
    /// What was answered when somebody asked.
    leads: Option<bool>,
}

/// Nobody calls a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {}

impl Request for Call {
    fn label(self) -> &'static str {
        match self {}
    }
}

impl Machine for Barrier {
    type Call = Call;

    fn open(&self, call: Call, _by: ThreadId) -> bool {
        match call {}
    }

    fn apply(&mut self, call: Call, _by: ThreadId, _outcome: u32) -> Reply {
        match call {}
    }

    fn passing(&self, call: Call, _reply: Reply) -> Passing {
        match call {}
    }
}

impl Barrier {
    /// A barrier for groups of this size; 0 does what 1 does.
    pub fn new(size: usize) -> Self {
        Barrier {
            size: size.max(1),
            groups: Vec::new(),
        }
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Whether the thread's group has met, but the thread has not gone on.
    pub(crate) fn is_released(&self, thread: ThreadId) -> bool {
        self.groups
            .iter()
            .any(|group| group.members.iter().any(|one| one.waits_as(thread)))
    }

    /// How often the thread has met others here.
    pub(crate) fn rounds(&self, thread: ThreadId) -> u32 {
        let with_it = self.groups.iter().filter(|group| group.has(thread));
        with_it.count() as u32
    }

    /// These threads meet. Says which group met before.
    pub(crate) fn meet(&mut self, threads: &[ThreadId], name: EventId) -> Option<EventId> {
        let before = self.groups.last().map(|group| group.name);
        let members = threads.iter().map(|&thread| Member {
            thread,
            has_left: false,
            leads: None,
        });
        self.groups.push(Group {
            members: members.collect(),
            name,
        });
        before
    }

    /// Name and members of the group that the thread of this event left with it: that of the source,
    /// or the one that is named after the event.
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

    /// The name of the group that met before the one with this name.
    pub(crate) fn group_before(&self, name: EventId) -> Option<EventId> {
        let position = self.groups.iter().position(|group| group.name == name)?;
        let before = position.checked_sub(1)?;
        Some(self.groups[before].name)
    }

    /// The thread goes on. Says the name of its group and of the group before.
    pub(crate) fn leave(&mut self, thread: ThreadId) -> (EventId, Option<EventId>) {
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

    /// Whether both answers are possible to whether the thread led its group.
    pub(crate) fn may_lead_or_not(&self, thread: ThreadId, round: u32) -> bool {
        let group = &self.groups[self.group(thread, round)];
        group.only_answer(thread).is_none()
    }

    /// Whether the thread led its group; `wanted` decides where both is possible. Says the name of
    /// the group too.
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

    /// What must be answered to whether the thread leads.
    fn only_answer(&self, thread: ThreadId) -> Option<bool> {
        let (mut left, mut has_leader) = (0, false);
        for member in &self.members {
            match member.leads {
                Some(answer) if member.thread == thread => return Some(answer),
                Some(answer) => has_leader |= answer,
                None => left += 1,
            }
        }
        match (has_leader, left) {
            (true, _) => Some(false),
            (false, 1) => Some(true),
            _ => None,
        }
    }
}

impl Member {
    fn waits_as(&self, thread: ThreadId) -> bool {
        self.thread == thread && !self.has_left
    }
}
