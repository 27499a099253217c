//! Schedulers of the user's own: the trait, its view of an execution, and its adapter.
//!
//! A [`Scheduler`] is a sampling strategy written outside raddle. [`View`] is all that it reads of
//! a running execution; `adapter` makes an engine strategy of it.

pub(crate) mod adapter;
mod view;

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

pub use raddle_engine::ThreadId;
pub use raddle_engine::strategy::Randomness;
pub use view::{
    Class, Ended, Event, Events, Finished, HappensBefore, Operation, OperationKind, Target, Thread,
    View,
};

/// Chooses the next thread: a strategy of your own, for
/// [`Checker::scheduler`](crate::Checker::scheduler).
///
/// Every step of an execution performs one operation of one thread. Before each,
/// [`choose`](Self::choose) receives the enabled threads with their pending operations and the
/// events so far, and returns one of the threads. The view is complete: a scheduler can reach every
/// schedule that raddle's own strategies can.
///
/// A scheduler must be deterministic for a seed. Everything in a view is the same whenever the same
/// choices are made: order threads by [`ThreadId`], not by addresses or time.
///
/// Failures are minimised, explained, saved and replayed as those of other strategies. A check that
/// passes has the guarantee [`Sampled`](raddle_report::Guarantee::Sampled), even if the scheduler
/// runs out of executions: raddle cannot verify that it left none out.
///
/// # Example
///
/// Random priorities, in the manner of PCT. The enabled thread with the highest priority runs, and
/// now and then it gets a lower one.
///
/// ```
/// use raddle::scheduler::{Choice, View};
/// use raddle::sync::Arc;
/// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
/// use raddle::{Checker, Scheduler, thread};
///
/// struct Priorities {
///     random: u64,
///     by_thread: Vec<u64>,
/// }
///
/// impl Priorities {
///     fn draw(&mut self) -> u64 {
///         self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15); // SplitMix64
///         let mixed = (self.random ^ self.random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
///         let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
///         mixed ^ mixed >> 31
///     }
/// }
///
/// impl Scheduler for Priorities {
///     fn begin(&mut self) -> bool {
///         self.by_thread.clear();
///         true
///     }
///
///     fn choose(&mut self, view: &View<'_>) -> Choice {
///         while self.by_thread.len() < view.thread_count() {
///             let priority = self.draw();
///             self.by_thread.push(priority);
///         }
///         let priority = |thread: &raddle::scheduler::Thread<'_>| self.by_thread[thread.id().index()];
///         let next = view.enabled().max_by_key(priority).expect("a thread is enabled");
///         if self.draw() % 8 == 0 {
///             self.by_thread[next.id().index()] >>= 1;
///         }
///         next.with_outcome((self.draw() % u64::from(next.outcomes())) as u32)
///     }
/// }
///
/// let report = Checker::new()
///     .scheduler(|seed, _worker| Priorities { random: seed, by_thread: Vec::new() })
///     .max_executions(1_000)
///     .run(|| {
///         let counter = Arc::new(AtomicU32::new(0));
///         let other = Arc::clone(&counter);
///         let thread = thread::spawn(move || other.store(other.load(SeqCst) + 1, SeqCst));
///         counter.store(counter.load(SeqCst) + 1, SeqCst);
///         thread.join().unwrap();
///         assert_eq!(counter.load(SeqCst), 2, "an update was lost");
///     });
/// assert_eq!(report.failures.len(), 1);
/// ```
pub trait Scheduler: Send {
    /// Prepares the next execution; `false` ends the check. The default runs executions until the
    /// budget is used up.
    fn begin(&mut self) -> bool {
        true
    }

    /// Chooses one of the enabled threads; at least one is. Build the choice with
    /// [`Thread::run`] or [`Thread::with_outcome`].
    ///
    /// The call is not part of the program under test: raddle's types behave as std's here. A
    /// choice that cannot be made, or a panic, stops the check with a panic that names the cause.
    fn choose(&mut self, view: &View<'_>) -> Choice;

    /// Returns true to discard the execution: it ends here and has no verdict. Called before every
    /// [`choose`](Self::choose), with the same view.
    fn discards(&mut self, _view: &View<'_>) -> bool {
        false
    }

    /// Receives the execution that has just ended.
    fn end(&mut self, _finished: &Finished<'_>) {}

    /// Returns the capabilities of the scheduler; called after every [`begin`](Self::begin).
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }
}

impl<S: Scheduler + ?Sized> Scheduler for Box<S> {
    fn begin(&mut self) -> bool {
        (**self).begin()
    }

