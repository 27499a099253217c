//! Clocks and outcomes of random programs, compared with a computation from the definitions.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use crate::base::ids::{EventId, LocationId, ObjectId, SiteId, ThreadId};
use crate::base::outcome::Outcome;
use crate::base::rng::Rng;
use crate::memory::happens_before::{EveryEvent, HappensBefore, LatestWrites};
use crate::memory::{Model, Weakness};
use crate::model::choice::Choice;
use crate::model::ending::Divergence;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::{Operation, Ports, Update, UpdateKind};
use crate::object::barrier::Barrier;
use crate::object::mutex::{self, Mutex};
use crate::object::port::Port;
use crate::object::rwlock::{self, RwLock};
use crate::object::semaphore::{self, Semaphore};
use crate::object::synchronization::Synchronization;
use crate::object::{Call, Object};
use crate::world::strategy::{Capabilities, Dispatch, Strategy};
use crate::world::{State, World};

const PROGRAMS: u64 = 200;
const EVENTS: usize = 90;
/// More than twice the initial width of a clock, so that clocks are widened twice.
const MAX_THREADS: usize = 10;
const LOCATIONS: usize = 2;
/// Threads that may hang up on the ordered port.
const SENDERS: u32 = 2;

/// The strategy of a world whose choices the test makes.
struct Unasked;

impl Strategy for Unasked {
    fn begin(&mut self) -> bool {
        true
    }

    fn choose(&mut self, _state: &State) -> Result<Choice, Box<Divergence>> {
        unreachable!("the test performs operations by itself")
    }
}

impl Dispatch for Box<dyn Strategy> {
    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        (**self).choose(state)
    }

    fn random_walk(&mut self) -> Option<&mut Rng> {
        None
    }

    fn strategy(&self) -> &dyn Strategy {
        &**self
    }

    fn strategy_mut(&mut self) -> &mut dyn Strategy {
        &mut **self
    }
}

/// The definitions of C11, evaluated for a prefix of an execution without any clock.
struct Definition<'a> {
    execution: &'a Execution,
    events: &'a [Event],
    /// By location, its writes in coherence order.
    coherence: &'a [Vec<EventId>],
    /// By event, a bit for each event that happens before it.
    before: Vec<u128>,
}

impl<'a> Definition<'a> {
    fn new(execution: &'a Execution, coherence: &'a [Vec<EventId>]) -> Self {
        let events = &execution.events[..];
        let mut this = Definition {
            execution,
            events,
            coherence,
            before: Vec::new(),
        };
        for (position, event) in events.iter().enumerate() {
            let mut direct = this.synchronizing(position);
            direct.extend(this.program_order(position).last());
            direct.extend(this.released_elsewhere(position, event));
            let closed = |all, &it: &usize| all | this.before[it] | 1 << it;
            this.before.push(direct.iter().fold(0, closed));
        }
        this
    }

    fn position(&self, id: EventId) -> usize {
        self.events.iter().position(|it| it.id == id).unwrap()
    }

    /// Returns the earlier events that synchronize with the event, except through memory.
    fn released_elsewhere(&self, position: usize, event: &Event) -> Vec<usize> {
        let earlier = |holds: &dyn Fn(&Event) -> bool| -> Vec<usize> {
            (0..position)
                .filter(|&it| holds(&self.events[it]))
                .collect()
        };
        match event.operation {
            Operation::Begin
            | Operation::Join { .. }
            | Operation::IsFinished { .. }
            | Operation::Delivered { .. } => event
                .source
                .map(|it| self.position(it))
                .into_iter()
                .collect(),
            Operation::Receive { ports, wait } => match event.source {
                Some(send) => vec![self.position(send)],
                None if wait => earlier(&|it| match it.operation {
                    Operation::HangUp { port, .. } => {
                        self.execution.port_list(&ports).contains(&port)
                    }
                    _ => false,
                }),
                None => Vec::new(),
            },
            Operation::Call { object, .. } => {
                let acquired: Vec<u32> = self.synchronization(event).acquires().collect();
                earlier(&|it| {
                    it.operation.object() == Some(object)
                        && matches!(it.operation, Operation::Call { .. })
                        && (self.synchronization(it).releases())
                            .is_some_and(|clock| acquired.contains(&clock))
                })
            }
            Operation::Meet { .. } => {
                let members = self.group(event).into_iter();
                let arrivals = members.filter_map(|meet| {
                    let mut own = (0..position).filter(|&it| {
                        let id = self.events[it].id;
                        id.thread == meet.thread && id.index < meet.index
                    });
                    own.next_back()
                });
                arrivals.collect()
            }
            _ => Vec::new(),
        }
    }

