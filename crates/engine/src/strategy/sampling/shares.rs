//! How many events each thread has still to come, as far as earlier executions tell.
//!
//! Some of the events are counted. Those of threads that do not exist yet count for whoever will make
//! them. What comes after a join counts only from there on: it comes after all that the joined thread
//! does, so it does not compete with that. If a scheduler then runs each thread with a probability in
//! proportion to its count, all orders are equally likely: of n!/(a! b! ...) orders of threads with
//! a, b, ... events, a/n of them begin with the first thread. (Zhao, Wolff, Mathur, Roychoudhury,
//! "Selectively Uniform Concurrency Testing", ASPLOS 2025.)

use super::family::Family;
use crate::base::ids::ThreadId;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::world::State;

/// What is known of the program's threads, and where they are now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shares {
    family: Family,
    /// By place.
    known: Vec<ThreadLengths>,
    /// By thread of this execution.
    now: Vec<Now>,
    /// For [`Shares::learn`], by thread.
    counted: Vec<Counted>,
}

/// What is known of a thread.
#[derive(Clone, Debug, Default)]
struct ThreadLengths {
    /// The counts of each stretch from one join to the next.
    stretches: Vec<Mean>,
    /// All of them together.
    whole: Mean,
}

/// How far a thread is.
#[derive(Clone, Copy, Debug, Default)]
struct Now {
    /// How many joins it has behind it.
    stretch: usize,
    /// What it and the threads it made are known to have had of this stretch.
    done: f64,
}

/// What a thread had in a whole execution.
#[derive(Clone, Debug, Default)]
struct Counted {
    stretches: Vec<u64>,
    /// Who made it, and in which stretch.
    parent: Option<(usize, usize)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: u64,
    executions: u64,
}

impl Mean {
    fn add(&mut self, count: u64) {
        self.sum += count;
        self.executions += 1;
    }

    #[inline]
    fn value(&self) -> f64 {
        match self.executions {
            0 => 0.0,
            executions => self.sum as f64 / executions as f64,
        }
    }
}

/// A thread that was made.
pub(crate) struct Birth {
    pub(crate) child: ThreadId,
    /// Who made it, and which part of what that one had left is the child's.
    pub(crate) parent: Option<(ThreadId, f64)>,
}

impl Shares {
    /// An execution begins.
    pub(crate) fn begin(&mut self) {
        self.family.begin();
        self.now.clear();
    }

    /// The thread's place in the tree of creations.
    #[inline]
    pub(crate) fn place(&self, thread: ThreadId) -> usize {
        self.family.place(thread)
    }

    /// Gets to know a new thread, if there is one.
    #[inline]
    pub(crate) fn meet(&mut self, state: &State) -> Option<Birth> {
        let (child, parent) = self.family.meet(state.execution())?;
        self.now.push(Now::default());
        self.make_room();
        let whole = self.known[self.place(child)].whole.value();
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

    /// Gets to know the threads of an execution that has ended, whoever made its choices.
    pub(crate) fn meet_all(&mut self, execution: &Execution) {
        self.family.begin();
        while self.family.meet(execution).is_some() {}
        self.make_room();
    }

    /// How many counted events the thread has before its next join, with those of the threads it makes
    /// until then. If it had more than in earlier executions, this is not positive.
    #[inline]
    pub(crate) fn left(&self, thread: ThreadId) -> f64 {
        let Now { stretch, done } = self.now[thread.index()];
        let known = &self.known[self.place(thread)];
        known.stretches.get(stretch).map_or(0.0, Mean::value) - done
    }

    /// The thread goes on, and whether that counts.
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

    /// Forgets what earlier executions had.
    pub(crate) fn forget(&mut self) {
        for known in &mut self.known {
            known.stretches.clear();
            known.whole = Mean::default();
        }
    }

    /// Learns how many events count from an execution that has ended, all of whose threads were met.
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