    fn choose(&mut self, view: &View<'_>) -> Choice {
        (**self).choose(view)
    }

    fn discards(&mut self, view: &View<'_>) -> bool {
        (**self).discards(view)
    }

    fn end(&mut self, finished: &Finished<'_>) {
        (**self).end(finished);
    }

    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }
}

/// A choice of a [`Scheduler`]: the thread that runs, and the outcome of its pending operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The thread that runs; it must be enabled.
    pub thread: ThreadId,
    /// The outcome of its operation, below [`Thread::outcomes`].
    pub outcome: u32,
}

/// Data that a [`Scheduler`] reads, and guarantees that it gives.
///
/// Views are lazy: parts that are not read cost nothing, so pending operations, events and classes
/// need not be declared. The fields are those that raddle must prepare in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// True when [`Thread::outcomes`] counts all outcomes in every execution; the default. If
    /// false, a read takes only the coherence-latest write until the program has used an access
    /// weaker than `SeqCst`, and executions of programs that never do run faster.
    pub reads_all_outcomes: bool,
    /// True when a thread in a loop that waits is disabled as soon as it repeats itself; the
    /// default, because a scheduler with priorities would starve the others. If false, only long
    /// executions are watched for that, and all executions run faster.
    pub reads_repetitions: bool,
    /// Distribution of executions; [`Randomness::Seeded`] by default. With
    /// [`Randomness::Independent`] the report estimates the probability of an unseen class.
    pub randomness: Randomness,
}

impl Default for Capabilities {
    fn default() -> Self {
        Capabilities {
            reads_all_outcomes: true,
            reads_repetitions: true,
            randomness: Randomness::Seeded,
        }
    }
}

impl Capabilities {
    /// Sets the distribution of executions.
    pub fn randomness(mut self, randomness: Randomness) -> Self {
        self.randomness = randomness;
        self
    }

    /// Sets the field `reads_all_outcomes`.
    pub fn reads_all_outcomes(mut self, reads: bool) -> Self {
        self.reads_all_outcomes = reads;
        self
    }

    /// Sets the field `reads_repetitions`.
    pub fn reads_repetitions(mut self, reads: bool) -> Self {
        self.reads_repetitions = reads;
        self
    }
}

type Make = dyn Fn(u64, usize) -> Box<dyn Scheduler> + Send + Sync;

/// Makes the scheduler of each worker; see [`Checker::scheduler`](crate::Checker::scheduler).
#[derive(Clone)]
pub struct Schedulers {
    name: &'static str,
    make: Arc<Make>,
}

// A panic in the closure ends the check: nothing that it left half done is used again.
impl UnwindSafe for Schedulers {}
impl RefUnwindSafe for Schedulers {}

impl Schedulers {
    pub(crate) fn new<S: Scheduler + 'static>(
        make: impl Fn(u64, usize) -> S + Send + Sync + 'static,
    ) -> Self {
        Schedulers {
            name: short_name(std::any::type_name::<S>()),
            make: Arc::new(move |seed, worker| Box::new(make(seed, worker))),
        }
    }

    /// Returns the name of the scheduler's type, for messages.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    fn make(&self, seed: u64, worker: usize) -> Box<dyn Scheduler> {
        (self.make)(seed, worker)
    }
}

impl fmt::Debug for Schedulers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schedulers").field(&self.name).finish()
    }
}

/// Equal when they come from the same call of [`Checker::scheduler`](crate::Checker::scheduler).
impl PartialEq for Schedulers {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.make, &other.make)
    }
}

/// Returns the name of a type without its path and its parameters.
fn short_name(name: &'static str) -> &'static str {
    let end = name.find(['<', ' ']).unwrap_or(name.len());
    let name = &name[..end];
    name.rsplit("::").next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_named_without_its_path_and_parameters() {
        assert_eq!(short_name("a::b::RoundRobin"), "RoundRobin");
        assert_eq!(short_name("a::Mixed<b::Left, c::Right>"), "Mixed");
        assert_eq!(short_name("Plain"), "Plain");
        assert_eq!(short_name("alloc::boxed::Box<dyn a::Scheduler>"), "Box");
    }
}
