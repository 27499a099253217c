//! What happens before what, in executions whose reads take the latest value.
//!
//! The same order as in [`views`](super::views), but as nobody asks what a thread might have read
//! instead, nothing needs to be kept of the past: a location has what came with its value, an object
//! what is in its clocks, a message what its sender had seen. That makes it cheap enough to be kept
//! whenever there are cells whose accesses may race.

use super::Strength;
use super::clock::{self, join, row};
use crate::base::ids::{EventId, LocationId, ObjectId, ThreadId};
use crate::base::reply::Received;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::object::Object;

/// Clocks, one behind the other.
type Clocks = Vec<u32>;

/// What threads of the present execution have seen.
#[derive(Debug, Default)]
pub(crate) struct Order {
    on: bool,
    /// Entries of a clock; at least the number of threads.
    width: usize,
    /// By thread: what happens before its next event, what would if its reads had been acquires, and
    /// what did at its last release fence.
    hb: Clocks,
    acquirable: Clocks,
    fence: Clocks,
    /// By location: what comes with its value.
    release_clocks: Clocks,
    /// By object: what is in its clocks; of a port, what came with its messages.
    object_clocks: Vec<Clocks>,
    /// By object: what those who hung up had seen.
    closed: Vec<Clocks>,
    /// Groups that met, and messages that were taken, by the event that names them.
    meetings: Vec<(EventId, Clocks)>,
    taken: Vec<(EventId, Clocks)>,
}

/// The list of an object.
#[inline]
fn of_object(lists: &mut Vec<Clocks>, object: ObjectId) -> &mut Clocks {
    if lists.len() <= object.index() {
        lists.resize_with(object.index() + 1, Vec::new);
    }
    &mut lists[object.index()]
}

