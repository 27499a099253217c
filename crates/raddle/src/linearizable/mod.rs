//! Linearizability: concurrent calls of a type's methods must return what the same calls return one at a time.
//!
//! From a list of calls, small *clients* are made: a few threads, each with a few of the calls. The oracle is the type
//! itself: [`sequential`] runs every sequence of the calls on one thread. A client passes if each of its classes has an
//! order of its calls in which the results are those of a sequential run (Herlihy and Wing, TOPLAS 1990; [`orders`]).
//!
//! Under a weak memory model the order in which calls end is visible only to threads that synchronize. So each client
//! runs in two ways: with threads that share nothing but the object, which any order may explain; and with threads that
//! also take a ticket between their calls, which orders them and which the order of calls must respect. The first would
//! miss a call that returns before it has taken effect, the second a missing release or acquire.

mod clients;
mod orders;
mod sequential;

use std::fmt;
use std::panic::{Location, resume_unwind};

use raddle_check::Checker;
use raddle_report::{Failure, Report};

use crate::sync::atomic::AtomicUsize;
use crate::thread;
use clients::Client;
use orders::History;
use sequential::Sequential;

/// Maximum number of sequences of calls for the oracle; 20,000 take about half a second.
const MAX_SEQUENCES: usize = 20_000;

/// A call of the type, with its text in messages.
struct Call<T> {
    text: &'static str,
    call: Box<dyn Fn(&T) -> String + Send + Sync>,
}

/// Functions that the macro expands to where it stands, so that their events have the user's place.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// Chooses a number below this one.
    pub choose: fn(usize) -> usize,
    /// Makes the counter of tickets.
    pub tickets: fn() -> AtomicUsize,
    /// Takes the next ticket.
    pub take_ticket: fn(&AtomicUsize) -> usize,
    /// Panics with this message.
    pub fail: fn(String) -> !,
}

/// A check that calls of a type are linearizable; [`linearizable!`](crate::linearizable) makes one.
#[must_use = "nothing is checked before `run` or `assert_ok`"]
pub struct Linearizable<T> {
    new: Box<dyn Fn() -> T + Send + Sync>,
    calls: Vec<Call<T>>,
    last: Vec<Call<T>>,
    site: Site,
    place: &'static Location<'static>,
    checker: Checker,
    threads: usize,
    calls_per_thread: usize,
}

/// Findings of [`Linearizable::run`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LinearizableReport {
    /// A report for each size of clients, the smallest first. Only the last one has failures.
    pub reports: Vec<Report>,
    /// Number of clients that were checked. Each is checked in two ways: with and without tickets.
    pub clients: usize,
    /// Number of clients that were left out, because their calls may wait for ever one at a time too.
    pub left_out: usize,
    /// A call that does not always return when called on one thread.
    pub unusable: Option<String>,
    threads: usize,
    calls_per_thread: usize,
}