    fn synchronization(&self, event: &Event) -> Synchronization {
        let Operation::Call { object, call } = event.operation else {
            unreachable!("only calls complete");
        };
        self.execution.objects[object.index()].synchronization(call, event.reply)
    }

    /// Returns the events with which the members of a group pass the barrier, performed or not.
    fn group(&self, event: &Event) -> Vec<EventId> {
        let (name, members) = self.execution.group(event).unwrap();
        let of = |thread: ThreadId| {
            let mut own = self.events.iter().filter(|it| it.id.thread == thread);
            let passed = own.clone().find(|it| {
                it.operation == event.operation
                    && self.execution.group(it).is_some_and(|(its, _)| its == name)
            });
            let next = || EventId {
                thread,
                index: own.by_ref().count() as u32,
            };
            passed.map_or_else(next, |it| it.id)
        };
        members.into_iter().map(of).collect()
    }

    /// Returns the earlier events of the same thread.
    fn program_order(&self, position: usize) -> impl Iterator<Item = usize> + '_ {
        let thread = self.events[position].id.thread;
        (0..position).filter(move |&it| self.events[it].id.thread == thread)
    }

    fn writes(&self, event: &Event) -> bool {
        self.coherence.iter().flatten().any(|&it| it == event.id)
    }

    fn ordering(&self, event: &Event) -> Ordering {
        match event.operation {
            Operation::Load { ordering, .. }
            | Operation::Store { ordering, .. }
            | Operation::Fence { ordering } => ordering,
            Operation::Update {
                ordering, failure, ..
            } => match self.writes(event) {
                true => ordering,
                false => failure,
            },
            Operation::HangUp { .. } => Release,
            _ => Relaxed,
        }
    }

    /// Returns the releases that synchronize with the event.
    fn synchronizing(&self, position: usize) -> Vec<usize> {
        let event = &self.events[position];
        if !matches!(self.ordering(event), Acquire | AcqRel) {
            return Vec::new();
        }
        let reads: Vec<usize> = match event.operation {
            Operation::Fence { .. } => self.program_order(position).collect(),
            _ => vec![position],
        };
        let mut found = Vec::new();
        for read in reads.into_iter().map(|read| &self.events[read]) {
            // Along the release sequence, from its end to its head.
            let mut next = read.source.filter(|_| is_read(read));
            while let Some(write) = next.map(|write| self.position(write)) {
                let fences = self
                    .program_order(write)
                    .filter(|&it| is_fence(&self.events[it]));
                let mut heads: Vec<usize> = fences.collect();
                heads.push(write);
                heads.retain(|&it| matches!(self.ordering(&self.events[it]), Release | AcqRel));
                found.extend(heads);
                next = self.events[write]
                    .source
                    .filter(|_| is_read(&self.events[write]));
            }
        }
        found
    }

    /// Returns the thread's events, and those that happen before them.
    fn known(&self, thread: ThreadId) -> u128 {
        let own = (0..self.events.len()).rfind(|&it| self.events[it].id.thread == thread);
        own.map_or(0, |last| self.before[last] | 1 << last)
    }

    /// Returns the vector clock of the thread.
    fn clock(&self, thread: ThreadId, threads: usize) -> Vec<u32> {
        let mut clock = vec![0; threads];
        for (position, event) in self.events.iter().enumerate() {
            if self.known(thread) >> position & 1 == 0 {
                continue;
            }
            // All members of a group pass a barrier in one step.
            let passes = match event.operation {
                Operation::Meet { .. } => self.group(event),
                _ => vec![event.id],
            };
            for id in passes {
                let count = &mut clock[id.thread.index()];
                *count = (*count).max(id.index + 1);
            }
        }
        clock
    }

    /// Returns the clock of the last event's causes: program order, the sources of all other
    /// events, and for a pass of a barrier the arrivals of its group and of earlier groups.
    fn causal_clock(&self, threads: usize) -> Vec<u32> {
        let mut before: Vec<u128> = Vec::new();
        for (position, event) in self.events.iter().enumerate() {
            let mut direct: Vec<usize> = self.program_order(position).collect();
            match event.operation {
                Operation::Load { .. } | Operation::Update { .. } | Operation::Call { .. } => {
                    direct.extend(event.source.map(|it| self.position(it)));
                }
                Operation::Meet { .. } => {
                    let meets = self.events.iter().enumerate();
                    let meets = meets.filter(|(_, it)| it.operation == event.operation);
                    let group = |it: &Event| self.execution.group(it).map(|(name, _)| name);
                    let first = meets
                        .clone()
                        .find(|(_, it)| group(it) == group(event))
                        .map_or(position, |(first, _)| first);
                    for (meet, _) in meets.filter(|&(meet, _)| meet <= first) {
                        direct.extend(self.released_elsewhere(meet, &self.events[meet]));
                    }
                }
                _ => direct.extend(self.released_elsewhere(position, event)),
            }
            let closed = |all, &it: &usize| all | before[it] | 1 << it;
            before.push(direct.iter().fold(0, closed));
        }
        let mut clock = vec![0; threads];
        for (position, event) in self.events.iter().enumerate() {
            if position + 1 == self.events.len()
                || before[self.events.len() - 1] >> position & 1 == 1
            {
                clock[event.id.thread.index()] += 1;
            }
        }
        clock
    }

    /// Returns the number of writes that the thread's next access must not precede.
    fn floor(&self, thread: ThreadId, location: LocationId) -> usize {
        let writes = &self.coherence[location.index()];
        let rank = |id: EventId| writes.iter().position(|&it| it == id).map(|it| it + 1);
        let events = self.events.iter().enumerate();
        let known = events.filter(|(position, _)| self.known(thread) >> position & 1 == 1);
        let ranks = known.filter_map(|(_, event)| {
            let source = event.source.filter(|_| is_read(event));
            rank(event.id).max(source.and_then(rank))
        });
        ranks.max().unwrap_or(0)
    }

    /// Returns the possible outcomes of an access.
    fn outcomes(&self, state: &State, thread: ThreadId, operation: &Operation) -> Vec<u32> {
        let Some(location) = operation.location() else {
            return vec![0];
        };
        let writes = &self.coherence[location.index()];
        let reach = writes.len() - self.floor(thread, location) + 1;
        let splits_update = |back: usize| {
            let next = writes.get(writes.len() - back);
            next.is_some_and(|&next| is_read(&self.events[self.position(next)]))
        };
        let mut outcomes = Vec::new();
        for back in 0..reach {
            match *operation {
                Operation::Load { .. } => outcomes.push(back as u32),
                Operation::Store { .. } if !splits_update(back) => outcomes.push(back as u32),
                Operation::HangUp { .. } if back == 0 => outcomes.push(0),
                Operation::Update { update, .. } => {
                    let old = state.value_of(location, back as u32);
                    let succeeds = update.apply(old, false).is_some();
                    if !succeeds || !splits_update(back) {
                        outcomes.push(2 * back as u32);
                    }
                    if succeeds && let UpdateKind::CompareExchange { weak: true, .. } = update.kind
                    {
                        outcomes.push(2 * back as u32 + 1);
                    }
                }
                _ => {}
            }
        }
        outcomes
    }
}