impl Order {
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.on
    }

    /// Forgets the last execution; from now on everything is kept, or nothing.
    #[inline]
    pub(crate) fn reset(&mut self, on: bool) {
        self.on = on;
        if on {
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.width = self.width.max(4);
        for clocks in [
            &mut self.hb,
            &mut self.acquirable,
            &mut self.fence,
            &mut self.release_clocks,
        ] {
            clocks.clear();
        }
        self.object_clocks.iter_mut().for_each(Vec::clear);
        self.closed.iter_mut().for_each(Vec::clear);
        self.meetings.clear();
        self.taken.clear();
    }

    /// Learns the order of an execution of which nothing was kept so far.
    pub(crate) fn catch_up(&mut self, execution: &Execution) {
        self.reset(true);
        execution.threads.iter().for_each(|_| self.add_thread());
        for event in &execution.events {
            self.record(event, execution);
        }
    }

    #[inline]
    pub(crate) fn add_thread(&mut self) {
        if !self.on {
            return;
        }
        if self.hb.len() == self.width * self.width {
            self.double_width();
        }
        let end = self.hb.len() + self.width;
        self.hb.resize(end, 0);
        self.acquirable.resize(end, 0);
        self.fence.resize(end, 0);
    }

    #[cold]
    fn double_width(&mut self) {
        let (old, new) = (self.width, self.width * 2);
        let widen = |clocks: &mut Clocks| clock::widen(clocks, old, new);
        let of_threads = [&mut self.hb, &mut self.acquirable, &mut self.fence];
        of_threads.into_iter().for_each(widen);
        widen(&mut self.release_clocks);
        self.object_clocks.iter_mut().for_each(widen);
        self.closed.iter_mut().for_each(widen);
        let named = self.meetings.iter_mut().chain(&mut self.taken);
        named.for_each(|(_, clock)| widen(clock));
        self.width = new;
    }

    /// What happens before the next event of a thread.
    #[inline]
    pub(crate) fn hb(&self, thread: ThreadId) -> &[u32] {
        &self.hb[thread.index() * self.width..][..self.width]
    }

    /// Takes note of an event that has just been performed.
    #[inline]
    pub(crate) fn record(&mut self, event: &Event, execution: &Execution) {
        let width = self.width;
        let mine = event.id.thread.index();
        let start = mine * width;
        let own = start..start + width;
        match event.operation {
            Operation::Call { object, call } => {
                let synchronization =
                    execution.objects[object.index()].synchronization(call, event.reply);
                let object_clocks = of_object(&mut self.object_clocks, object);
                for clock in synchronization.acquires() {
                    if let Some(clock) = object_clocks.get(clock as usize * width..) {
                        join(&mut self.hb[own.clone()], clock);
                    }
                }
                self.hb[start + mine] = event.id.index + 1;
                if let Some(clock) = synchronization.releases() {
                    join(row(object_clocks, clock as usize, width), &self.hb[own]);
                }
                return;
            }
            Operation::Load { location, ordering } => {
                self.read(mine, location, Strength::of(ordering));
            }
            Operation::Store {
                location, ordering, ..
            } => {
                self.hb[start + mine] = event.id.index + 1;
                let release = match Strength::of(ordering).releases() {
                    true => &self.hb[own],
                    false => &self.fence[own],
                };
                row(&mut self.release_clocks, location.index(), width).copy_from_slice(release);
                return;
            }
            Operation::Spawn => {
                self.hb[start + mine] = event.id.index + 1;
                let child = event.reply.to_thread().index() * width;
                self.hb.copy_within(own, child);
                return;
            }
            Operation::Join { target } | Operation::IsFinished { target } => {
                if event.source.is_some() && target != event.id.thread {
                    let (mut to, from) = (start, target.index() * width);
                    for _ in 0..width {
                        self.hb[to] = self.hb[to].max(self.hb[from + to - start]);
                        to += 1;
                    }
                }
            }
            Operation::Begin
            | Operation::End
            | Operation::Yield
            | Operation::Sleep { .. }
            | Operation::Choose { .. }
            | Operation::Chance { .. }
            | Operation::Assume
            | Operation::Leads { .. } => {}
            _ => self.record_rare(event, execution),
        }
        self.hb[start + mine] = event.id.index + 1;
    }

    fn read(&mut self, thread: usize, location: LocationId, strength: Strength) {
        let width = self.width;
        if let Some(message) = self.release_clocks.get(location.index() * width..) {
            let clocks = match strength.acquires() {
                true => &mut self.hb,
                false => &mut self.acquirable,
            };
            join(&mut clocks[thread * width..][..width], message);
        }
    }

    /// Everything that programs do not do all the time.
    fn record_rare(&mut self, event: &Event, execution: &Execution) {
        let width = self.width;
        let mine = event.id.thread.index();
        let own = mine * width..(mine + 1) * width;
        if let Operation::Meet { barrier } = event.operation {
            self.meet(barrier, event, execution);
        }
        let Order {
            hb,
            acquirable,
            fence,
            release_clocks,
            object_clocks,
            closed,
            ..
        } = self;
        match event.operation {
            Operation::Update {
                location,
                ordering,
                failure,
                update,
            } => {
                let written =
                    update.apply(event.reply.to_value(), event.outcome.fails_spuriously());
                let strength = Strength::of(if written.is_some() { ordering } else { failure });
                self.read(mine, location, strength);
                if written.is_some() {
                    self.hb[own.start + mine] = event.id.index + 1;
                    let release = match strength.releases() {
                        true => &self.hb[own],
                        false => &self.fence[own],
                    };
                    join(
                        row(&mut self.release_clocks, location.index(), width),
                        release,
                    );
                }
            }
            Operation::Fence { ordering } => {
                let strength = Strength::of(ordering);
                let hb = &mut hb[own.clone()];
                if strength.acquires() {
                    join(hb, &acquirable[own.clone()]);
                }
                if strength.releases() {
                    hb[mine] = event.id.index + 1;
                    fence[own].copy_from_slice(hb);
                }
            }
            Operation::Send { port } => {
                let number = event.reply.to_value() as usize;
                hb[own.start + mine] = event.id.index + 1;
                row(of_object(object_clocks, port), number, width).copy_from_slice(&hb[own]);
            }
            Operation::Receive { ref ports, .. } => match event.reply.to_received() {
                Received::Message { port, number } => {
                    let port = execution.port_list(ports)[port as usize];
                    let sent = row(of_object(object_clocks, port), number as usize, width);
                    join(&mut hb[own.clone()], sent);
                    hb[own.start + mine] = event.id.index + 1;
                    self.taken.push((event.id, hb[own].to_vec()));
                }
                Received::Closed => {
                    for &port in execution.port_list(ports) {
                        join(&mut hb[own.clone()], of_object(closed, port));
                    }
                }
                Received::Empty => {}
            },
            Operation::Delivered { .. } => {
                let mut taken = self.taken.iter().rev();
                if let Some((_, clock)) = taken.find(|(receive, _)| Some(*receive) == event.source)
                {
                    join(&mut hb[own], clock);
                }
            }
            Operation::HangUp { port, location } => {
                let hb = &mut hb[own];
                hb[mine] = event.id.index + 1;
                row(release_clocks, location.index(), width).copy_from_slice(hb);
                join(row(of_object(closed, port), 0, width), hb);
            }
            Operation::Meet { .. } => {
                let of = |name| self.meetings.iter().rfind(|(known, _)| *known == name);
                let meeting = of(event.id).or_else(|| of(event.source?));
                if let Some((_, clock)) = meeting {
                    join(&mut hb[own], clock);
                }
            }
            _ => {}
        }
    }

    /// The members of a group meet, unless they have met.
    fn meet(&mut self, barrier: ObjectId, event: &Event, execution: &Execution) {
        let Object::Barrier(barrier) = &execution.objects[barrier.index()] else {
            return;
        };
        let (name, members) = barrier.group_left_by(event.id, event.source);
        if self.meetings.iter().any(|(known, _)| *known == name) {
            return;
        }
        let mut clock = vec![0; self.width];
        for member in members {
            join(&mut clock, self.hb(member));
            // That it came to the barrier, too.
            clock[member.index()] = self.hb(member)[member.index()] + 1;
        }
        self.meetings.push((name, clock));
    }
}