impl<T: Sync + 'static> Linearizable<T> {
    /// For the macro.
    #[doc(hidden)]
    #[track_caller]
    pub fn __new(new: impl Fn() -> T + Send + Sync + 'static, site: Site) -> Self {
        Linearizable {
            new: Box::new(new),
            calls: Vec::new(),
            last: Vec::new(),
            site,
            place: Location::caller(),
            checker: Checker::new().known_schedules(true),
            threads: 2,
            calls_per_thread: 2,
        }
    }

    /// Adds a call, whose result is compared by its `Debug` text.
    pub fn call<R: fmt::Debug>(
        mut self,
        text: &'static str,
        call: impl Fn(&T) -> R + Send + Sync + 'static,
    ) -> Self {
        let call = Box::new(move |object: &T| format!("{:?}", call(object)));
        self.calls.push(Call { text, call });
        self
    }

    /// Adds a call that is made after all threads have ended, such as the length of a collection.
    pub fn finally<R: fmt::Debug>(
        mut self,
        text: &'static str,
        call: impl Fn(&T) -> R + Send + Sync + 'static,
    ) -> Self {
        let call = Box::new(move |object: &T| format!("{:?}", call(object)));
        self.last.push(Call { text, call });
        self
    }

    /// Sets the maximum number of threads; 2 by default.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Sets the maximum number of calls of each thread; 2 by default. With three threads or more, clients
    /// have at most one call for each thread and one more.
    pub fn calls_per_thread(mut self, calls: usize) -> Self {
        self.calls_per_thread = calls;
        self
    }

    /// Sets the settings of the checks. Without limits of its own, each size of clients is one check with the limits of
    /// [`Checker::new`].
    pub fn checker(mut self, checker: Checker) -> Self {
        self.checker = checker;
        self
    }

    /// Checks the clients, the smallest first, until one fails, and panics with the story of its failure. Otherwise
    /// prints a line for each size and one with the number of clients.
    #[track_caller]
    pub fn assert_ok(self) {
        self.run().assert_ok();
    }

    /// Checks the clients, the smallest first, until one fails.
    ///
    /// # Panics
    ///
    /// If there are no calls, no threads, or too many sequences of calls; and as [`Checker::run`] does.
    #[track_caller]
    pub fn run(self) -> LinearizableReport {
        let sizes = clients::sizes(self.threads, self.calls_per_thread);
        let sequences = sizes.iter().map(|size| size.sequences(self.calls.len()));
        let sequences = sequences.fold(0, usize::saturating_add);
        assert!(
            !self.calls.is_empty() && !sizes.is_empty(),
            "raddle: `linearizable!` needs a call, two threads and a call for each of them"
        );
        assert!(
            sequences <= MAX_SEQUENCES,
            "raddle: `linearizable!` would run {sequences} sequences of calls, and the limit is {MAX_SEQUENCES}: name \
             fewer calls, or lower `threads` or `calls_per_thread`"
        );
        let mut report = LinearizableReport {
            reports: Vec::new(),
            clients: 0,
            left_out: 0,
            unusable: None,
            threads: self.threads,
            calls_per_thread: self.calls_per_thread,
        };
        let mut oracle = (0, Sequential::default());
        for size in sizes {
            if oracle.0 != size.calls() {
                oracle = match Sequential::run(&self, size.calls()) {
                    Ok(sequential) => (size.calls(), sequential),
                    Err(problem) => {
                        report.unusable = Some(problem);
                        break;
                    }
                };
            }
            let sequential = &oracle.1;
            let all = size.clients(self.calls.len());
            let count = all.len();
            let clients: Vec<_> = (all.into_iter())
                .filter(|client| !sequential.may_wait_for_ever(client))
                .collect();
            report.left_out += count - clients.len();
            report.clients += clients.len();
            if clients.is_empty() {
                continue;
            }
            let checked = self
                .checker
                .clone()
                .run(|| self.explore(&clients, sequential));
            let failed = !checked.failures.is_empty();
            report.reports.push(checked);
            if failed {
                break;
            }
        }
        report
    }

    /// The body of a check: one of the clients, with or without tickets.
    fn explore(&self, clients: &[Client], sequential: &Sequential) {
        let client = &clients[(self.site.choose)(clients.len())];
        let tickets = ((self.site.choose)(2) == 1).then(self.site.tickets);
        if let Some(tickets) = &tickets {
            crate::label!("tickets", tickets);
        }
        let object = (self.new)();
        let threads = thread::scope_at(self.place, |scope| {
            let (object, tickets) = (&object, tickets.as_ref());
            let start = |(number, calls): (usize, &Vec<usize>)| {
                let calls = calls.clone();
                let thread = thread::Builder::new().name(clients::thread_name(number));
                let body = move || self.perform(&calls, object, tickets);
                let started = thread.spawn_scoped_at(self.place, scope, body);
                started.expect("modelled threads do not run out")
            };
            let started: Vec<_> = client.threads.iter().enumerate().map(start).collect();
            let ended = started.into_iter().map(|thread| thread.join_at(self.place));
            let results = ended.map(|result| result.unwrap_or_else(|panic| resume_unwind(panic)));
            results.collect()
        });
        let last = self.last.iter().map(|call| (call.call)(&object));
        let history = History {
            client,
            threads,
            last: last.collect(),
        };
        if let Some(violation) = history.violation(sequential, &self.names()) {
            (self.site.fail)(violation);
        }
    }

    /// Makes the calls of a thread; returns their results, and its tickets if it takes them.
    fn perform(&self, calls: &[usize], object: &T, tickets: Option<&AtomicUsize>) -> Performed {
        let mut performed = Performed::default();
        for &call in calls {
            performed.tickets.extend(tickets.map(self.site.take_ticket));
            performed.results.push((self.calls[call].call)(object));
        }
        performed.tickets.extend(tickets.map(self.site.take_ticket));
        performed
    }

    fn names(&self) -> Names {
        let texts = |calls: &[Call<T>]| calls.iter().map(|call| call.text).collect();
        Names {
            calls: texts(&self.calls),
            last: texts(&self.last),
        }
    }
}

/// What a thread of a client did.
#[derive(Clone, Debug, Default)]
struct Performed {
    results: Vec<String>,
    /// The tickets before each call and after the last one; none without tickets.
    tickets: Vec<usize>,
}

/// Texts of the calls.
struct Names {
    calls: Vec<&'static str>,
    last: Vec<&'static str>,
}

impl LinearizableReport {
    /// Returns the first failure.
    pub fn failure(&self) -> Option<&Failure> {
        self.reports
            .iter()
            .flat_map(|report| &report.failures)
            .next()
    }

    /// True when every behaviour of every client was run, none was left out, and none failed.
    pub fn exhausted(&self) -> bool {
        let complete = |report: &Report| report.exhausted && report.failures.is_empty();
        self.unusable.is_none() && self.left_out == 0 && self.reports.iter().all(complete)
    }

