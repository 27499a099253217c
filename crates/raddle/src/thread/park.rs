//! Parking: waiting for a token that another thread sets.

use std::panic::Location;
use std::time::Duration;

use raddle_engine::object::parker::Call;
use raddle_engine::{Chance, Operation, Reply, ThreadId};

use super::handle::{Id, Inner, Thread};
use raddle_check::protocol;
use raddle_check::runtime::foreign::{self, SharedValue};
use raddle_check::runtime::{Context, current};

/// Waits until another thread [unparks](Thread::unpark) the calling thread, as
/// [`std::thread::park`]. Returns at once if that has happened since the last call.
///
/// Inside a check it may also return spuriously, at most once for every thread and execution; see
/// [`Checker::spurious_wakeups`](crate::Checker::spurious_wakeups).
#[track_caller]
pub fn park() {
    match current() {
        None => std::thread::park(),
        Some(context) => park_inside(context, None, Location::caller()),
    }
}

/// Parks as [`park`] does, for a maximum time, as [`std::thread::park_timeout`].
///
/// Inside a check it may time out at any point, however long the time is; see
/// [`Checker::timeouts`](crate::Checker::timeouts).
#[track_caller]
pub fn park_timeout(dur: Duration) {
    match current() {
        None => std::thread::park_timeout(dur),
        Some(context) => park_inside(context, Some(dur), Location::caller()),
    }
}

/// Parks as [`park_timeout`] does, with the maximum time in milliseconds.
#[deprecated(since = "1.6.0", note = "replaced by `std::thread::park_timeout`")]
#[track_caller]
pub fn park_timeout_ms(ms: u32) {
    park_timeout(Duration::from_millis(ms.into()));
}

fn park_inside(context: &Context, dur: Option<Duration>, place: &'static Location<'static>) {
    if context.may_wake_spuriously() {
        let what = Chance::SpuriousUnpark;
        let reply = context.observe(place, |_| Operation::Chance { what });
        if reply.to_answer() {
            return context.count_spurious_wakeup();
        }
    }
    let timeout = dur.is_some() && context.may_time_out();
    let reply = call(context, context.thread(), Call::Park { timeout }, place);
    if let Some(dur) = dur.filter(|_| reply.to_answer()) {
        context.apart(|| context.pass_time(dur));
    }
}

fn call(
    context: &Context,
    thread: ThreadId,
    call: Call,
    place: &'static Location<'static>,
) -> Reply {
    protocol::call(context, place, call, |world| {
        context.parker(world, thread, place)
    })
}

impl Thread {
    /// Sets the token of the thread, so that its current or next [`park`] returns.
    ///
    /// # Panics
    ///
    /// If it is a thread of a check and the calling thread is not, or belongs to another execution.
    #[track_caller]
    pub fn unpark(&self) {
        let (execution, index) = match (&self.0, self.id().0) {
            (Inner::Std(thread), _) => return thread.unpark(),
            (Inner::Modelled { .. }, Id::Modelled { execution, index }) => (execution, index),
            (Inner::Modelled { .. }, Id::Std(_)) => unreachable!("made with the other kind of id"),
        };
        let place = Location::caller();
        let context = current().filter(|context| context.stamp() == execution);
        let context = context.unwrap_or_else(|| {
            let known = SharedValue::handle("Thread", ThreadId::new(index));
            foreign::uses_of(execution, None, known, place);
            panic!(
                "raddle: a thread of a check is unparked outside its execution; only threads of \
                 the same execution can do that"
            )
        });
        let thread = ThreadId::new(index);
        call(context, thread, Call::Unpark, place);
    }
}
