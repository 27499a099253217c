//! Expected number of remaining events of each thread, learned from earlier executions.
//!
//! Only some events are counted. Events of threads that do not exist yet count for the thread that
//! will spawn them. Events after a join count only from there on: they follow all events of the
//! joined thread, so they do not compete with those. If a scheduler then runs each thread with a
//! probability proportional to its count, all interleavings are equally likely: of n!/(a! b! ...)
//! interleavings of threads with a, b, ... events, a/n begin with the first thread. (Zhao, Wolff,
//! Mathur, Roychoudhury, "Selectively Uniform Concurrency Testing", ASPLOS 2025.)

use super::family::Family;
use crate::base::ids::ThreadId;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::world::State;
use crate::world::strategy::Lesson;

/// Learned lengths of the program's threads, and their progress in this execution.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shares {
    family: Family,
    /// By position in the spawn tree.
    known: Vec<ThreadLengths>,
    /// By thread of this execution.
    now: Vec<Now>,
    /// For [`Shares::learn`], by thread.
    counted: Vec<Counted>,
}

/// Mean numbers of counted events of a thread.
#[derive(Clone, Debug, Default)]
struct ThreadLengths {
    /// For each stretch from one join to the next.
    stretches: Vec<Mean>,
    /// For the whole thread.
    whole: Mean,
}

/// Progress of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct Now {
    /// Number of joins so far.
    stretch: usize,
    /// Counted events of this stretch so far, those of spawned threads included.
    done: f64,
}

/// Counted events of a thread in a complete execution.
#[derive(Clone, Debug, Default)]
struct Counted {
    stretches: Vec<u64>,
    /// The parent, and the stretch in which it spawned the thread.
    parent: Option<(usize, usize)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: u64,
    executions: u64,
    /// The quotient; 0 without executions. Every decision reads it for every enabled thread.
    value: f64,
}

impl Mean {
    fn add(&mut self, count: u64) {
        self.add_all(count, 1);
    }

    /// Adds the sum over several executions.
    fn add_all(&mut self, sum: u64, executions: u64) {
        self.sum += sum;
        self.executions += executions;
        self.value = self.sum as f64 / self.executions as f64;
    }
}

/// A new thread.
pub(crate) struct Birth {
    pub(crate) child: ThreadId,
    /// The parent, and the part of its remaining events that is the child's.
    pub(crate) parent: Option<(ThreadId, f64)>,
}

impl Shares {
    /// Starts an execution.
    pub(crate) fn begin(&mut self) {
        self.family.begin();
        self.now.clear();
    }

    /// Returns the thread's position in the spawn tree.
    #[inline]
    pub(crate) fn place(&self, thread: ThreadId) -> usize {
        self.family.place(thread)
    }

    /// Returns the next new thread, if there is one, and makes it known.
    #[inline]
    pub(crate) fn meet(&mut self, state: &State) -> Option<Birth> {
        let (child, parent) = self.family.meet(state.execution())?;
        self.now.push(Now::default());
        self.make_room();
        let whole = self.known[self.place(child)].whole.value;
        let parent = parent.map(|parent| {
            let before = self.left(parent);
            self.now[parent.index()].done += whole;
            let part = if before > 0.0 { whole / before } else { 0.0 };
            (parent, part)
        });
        Some(Birth { child, parent })
    }

    fn make_room(&mut self) {
        if self.known.len() < self.family.places() {
            self.known
                .resize_with(self.family.places(), ThreadLengths::default);
        }
    }

    /// Makes all threads of a finished execution known, whichever strategy ran it.
    pub(crate) fn meet_all(&mut self, execution: &Execution) {
        self.family.begin();
        while self.family.meet(execution).is_some() {}
        self.make_room();
    }

    /// Returns the expected number of counted events of the thread before its next join, those of
    /// threads spawned until then included. Not positive if it had more than in earlier executions.
    #[inline]
    pub(crate) fn left(&self, thread: ThreadId) -> f64 {
        let Now { stretch, done } = self.now[thread.index()];
        let known = &self.known[self.place(thread)];
        known.stretches.get(stretch).map_or(0.0, |mean| mean.value) - done
    }

    /// Records a step of the thread; `counts` is true when it is counted.
    #[inline]
    pub(crate) fn performs(&mut self, thread: ThreadId, operation: &Operation, counts: bool) {
        let now = &mut self.now[thread.index()];
        if matches!(operation, Operation::Join { .. }) {
            *now = Now {
                stretch: now.stretch + 1,
                done: 0.0,
            };
        }
        now.done += f64::from(u8::from(counts));
    }

    /// Returns the lengths of all threads.
    pub(crate) fn lessons(&self) -> Vec<Lesson> {
        let lengths = |(thread, place): (Vec<u32>, usize)| {
            let known = self.known.get(place)?;
            let stretches = known.stretches.iter();
            Some(Lesson::Lengths {
                thread,
                stretches: stretches.map(|mean| (mean.sum, mean.executions)).collect(),
            })
        };
        self.family
            .paths()
            .into_iter()
            .filter_map(lengths)
            .collect()
    }

    /// Adds the lengths of the thread at a position in the spawn tree.
    pub(crate) fn recall(&mut self, thread: &[u32], stretches: &[(u64, u64)]) {
        let place = self.family.at_path(thread);
        self.make_room();
        let known = &mut self.known[place];
        if known.stretches.len() < stretches.len() {
            known.stretches.resize_with(stretches.len(), Mean::default);
        }
        for (mean, &(sum, executions)) in known.stretches.iter_mut().zip(stretches) {
            mean.add_all(sum, executions);
        }
        // Every execution of a thread has a first stretch.
        if let Some(&(_, executions)) = stretches.first() {
            let whole = stretches.iter().map(|(sum, _)| sum).sum();
            known.whole.add_all(whole, executions);
        }
    }

    /// Forgets all earlier executions.
    pub(crate) fn forget(&mut self) {
        for known in &mut self.known {
            known.stretches.clear();
            known.whole = Mean::default();
        }
    }

    /// Learns the numbers of counted events from a finished execution, all of whose threads are
    /// known.
    pub(crate) fn learn(&mut self, execution: &Execution, counts: impl Fn(&Event) -> bool) {
        let threads = execution.threads.len();
        if self.counted.len() < threads {
            self.counted.resize_with(threads, Counted::default);
        }
        for counted in &mut self.counted[..threads] {
            counted.parent = None;
            counted.stretches.clear();
            counted.stretches.push(0);
        }
        for event in &execution.events {
            let thread = event.id.thread.index();
            let stretches = &mut self.counted[thread].stretches;
            let stretch = stretches.len() - 1;
            stretches[stretch] += u64::from(counts(event));
            match event.operation {
                Operation::Join { .. } => stretches.push(0),
                Operation::Spawn => {
                    let child = event.reply.to_thread().index();
                    self.counted[child].parent = Some((thread, stretch));
                }
                _ => {}
            }
        }
        // Children come after their parents.
        for thread in (0..threads).rev() {
            let whole = self.counted[thread].stretches.iter().sum();
            if let Some((parent, stretch)) = self.counted[thread].parent {
                self.counted[parent].stretches[stretch] += whole;
            }
            let known = &mut self.known[self.family.place(ThreadId::new(thread))];
            known.whole.add(whole);
            let counts = &self.counted[thread].stretches;
            if known.stretches.len() < counts.len() {
                known.stretches.resize_with(counts.len(), Mean::default);
            }
            for (mean, &count) in known.stretches.iter_mut().zip(counts) {
                mean.add(count);
            }
        }
    }
}