    /// Panics with the story of the failure, if there is one. Otherwise prints the results of the checks and the
    /// number of clients to standard error.
    #[track_caller]
    pub fn assert_ok(&self) {
        for report in &self.reports {
            report.assert_ok();
        }
        if let Some(problem) = &self.unusable {
            panic!("raddle: {problem}");
        }
        eprintln!("raddle: {self}");
    }
}

impl fmt::Display for LinearizableReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { clients, .. } = self;
        let plural = |count: usize, one: &'static str, more| if count == 1 { one } else { more };
        write!(f, "{clients} {}", plural(*clients, "client", "clients"))?;
        let (threads, calls) = (self.threads, self.calls_per_thread);
        write!(f, " with up to {threads} threads and {calls} ")?;
        write!(f, "{} each", plural(calls, "call", "calls"))?;
        if self.left_out > 0 {
            write!(
                f,
                "; {} left out, whose calls may wait for ever",
                self.left_out
            )?;
        }
        Ok(())
    }
}

impl<T> fmt::Debug for Linearizable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls: Vec<_> = self.calls.iter().map(|call| call.text).collect();
        f.debug_struct("Linearizable")
            .field("calls", &calls)
            .finish_non_exhaustive()
    }
}

/// Checks that calls of a type are linearizable: whatever other threads do, they return what they return one at a time
/// in some order, and a call that ended before another one began comes before it.
///
/// Takes the object and its calls. From these it makes clients of two threads with up to two calls each, and runs every
/// behaviour of every client, as far as the limits of [`Checker`](crate::Checker) allow; the lines that it prints say
/// how far that was. The object itself is the specification: its calls on one thread are taken to be right.
///
/// ```should_panic
/// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
///
/// #[derive(Default)]
/// struct Counter(AtomicU32);
///
/// impl Counter {
///     fn increment(&self) -> u32 {
///         let old = self.0.load(SeqCst);
///         self.0.store(old + 1, SeqCst); // loses updates
///         old
///     }
/// }
///
/// raddle::linearizable!(Counter::default(), { increment() }).assert_ok();
/// ```
///
/// A call is a method with its arguments, or a text and a closure: `"pop twice" => |stack| (stack.pop(), stack.pop())`.
/// Results are compared by their `Debug` text. Calls after `finally` are made when all threads have ended:
///
/// ```
/// # use raddle::sync::Mutex;
/// # struct Stack(Mutex<Vec<u32>>);
/// # impl Stack {
/// #     fn new() -> Self { Stack(Mutex::new(Vec::new())) }
/// #     fn push(&self, value: u32) { self.0.lock().unwrap().push(value) }
/// #     fn pop(&self) -> Option<u32> { self.0.lock().unwrap().pop() }
/// #     fn len(&self) -> usize { self.0.lock().unwrap().len() }
/// # }
/// raddle::linearizable!(Stack::new(), {
///     push(1),
///     push(2),
///     pop(),
/// } finally {
///     len(),
/// })
/// .assert_ok();
/// ```
///
/// The macro returns a [`Linearizable`](crate::Linearizable) with further settings. It is no part of a
/// `#[raddle::test]`, but stands in a plain `#[test]`. Clients whose calls may wait for ever even one at a time, such as two
/// that take from an empty queue, are left out and counted.
#[macro_export]
macro_rules! linearizable {
    ($new:expr, { $($calls:tt)* } $(finally { $($last:tt)* })? $(,)?) => {{
        let site = $crate::LinearizableSite {
            choose: |count| $crate::choose(0..count),
            tickets: || $crate::sync::atomic::AtomicUsize::new(0),
            take_ticket: |tickets| {
                tickets.fetch_add(1, $crate::sync::atomic::Ordering::AcqRel)
            },
            fail: |violation| ::core::panic!("{violation}"),
        };
        let check = $crate::Linearizable::__new(|| $new, site);
        let check = $crate::__linearizable_calls!(check, call, $($calls)*);
        $(let check = $crate::__linearizable_calls!(check, finally, $($last)*);)?
        check
    }};
}

/// Adds calls to a check of linearizability.
#[doc(hidden)]
#[macro_export]
macro_rules! __linearizable_calls {
    ($check:expr, $add:ident, $(,)?) => { $check };
    ($check:expr, $add:ident, $method:ident($($argument:expr),* $(,)?) $(, $($more:tt)*)?) => {
        $crate::__linearizable_calls!(
            $check.$add(
                ::core::concat!(
                    ::core::stringify!($method), "(", ::core::stringify!($($argument),*), ")"
                ),
                |object| object.$method($($argument),*),
            ),
            $add, $($($more)*)?
        )
    };
    ($check:expr, $add:ident, $text:literal => $call:expr $(, $($more:tt)*)?) => {
        $crate::__linearizable_calls!($check.$add($text, $call), $add, $($($more)*)?)
    };
}