fn is_read(event: &Event) -> bool {
    matches!(
        event.operation,
        Operation::Load { .. } | Operation::Update { .. }
    )
}

fn is_fence(event: &Event) -> bool {
    matches!(event.operation, Operation::Fence { .. })
}

fn random_operation(rng: &mut fastrand::Rng, port: ObjectId, threads: usize) -> Operation {
    let location = LocationId::new(rng.usize(..LOCATIONS));
    let value = rng.u64(..3);
    match rng.u32(..20) {
        0..6 => Operation::Load {
            location,
            ordering: rng.choice([Relaxed, Acquire]).unwrap(),
        },
        6..11 => Operation::Store {
            location,
            value: Some(value),
            ordering: rng.choice([Relaxed, Release]).unwrap(),
        },
        11..16 => Operation::Update {
            location,
            ordering: rng.choice([Relaxed, Acquire, Release, AcqRel]).unwrap(),
            failure: rng.choice([Relaxed, Acquire]).unwrap(),
            update: Update {
                kind: match rng.u32(..4) {
                    0 => UpdateKind::Swap(value),
                    1 => UpdateKind::Add(1),
                    weak => UpdateKind::CompareExchange {
                        expected: rng.u64(..3),
                        new: value,
                        weak: weak == 2,
                    },
                },
                bits: 2,
            },
        },
        16 => Operation::HangUp { port, location },
        17 if threads < MAX_THREADS => Operation::Spawn,
        _ => Operation::Fence {
            ordering: rng.choice([Acquire, Release, AcqRel]).unwrap(),
        },
    }
}

