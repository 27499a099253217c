//! What each event of an execution depends on: what its thread did before, where it has its value or
//! its turn from, and what these depend on. The order of the writes to a location is no part of it,
//! nor is the order in which messages arrive.

use crate::base::ids::{EventId, ThreadId};
use crate::base::reply::Received;
use crate::memory::clock::join;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;

/// A clock for every event: of each thread, how many events it depends on, itself included.
pub(super) struct Past {
    width: usize,
    clocks: Vec<u32>,
    /// By thread: where its events are in the order of the run.
    positions: Vec<Vec<usize>>,
}

impl Past {
    pub(super) fn of(execution: &Execution) -> Self {
        let mut past = Past {
            width: execution.threads.len(),
            clocks: Vec::with_capacity(execution.events.len() * execution.threads.len()),
            positions: vec![Vec::new(); execution.threads.len()],
        };
        // Groups that have met, with what their members had done.
        let mut meetings: Vec<(EventId, Vec<u32>)> = Vec::new();
        for (position, event) in execution.events.iter().enumerate() {
            let mut clock = past.so_far(event.id.thread);
            if let Operation::Meet { .. } = event.operation {
                let meeting = past.meeting(execution, event, &mut meetings);
                join(&mut clock, &meetings[meeting].1);
            }
            for source in causes(event, execution) {
                join(&mut clock, past.clock_of(source));
            }
            clock[event.id.thread.index()] = event.id.index + 1;
            past.clocks.extend_from_slice(&clock);
            past.positions[event.id.thread.index()].push(position);
        }
        past
    }

    /// What the events of a thread so far depend on.
    fn so_far(&self, thread: ThreadId) -> Vec<u32> {
        match self.positions[thread.index()].last() {
            Some(&last) => self.clock(last).to_vec(),
            None => vec![0; self.width],
        }
    }

    /// The meeting of the group that a thread leaves with this event; a new one if nobody has left it.
    fn meeting(
        &self,
        execution: &Execution,
        event: &Event,
        meetings: &mut Vec<(EventId, Vec<u32>)>,
    ) -> usize {
        let object = event.operation.object().expect("threads meet at barriers");
        let barrier = execution.objects[object.index()].barrier();
        let (name, members) = barrier.group_left_by(event.id, event.source);
        if let Some(known) = meetings.iter().position(|(known, _)| *known == name) {
            return known;
        }
        let mut clock = vec![0; self.width];
        for member in members {
            join(&mut clock, &self.so_far(member));
        }
        // The groups of one barrier come one after the other.
        if let Some(before) = barrier.group_before(name)
            && let Some((_, earlier)) = meetings.iter().find(|(known, _)| *known == before)
        {
            join(&mut clock, earlier);
        }
        meetings.push((name, clock));
        meetings.len() - 1
    }

    pub(super) fn clock(&self, position: usize) -> &[u32] {
        &self.clocks[position * self.width..][..self.width]
    }

    pub(super) fn clock_of(&self, event: EventId) -> &[u32] {
        self.clock(self.position(event))
    }

    /// Where the event is in the order of the run.
    pub(super) fn position(&self, event: EventId) -> usize {
        self.positions[event.thread.index()][event.index as usize]
    }

    /// What the event's thread depends on before the event.
    pub(super) fn before(&self, event: EventId) -> Vec<u32> {
        match event.index.checked_sub(1) {
            Some(index) => self.clock_of(EventId { index, ..event }).to_vec(),
            None => vec![0; self.width],
        }
    }
}

/// The events, besides those of its own thread, that an event comes from. Groups aside.
fn causes(event: &Event, execution: &Execution) -> Vec<EventId> {
    match event.operation {
        Operation::Store { .. }
        | Operation::Send { .. }
        | Operation::Meet { .. }
        | Operation::Leads { .. }
        | Operation::HangUp { .. } => Vec::new(),
        Operation::Receive { ports, .. } if event.reply.to_received() == Received::Closed => {
            let ports = execution.port_list(&ports);
            let of_port = |other: &&Event| match other.operation {
                Operation::HangUp { port, .. } => ports.contains(&port),
                _ => false,
            };
            let hang_ups = execution.events.iter().filter(of_port);
            hang_ups.map(|other| other.id).collect()
        }
        _ => event.source.into_iter().collect(),
    }
}
