//! The threads that are held back, and the holds that a failed run adds.

use crate::analysis::alternatives::AlternativeSource;
use crate::analysis::alternatives::follow::{
    Follower, Role, Verdict, does, is_done_to, takes, thing,
};
use crate::base::ids::{EventId, ObjectId, ThreadId};
use crate::base::outcome::Outcome;
use crate::model::naming::is_thread;
use crate::model::operation::Operation;
use crate::model::schedule::ThreadPath;
use crate::world::State;

/// Relation of an enabled thread to the alternative.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stance {
    /// It is about to receive from the wanted source, with this outcome.
    Ready(Outcome),
    /// It does not affect the alternative.
    Free,
    /// It is about to send the wanted source of a choice.
    IsSource,
    /// It would overwrite the wanted source of this choice.
    Overwrites(usize),
    /// The source of this choice does not exist yet.
    Waits(usize),
    /// An earlier run has shown that it must wait.
    Learned,
}

/// A thread waits before one of its events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Hold {
    thread: ThreadPath,
    index: u32,
    until: Until,
}

/// The end of a hold.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Until {
    /// The source of this choice exists.
    Source(usize),
    /// This event has been performed.
    Event(ThreadPath, u32),
}

impl Hold {
    fn holds(&self, follower: &Follower, state: &State, thread: ThreadId) -> bool {
        let execution = state.execution();
        let is_over = match &self.until {
            Until::Source(choice) => follower.choices[*choice].source.is_some(),
            Until::Event(path, index) => {
                let other = execution.thread_at(path);
                other.is_some_and(|other| follower.count(other) > *index)
            }
        };
        !is_over && follower.count(thread) == self.index && execution.path(thread) == self.thread
    }
}

/// Returns the relation of the thread to the alternative.
pub(super) fn stance(
    follower: &Follower,
    holds: &[Hold],
    state: &State,
    thread: ThreadId,
) -> Stance {
    if holds.iter().any(|hold| hold.holds(follower, state, thread)) {
        return Stance::Learned;
    }
    let receives = follower.receives_next(state, thread);
    if let Some(&first) = receives.first() {
        return match follower.outcome(state, thread, &receives) {
            Some(outcome) => Stance::Ready(outcome),
            None => Stance::Waits(first),
        };
    }
    if follower.sends_next(state, thread).is_some() {
        return Stance::IsSource;
    }
    match overwritten(follower, state, thread) {
        Some(choice) => Stance::Overwrites(choice),
        None => Stance::Free,
    }
}

/// Returns the choice whose existing source the thread's pending operation would overwrite.
fn overwritten(follower: &Follower, state: &State, thread: ThreadId) -> Option<usize> {
    let execution = state.execution();
    let operation = state.pending(thread);
    let changes = match operation {
        Operation::Call { call, .. } => takes(call),
        operation => does(operation, Role::Sends, execution),
    };
    if !changes {
        return None;
    }
    follower.choices.iter().position(|one| {
        let is_there = match (&one.choice.sees, operation) {
            (None, _) => false,
            (Some(AlternativeSource::Initial), _) => true,
            // Messages are not overwritten, but others may be sent before it.
            (Some(AlternativeSource::Event(_)), Operation::Send { .. }) => one.source.is_none(),
            (Some(AlternativeSource::Event(_)), _) => one.source.is_some(),
        };
        let name = thing(&one.choice.receive);
        one.verdict == Verdict::Open
            && is_there
            && !is_thread(execution, thread, &one.choice.receive.thread)
            && is_done_to(operation, name, execution)
    })
}

/// Derives a hold from a state in which no thread could run, given the relation of this thread.
pub(super) fn learn(
    follower: &Follower,
    state: &State,
    thread: ThreadId,
    stance: Stance,
    holds: &mut Vec<Hold>,
) {
    let execution = state.execution();
    let mut add = |hold: Hold| {
        if !holds.contains(&hold) {
            holds.push(hold);
        }
    };
    let next = EventId {
        thread,
        index: follower.count(thread),
    };
    match stance {
        Stance::Waits(choice) => match follower.choices[choice].source {
            Some(source) => {
                // It came too early: another write is in the place of its source.
                if let Some(instead) = state.would_see(thread, Outcome::FIRST)
                    && instead != source
                {
                    add(hold_source(state, source, instead));
                }
            }
            None => {
                let Some(AlternativeSource::Event(point)) = &follower.choices[choice].choice.sees
                else {
                    return;
                };
                let all = (0..execution.threads.len()).map(ThreadId::new);
                for sender in all.filter(|&one| is_thread(execution, one, &point.thread)) {
                    // The receiver holds an object that the sender needs.
                    if let Some(object) = state.pending(sender).object()
                        && !state.is_enabled(sender)
                        && execution.objects[object.index()].held_by(thread)
                        && let Some(taken) = last_taken(state, thread, object)
                    {
                        add(Hold {
                            thread: execution.path(thread),
                            index: taken,
                            until: Until::Source(choice),
                        });
                    }
                }
            }
        },
        Stance::Overwrites(choice) => {
            if let Some(source) = follower.choices[choice].source {
                add(hold_source(state, source, next));
            }
        }
        _ => {}
    }
}

/// Holds back the source until another event, or before the acquisition of an object that its
/// thread holds by then.
fn hold_source(state: &State, source: EventId, until: EventId) -> Hold {
    let execution = state.execution();
    let events = execution.events.iter();
    let earlier = events.filter(|event| event.id.thread == source.thread);
    let earlier = earlier.take_while(|event| event.id.index < source.index);
    let mut taken: Vec<(ObjectId, u32)> = Vec::new();
    for event in earlier {
        if let Operation::Call { object, call } = event.operation {
            match call.gives_back() {
                true => taken.retain(|&(held, _)| held != object),
                false => taken.push((object, event.id.index)),
            }
        }
    }
    let first = taken.iter().map(|&(_, index)| index).min();
    Hold {
        thread: execution.path(source.thread),
        index: first.unwrap_or(source.index),
        until: Until::Event(execution.path(until.thread), until.index),
    }
}

/// Returns the last event with which the thread acquired the object.
fn last_taken(state: &State, thread: ThreadId, object: ObjectId) -> Option<u32> {
    let events = state.execution().events.iter().rev();
    let mut own = events.filter(|event| event.id.thread == thread);
    let taken = own.find(|event| match event.operation {
        Operation::Call { object: of, call } => of == object && takes(&call),
        _ => false,
    });
    taken.map(|event| event.id.index)
}