#[test]
fn clocks_and_outcomes_are_as_defined() {
    let mut widest = 0;
    let mut stale_writes = 0;
    let mut world =
        World::<Box<dyn Strategy>>::new(Box::new(Unasked) as Box<_>, usize::MAX).under(Model::Rc11);
    for seed in 0..PROGRAMS {
        let mut rng = fastrand::Rng::with_seed(seed);
        let site = SiteId::new(0);
        world.weakness = Weakness::WEAK;
        assert!(world.begin(site));
        for _ in 0..LOCATIONS {
            world.add_location(0);
        }
        let port = world.add_object(Object::Port(Port::ordered(0)));
        let mut coherence = vec![Vec::new(); LOCATIONS];
        let state = &mut world.state;
        assert!(state.is_weak() && !state.is_plain);
        while state.execution.events.len() < EVENTS {
            let threads = state.threads.len();
            let thread = ThreadId::new(rng.usize(..threads));
            let operation = *state.pending(thread);
            let definition = Definition::new(&state.execution, &coherence);
            assert_eq!(
                state.views.hb(thread)[..threads],
                definition.clock(thread, threads),
                "clock of {thread:?}, seed {seed}"
            );
            let expected = definition.outcomes(state, thread, &operation);
            let count = state.outcomes(thread);
            let outcomes = state.each_outcome(thread);
            let allowed = outcomes.filter(|&it| state.allows(thread, it));
            let allowed: Vec<u32> = allowed.map(Outcome::number).collect();
            assert_eq!(
                allowed, expected,
                "{operation:?} of {thread:?}, seed {seed}"
            );
            if let Operation::Update { update, .. } = operation
                && !matches!(update.kind, UpdateKind::CompareExchange { .. })
            {
                assert_eq!(count == 1, allowed.len() == 1, "nothing is drawn in vain");
            }
            let outcome = rng.choice(allowed).unwrap();
            state.perform(thread, Outcome::nth(outcome), true);
            let event = state.execution.events.last().unwrap();
            if let Some(location) = operation.location()
                && let Some(writes) = written(event)
            {
                let order = &mut coherence[location.index()];
                order.insert(order.len() - writes as usize, event.id);
                stale_writes += u32::from(writes > 0);
            }
            let next = random_operation(&mut rng, port, state.threads.len());
            state.announce(thread, next, site);
        }
        widest = widest.max(state.threads.len());
    }
    assert!(widest > 8 && stale_writes > 250, "{widest} {stale_writes}");
}

/// Returns a random access, or a fence if there are to be any; most accesses are `SeqCst`, if there are no
/// fences.
fn random_strong_operation(rng: &mut fastrand::Rng, threads: usize, has_fences: bool) -> Operation {
    let location = LocationId::new(rng.usize(..LOCATIONS));
    let is_strong = rng.u32(..4) > 2 * u32::from(has_fences);
    if has_fences && rng.u32(..3) == 0 {
        let ordering = rng.choice([SeqCst, SeqCst, Acquire, Release]).unwrap();
        return Operation::Fence { ordering };
    }
    // Accesses that synchronize leave the fences less to decide.
    let mut ordering = |weak: [Ordering; 2]| match (is_strong, has_fences) {
        (true, _) => SeqCst,
        (false, true) => weak[usize::from(rng.u32(..6) == 0)],
        (false, false) => rng.choice(weak).unwrap(),
    };
    let (load, store) = (ordering([Relaxed, Acquire]), ordering([Relaxed, Release]));
    match rng.u32(..10) {
        0..=4 => Operation::Load {
            location,
            ordering: load,
        },
        5..=7 => Operation::Store {
            location,
            value: Some(rng.u64(..4)),
            ordering: store,
        },
        8 if threads < 4 => Operation::Spawn,
        _ => Operation::Update {
            location,
            ordering: store,
            failure: Relaxed,
            update: Update {
                kind: UpdateKind::Add(1),
                bits: 8,
            },
        },
    }
}

