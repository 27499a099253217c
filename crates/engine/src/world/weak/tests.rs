//! Clocks and outcomes of random programs, compared with a computation from the definitions.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};

use crate::base::ids::{EventId, LocationId, ObjectId, SiteId, ThreadId};
use crate::base::outcome::Outcome;
use crate::memory::Model;
use crate::model::choice::Choice;
use crate::model::ending::Divergence;
use crate::model::event::Event;
use crate::model::operation::{Operation, Update, UpdateKind};
use crate::object::Object;
use crate::object::port::Port;
use crate::world::strategy::{Dispatch, Strategy};
use crate::world::{State, World};

const PROGRAMS: u64 = 200;
const EVENTS: usize = 90;
/// More than twice the initial width of a clock, so that clocks are widened twice.
const MAX_THREADS: usize = 10;
const LOCATIONS: usize = 2;

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

    fn skips_trivial_choices(&self) -> bool {
        false
    }

    fn strategy(&self) -> &dyn Strategy {
        &**self
    }

    fn strategy_mut(&mut self) -> &mut dyn Strategy {
        &mut **self
    }
}

/// What C11 defines, computed anew for a prefix of an execution and without any clock.
struct Definition<'a> {
    events: &'a [Event],
    /// By location, its writes in coherence order.
    coherence: &'a [Vec<EventId>],
    /// By event, a bit for each event that happens before it.
    before: Vec<u128>,
}

impl<'a> Definition<'a> {
    fn new(events: &'a [Event], coherence: &'a [Vec<EventId>]) -> Self {
        let mut this = Definition {
            events,
            coherence,
            before: Vec::new(),
        };
        for (position, event) in events.iter().enumerate() {
            let mut direct = this.synchronizing(position);
            direct.extend(this.program_order(position).last());
            if matches!(event.operation, Operation::Begin) {
                direct.extend(event.source.map(|spawn| this.position(spawn)));
            }
            let closed = |all, &it: &usize| all | this.before[it] | 1 << it;
            this.before.push(direct.iter().fold(0, closed));
        }
        this
    }

    fn position(&self, id: EventId) -> usize {
        self.events.iter().position(|it| it.id == id).unwrap()
    }

    /// Earlier events of the same thread.
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

    /// Releases that synchronize with the event.
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

    /// The thread's events, and those that happen before them.
    fn known(&self, thread: ThreadId) -> u128 {
        let own = (0..self.events.len()).rfind(|&it| self.events[it].id.thread == thread);
        own.map_or(0, |last| self.before[last] | 1 << last)
    }

    /// The vector clock of the thread.
    fn clock(&self, thread: ThreadId, threads: usize) -> Vec<u32> {
        let mut clock = vec![0; threads];
        for (position, event) in self.events.iter().enumerate() {
            clock[event.id.thread.index()] += (self.known(thread) >> position & 1) as u32;
        }
        clock
    }

    /// Number of writes that the thread's next access must not come before.
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

    /// Possible outcomes of an access.
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
        World::<Box<dyn Strategy>>::new(Box::new(Unasked), usize::MAX).under(Model::Rc11);
    for seed in 0..PROGRAMS {
        let mut rng = fastrand::Rng::with_seed(seed);
        let site = SiteId::new(0);
        world.is_weak = true;
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
            let definition = Definition::new(&state.execution.events, &coherence);
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

/// For a write, the number of writes behind it.
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