/// Compares the axiom on `SeqCst` at the next access with the axiom on all events.
#[test]
fn the_next_seq_cst_access_is_judged_as_by_all_events() {
    let mut refused = 0;
    let mut admitted = 0;
    let mut world =
        World::<Box<dyn Strategy>>::new(Box::new(Unasked) as Box<_>, usize::MAX).under(Model::Rc11);
    let mut refused_beside_fences = 0;
    for seed in 0..12 * PROGRAMS {
        let mut rng = fastrand::Rng::with_seed(seed);
        let site = SiteId::new(0);
        // With fences, all events take much longer to judge.
        let (has_fences, events) = match seed % 2 {
            0 => (false, EVENTS),
            _ => (true, 2 * EVENTS / 3),
        };
        world.weakness = Weakness::WEAK;
        assert!(world.begin(site));
        for _ in 0..LOCATIONS {
            world.add_location(0);
        }
        let state = &mut world.state;
        while state.execution.events.len() < events {
            let thread = ThreadId::new(rng.usize(..state.threads.len()));
            let operation = *state.pending(thread);
            let mut possible = Vec::new();
            for outcome in state.each_outcome(thread) {
                let (back, writes) = match operation {
                    Operation::Load { .. } => (outcome.back(), false),
                    Operation::Store { .. } => (outcome.back(), true),
                    Operation::Update { .. } if !outcome.fails_spuriously() => {
                        (outcome.back_of_update(), true)
                    }
                    _ => (0, false),
                };
                if back > 0 {
                    let (views, execution) = (&state.views, &state.execution);
                    let expected = views.satisfies_psc(execution, thread, &operation, back, writes);
                    let found = views.is_consistent(execution, thread, &operation, back, writes);
                    assert_eq!(found, expected, "{operation:?} of {thread:?}, seed {seed}");
                    refused += u32::from(!found);
                    refused_beside_fences += u32::from(!found && has_fences);
                    admitted += u32::from(found);
                }
                if state.allows(thread, outcome) {
                    possible.push(outcome);
                }
            }
            let outcome = rng.choice(possible).unwrap();
            state.perform(thread, outcome, true);
            let next = random_strong_operation(&mut rng, state.threads.len(), has_fences);
            state.announce(thread, next, site);
        }
    }
    assert!(refused > 1000 && admitted > 1000, "{refused} {admitted}");
    assert!(refused_beside_fences > 500, "{refused_beside_fences}");
}

/// Returns for a write the number of later writes in coherence order.
fn written(event: &Event) -> Option<u32> {
    match event.operation {
        Operation::Store { .. } | Operation::HangUp { .. } => Some(event.back()),
        Operation::Update { update, .. } => {
            let new = update.apply(event.reply.to_value(), event.outcome.fails_spuriously());
            new.map(|_| event.back())
        }
        _ => None,
    }
}

/// Objects of a random program, and the hang-ups and joins of its threads.
struct Objects {
    mutex: ObjectId,
    rwlock: ObjectId,
    semaphore: ObjectId,
    barrier: ObjectId,
    /// An ordered port and another one.
    ports: [ObjectId; 2],
    hang_ups: u32,
    joined: Vec<ThreadId>,
}

impl Objects {
    /// Returns a random operation that the thread may perform now or once another thread lets it.
    fn random_operation(
        &mut self,
        rng: &mut fastrand::Rng,
        state: &State,
        thread: ThreadId,
    ) -> Operation {
        let threads = state.threads.len();
        let own = |holds: &dyn Fn(&Event) -> bool| {
            let events = state.execution.events.iter();
            events
                .filter(|it| it.id.thread == thread && holds(it))
                .count()
        };
        let call = |object, call| Operation::Call { object, call };
        let on = |object: ObjectId, what: &dyn Fn(Call) -> bool| {
            own(&|it| match it.operation {
                Operation::Call { object: of, call } => {
                    of == object && what(call) && !call.changed_nothing(it.reply)
                }
                _ => false,
            })
        };
        let others = (1..threads).map(ThreadId::new);
        let others: Vec<_> = others
            .filter(|it| *it != thread && !self.joined.contains(it))
            .collect();
        let port = self.ports[rng.usize(..2)];
        match rng.u32(..44) {
            0..4 => {
                let unlocks = |it| matches!(it, Call::Mutex(mutex::Call::Unlock { .. }));
                let unlocked = on(self.mutex, &unlocks);
                let locked = on(self.mutex, &|it| !unlocks(it));
                let choice = match (locked > unlocked, rng.bool()) {
                    (true, _) => mutex::Call::Unlock { poison: false },
                    (false, true) => mutex::Call::Lock,
                    (false, false) => mutex::Call::TryLock,
                };
                call(self.mutex, Call::Mutex(choice))
            }
            4..8 => {
                use rwlock::Call::{Read, ReadUnlock, TryRead, TryWrite, Write, WriteUnlock};
                let count = |what: &dyn Fn(rwlock::Call) -> bool| {
                    on(
                        self.rwlock,
                        &|it| matches!(it, Call::RwLock(it) if what(it)),
                    )
                };
                let reads =
                    count(&|it| matches!(it, Read | TryRead)) > count(&|it| it == ReadUnlock);
                let writes = count(&|it| matches!(it, Write | TryWrite))
                    > count(&|it| matches!(it, WriteUnlock { .. }));
                let choice = match (reads, writes) {
                    (true, _) => ReadUnlock,
                    (_, true) => WriteUnlock { poison: false },
                    _ => rng.choice([Read, TryRead, Write, TryWrite]).unwrap(),
                };
                call(self.rwlock, Call::RwLock(choice))
            }
            8..11 => {
                use semaphore::Call::{Acquire, Release, TryAcquire};
                let choice = rng.choice([Acquire, TryAcquire, Release, Release]).unwrap();
                call(self.semaphore, Call::Semaphore(choice))
            }
            11..13 => Operation::Meet {
                barrier: self.barrier,
            },
            13..17 => Operation::Send { port },
            17..20 => Operation::Receive {
                ports: Ports::One(port),
                wait: rng.u32(..3) == 0,
            },
            20..22 if own(&|it| it.operation == Operation::Send { port }) > 0 => {
                Operation::Delivered { port }
            }
            22..25 if self.hang_ups < SENDERS => {
                self.hang_ups += 1;
                Operation::HangUp {
                    port: self.ports[0],
                    location: LocationId::new(0),
                }
            }
            25..27 if thread.index() > 0 => Operation::End,
            27..29 if !others.is_empty() => {
                let target = rng.choice(others).unwrap();
                self.joined.push(target);
                Operation::Join { target }
            }
            29..32 if threads > 1 => Operation::IsFinished {
                target: ThreadId::new(rng.usize(1..threads)),
            },
            32..34 if threads < MAX_THREADS => Operation::Spawn,
            _ => loop {
                let access = random_operation(rng, self.ports[0], MAX_THREADS);
                if !matches!(access, Operation::HangUp { .. }) {
                    return access;
                }
            },
        }
    }
}

/// Compares clocks of executions with stale reads and without: while they run, and afterwards.
#[test]
fn clocks_of_objects_are_as_defined() {
    let mut world =
        World::<Box<dyn Strategy>>::new(Box::new(Unasked) as Box<dyn Strategy>, usize::MAX)
            .under(Model::Rc11);
    let mut order = HappensBefore::<LatestWrites>::default();
    let mut acquired = [0; 8];
    for seed in 0..5 * PROGRAMS {
        let mut rng = fastrand::Rng::with_seed(seed);
        let is_stale = seed % 2 == 0;
        let site = SiteId::new(0);
        world.weakness = Weakness::WEAK;
        assert!(world.begin(site));
        for _ in 0..LOCATIONS {
            world.add_location(0);
        }
        let mut objects = Objects {
            mutex: world.add_object(Object::Mutex(Mutex::new(false))),
            rwlock: world.add_object(Object::RwLock(RwLock::new(false))),
            semaphore: world.add_object(Object::Semaphore(Semaphore::counting(1))),
            barrier: world.add_object(Object::Barrier(Barrier::new(2))),
            ports: [Port::ordered(SENDERS), Port::unordered()]
                .map(|port| world.add_object(Object::Port(port))),
            hang_ups: 0,
            joined: Vec::new(),
        };
        let mut coherence = vec![Vec::new(); LOCATIONS];
        let state = &mut world.state;
        order.reset(true);
        order.add_thread();
        while state.execution.events.len() < EVENTS {
            let Some(thread) = rng.choice(state.enabled().to_vec()) else {
                break;
            };
            let operation = *state.pending(thread);
            let outcomes = state.each_outcome(thread);
            let mut allowed: Vec<Outcome> =
                outcomes.filter(|&it| state.allows(thread, it)).collect();
            if !is_stale && operation.location().is_some() {
                allowed.truncate(1);
            }
            let outcome = rng.choice(allowed).unwrap();
            state.perform(thread, outcome, true);
            let event = *state.execution.events.last().unwrap();
            if let Some(location) = operation.location()
                && let Some(writes) = written(&event)
            {
                let writes_of = &mut coherence[location.index()];
                writes_of.insert(writes_of.len() - writes as usize, event.id);
            }
            let threads = state.threads.len();
            let definition = Definition::new(&state.execution, &coherence);
            let expected = definition.clock(thread, threads);
            let shown = || format!("{operation:?} of {thread:?}, seed {seed}");
            assert_eq!(state.views.hb(thread)[..threads], expected, "{}", shown());
            let offline = HappensBefore::<EveryEvent>::of(&state.execution);
            assert_eq!(offline.clock(event.id)[..threads], expected, "{}", shown());
            let causes = HappensBefore::causes(&state.execution);
            assert_eq!(
                causes.clock(event.id)[..threads],
                definition.causal_clock(threads),
                "{}",
                shown()
            );
            if !is_stale {
                if operation == Operation::Spawn {
                    order.add_thread();
                }
                order.record(&event, &state.execution);
                assert_eq!(order.hb(thread)[..threads], expected, "{}", shown());
            }
            let position = state.execution.events.len() - 1;
            let synchronizes = !definition.released_elsewhere(position, &event).is_empty();
            acquired[kind(&event)] += u32::from(synchronizes);
            if operation != Operation::End {
                let next = objects.random_operation(&mut rng, state, thread);
                state.announce(thread, next, site);
            }
        }
    }
    assert!(acquired.iter().all(|&count| count > 30), "{acquired:?}");
}

/// Returns a number for each way to synchronize besides memory.
fn kind(event: &Event) -> usize {
    match event.operation {
        Operation::Begin => 0,
        Operation::Join { .. } => 1,
        Operation::IsFinished { .. } => 2,
        Operation::Receive { .. } if event.source.is_some() => 3,
        Operation::Receive { .. } => 4,
        Operation::Delivered { .. } => 5,
        Operation::Meet { .. } => 6,
        _ => 7,
    }
}

/// A sampler whose threads the test runs.
struct Sampled;

impl Strategy for Sampled {
    fn begin(&mut self) -> bool {
        true
    }

    fn choose(&mut self, _: &State) -> Result<Choice, Box<Divergence>> {
        unreachable!("the test chooses")
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::SAMPLER
    }
}

/// Calls that do not synchronize make stale reads of SeqCst accesses possible, and weak accesses make them common.
#[test]
fn reads_are_stale_in_some_executions_of_programs_with_seq_cst_accesses_only() {
    let loose = Weakness::LOOSE.and(Weakness::ACCESS);
    for (weakness, plain) in [
        (Weakness::ACCESS, [true; 8]),
        (Weakness::LOOSE, [true; 8]),
        (loose, [true, false, true, false, true, false, true, false]),
        (loose.and(Weakness::WEAK), [false; 8]),
        (Weakness::WEAK, [false; 8]),
    ] {
        let strategy = Box::new(Sampled) as Box<_>;
        let mut world = World::<Box<dyn Strategy>>::new(strategy, usize::MAX).under(Model::Rc11);
        world.weakness = weakness;
        let plains = plain.map(|_| {
            assert!(world.begin(SiteId::new(0)));
            world.state.is_plain
        });
        assert_eq!(plains, plain, "{weakness:?}");
    }
}
