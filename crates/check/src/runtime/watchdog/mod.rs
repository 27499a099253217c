//! The watchdog: for deadlines, and for hangs outside our control, such as a std lock that is taken
//! twice or a loop without scheduling points.
//!
//! A process has one watchdog, on an OS thread of its own, which sleeps while no check runs. If a
//! check does not reach a scheduling point for some seconds, its thread cannot be stopped by the
//! scheduler. The watchdog suspends it, prints the execution so far, saves its schedule, and ends
//! the process.
//!
//! When the deadline of a check has passed, the watchdog sets a flag at which no further execution
//! begins, and after [`GRACE`] one at which the running execution is cut. So no scheduling point reads the
//! clock, and an execution of ordinary length is completed.

#[cfg(unix)]
mod suspend_thread;
mod watch_list;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::program::Program;
use crate::runtime::deadline::Deadline;
use crate::runtime::fatal::FatalReporter;
use crate::runtime::foreign;
use crate::runtime::{Context, Progress};
use watch_list::WatchList;

/// Exit code of the process.
const EXIT_CODE: i32 = 2;
/// Number of looks at a check within its time limit.
const LOOKS: u32 = 8;
/// Maximum interval between two looks, so that a suspended process counts as one short interval, and
/// the user does not wait for the end of an interrupted check.
const LONGEST_TICK: Duration = Duration::from_millis(100);
/// Minimum interval between two looks.
const SHORTEST_TICK: Duration = Duration::from_millis(1);
/// Time for the running execution to end after the deadline.
const GRACE: Duration = Duration::from_millis(250);

/// A check that is watched.
struct Watched {
    progress: Arc<Progress>,
    /// Maximum time without a scheduling point; zero if that is not watched.
    limit: Duration,
    deadline: Deadline,
    lateness: Lateness,
    program: &'static dyn Program,
    fatal: Arc<dyn FatalReporter>,
    owner: suspension::Owner,
    stillness: Stillness,
}

/// The last progress read, and the time without a change.
#[derive(Default)]
struct Stillness {
    seen: Option<u64>,
    still: Duration,
}

impl Stillness {
    /// True when the progress has not changed for `limit`, at a look one `tick` after the last.
    fn reaches(&mut self, limit: Duration, seen: Option<u64>, tick: Duration) -> bool {
        if seen.is_none() || seen != self.seen {
            self.still = Duration::ZERO;
        } else {
            self.still += tick;
        }
        self.seen = seen;
        let is_over = self.still >= limit;
        if is_over {
            self.still = Duration::ZERO;
        }
        is_over
    }
}

/// The time since the deadline.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
enum Lateness {
    #[default]
    InTime,
    Late(Duration),
    Cut,
}

impl Lateness {
    /// Returns the lateness at a look one `tick` after the last.
    fn after(self, tick: Duration, is_past: bool) -> Self {
        match self {
            Lateness::InTime if is_past => Lateness::Late(Duration::ZERO),
            Lateness::InTime => Lateness::InTime,
            Lateness::Late(since) if since + tick < GRACE => Lateness::Late(since + tick),
            Lateness::Late(_) | Lateness::Cut => Lateness::Cut,
        }
    }
}

static WATCH_LIST: WatchList<Watched> = WatchList::new();

/// Keeps the check watched while it exists.
pub(crate) struct Watch(u64);

/// Watches the check that the calling OS thread is about to run. A limit of zero means that hangs are
/// not watched for.
pub(crate) fn watch(context: &Context, limit: Duration, deadline: Deadline) -> Watch {
    let watched = Watched {
        progress: Arc::clone(context.progress()),
        limit,
        deadline,
        lateness: Lateness::default(),
        program: context.program(),
        fatal: Arc::clone(&context.fatal),
        owner: suspension::Owner::current(),
        stillness: Stillness::default(),
    };
    // Without the thread, a hang stays a hang.
    let thread = std::thread::Builder::new().name("raddle watchdog".to_owned());
    Watch(WATCH_LIST.add(watched, || thread.spawn(guard).is_ok()))
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCH_LIST.remove(self.0);
    }
}

/// Calls `work` while the watchdog is not in the middle of a look.
#[cfg(target_os = "linux")]
pub(crate) fn hold_while<R>(work: impl FnOnce() -> R) -> R {
    WATCH_LIST.hold_while(work)
}

/// Resets the watchdog in a forked process: the watchdog and the watched checks are in the parent.
#[cfg(target_os = "linux")]
pub(crate) fn begin_anew() {
    WATCH_LIST.clear();
}

/// Runs the watchdog's thread.
fn guard() {
    foreign::disown();
    WATCH_LIST.started();
    loop {
        let now = Instant::now();
        let tick = WATCH_LIST.sleep(|watched| watched.tick(now));
        std::thread::sleep(tick);
        WATCH_LIST.look(|watched| watched.look(tick));
    }
}

impl Watched {
    /// Returns the time until the next look.
    fn tick(&self, now: Instant) -> Duration {
        let mut tick = match self.limit.is_zero() {
            true => LONGEST_TICK,
            false => self.limit / LOOKS,
        };
        if let (Some(until), Lateness::InTime) = (self.deadline.until(), self.lateness) {
            tick = tick.min(until.saturating_duration_since(now));
        }
        tick.clamp(SHORTEST_TICK, LONGEST_TICK)
    }

    /// Checks the deadline and the progress after `tick` since the last look.
    fn look(&mut self, tick: Duration) {
        let is_past = self.lateness == Lateness::InTime && self.deadline.is_past();
        self.lateness = self.lateness.after(tick, is_past);
        match self.lateness {
            Lateness::InTime => {}
            Lateness::Late(_) => self.progress.set_late(),
            Lateness::Cut => self.progress.cut(),
        }
        if self.limit.is_zero() {
            return;
        }
        let seen = self.progress.seen();
        if self.stillness.reaches(self.limit, seen, tick) {
            report_and_end(self);
        }
    }
}

/// Reports the hang and ends the process, unless the check has just progressed. The watch list
/// stays locked, so no check is added or removed.
fn report_and_end(watched: &Watched) {
    let suspension = watched.owner.suspend(watched.program.interrupt_reader());
    // Read before the progress: a thread suspended later may have progressed in between.
    let is_suspended = suspension::is_suspended(suspension);
    if watched.progress.seen() != watched.stillness.seen {
        suspension::release(suspension);
        return;
    }
    suspension::end_soon();
    let context = is_suspended.then(|| watched.progress.context());
    // SAFETY: the check's OS thread is suspended inside a coroutine, where the context is used
    // through shared references only, and never continues. Its earlier writes are visible here.
    let context = context.and_then(|context| unsafe { context.as_ref() });
    watched
        .fatal
        .report_hang(context, watched.limit, suspension::place());
    suspension::end()
}

/// Ends the process within some seconds, even if this thread blocks.
pub(crate) fn end_soon() {
    suspension::end_soon();
}

#[cfg(unix)]
mod suspension {
    use std::ffi::c_void;
    use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
    use std::time::Duration;

    use super::suspend_thread::{Suspension, Suspensions};
    use crate::program::InterruptReader;

    /// Ignored by default, and rarely used.
    const SIGNAL: libc::c_int = libc::SIGURG;
    /// Time limit for the report, in seconds, in case the suspended thread holds a lock that it
    /// needs.
    const SECONDS_LEFT: libc::c_uint = 10;

    static SUSPENSIONS: Suspensions = Suspensions::new();
    /// The place of the suspended thread, if known.
    static PLACE: AtomicUsize = AtomicUsize::new(0);

    /// The function that finds the place of the suspended thread; null if there is none.
    static READER: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

    pub(super) fn place() -> Option<usize> {
        Some(PLACE.load(Ordering::Relaxed)).filter(|&place| place != 0)
    }

    /// An OS thread.
    pub(super) struct Owner(libc::pthread_t);

    // SAFETY: other threads may use the id of a thread; on some systems its type is a pointer,
    // which is never dereferenced.
    unsafe impl Send for Owner {}

    impl Owner {
        pub(super) fn current() -> Self {
            // SAFETY: `pthread_self` has no precondition.
            Owner(unsafe { libc::pthread_self() })
        }

        /// Suspends the thread until it is released, if that is possible.
        pub(super) fn suspend(&self, reader: Option<InterruptReader>) -> Option<Suspension> {
            let reader = reader.map_or(std::ptr::null_mut(), |reader| reader as *mut ());
            READER.store(reader, Ordering::Relaxed);
            handle(SIGNAL, wait);
            let suspension = SUSPENSIONS.request()?;
            // SAFETY: `pthread_kill` needs a thread that exists: it runs a check.
            unsafe { libc::pthread_kill(self.0, SIGNAL) };
            for _ in 0..100 {
                if SUSPENSIONS.is_suspended(suspension) {
                    break;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            Some(suspension)
        }
    }

    /// True when the thread is suspended.
    pub(super) fn is_suspended(suspension: Option<Suspension>) -> bool {
        suspension.is_some_and(|suspension| SUSPENSIONS.is_suspended(suspension))
    }

    pub(super) fn release(suspension: Option<Suspension>) {
        if let Some(suspension) = suspension {
            SUSPENSIONS.release(suspension);
        }
    }

    type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut c_void);

    fn handle(signal: libc::c_int, handler: Handler) {
        // SAFETY: all-zero is a valid `sigaction`, and the handlers are async-signal-safe.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_ONSTACK | libc::SA_RESTART | libc::SA_SIGINFO;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }

    extern "C" fn wait(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
        let note = || {
            let reader = READER.load(Ordering::Relaxed);
            if !reader.is_null() {
                // SAFETY: `suspend` has stored a function of this type.
                let reader: InterruptReader = unsafe { std::mem::transmute(reader) };
                PLACE.store(reader(context), Ordering::Relaxed);
            }
        };
        SUSPENSIONS.wait_in_handler(note, || {
            // SAFETY: `poll` without descriptors reads no memory; it waits for ten milliseconds.
            unsafe { libc::poll(std::ptr::null_mut(), 0, 10) };
        });
    }

    extern "C" fn leave(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
        end()
    }

    /// Ends the process within some seconds, even if this thread blocks.
    pub(super) fn end_soon() {
        handle(libc::SIGALRM, leave);
        // SAFETY: `alarm` has no precondition.
        unsafe { libc::alarm(SECONDS_LEFT) };
    }

    /// Ends the process without running destructors.
    pub(super) fn end() -> ! {
        // SAFETY: `_exit` has no precondition; the process has reported and ends.
        unsafe { libc::_exit(super::EXIT_CODE) }
    }
}

#[cfg(not(unix))]
mod suspension {
    use crate::program::InterruptReader;

    pub(super) struct Owner;

    impl Owner {
        pub(super) fn current() -> Self {
            Owner
        }

        /// Returns `None`: a thread cannot be suspended here, so only the hang itself is known.
        pub(super) fn suspend(&self, _: Option<InterruptReader>) -> Option<()> {
            None
        }
    }

    pub(super) fn is_suspended(_: Option<()>) -> bool {
        false
    }

    pub(super) fn release(_: Option<()>) {}

    pub(super) fn place() -> Option<usize> {
        None
    }

    pub(super) fn end_soon() {}

    pub(super) fn end() -> ! {
        std::process::exit(super::EXIT_CODE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(50);

    /// Returns the number of the look at which a check with these readings of its progress exceeds
    /// its limit.
    fn over(limit: Duration, seen: impl IntoIterator<Item = Option<u64>>) -> Option<usize> {
        let mut stillness = Stillness::default();
        let mut looks = seen.into_iter();
        looks.position(|seen| stillness.reaches(limit, seen, TICK))
    }

    #[test]
    fn a_check_without_progress_is_over_its_limit_after_as_many_ticks() {
        assert_eq!(over(8 * TICK, [Some(3); 20]), Some(8));
    }

    #[test]
    fn an_execution_is_cut_only_after_a_moment() {
        let mut lateness = Lateness::InTime;
        for _ in 0..3 {
            lateness = lateness.after(TICK, false);
            assert_eq!(lateness, Lateness::InTime);
        }
        let mut looks = 0;
        while lateness != Lateness::Cut {
            lateness = lateness.after(TICK, true);
            looks += 1;
        }
        assert_eq!(TICK * (looks - 1), GRACE);
        assert_eq!(lateness.after(TICK, false), Lateness::Cut);
    }

    #[test]
    fn a_check_that_comes_to_scheduling_points_may_take_longer_than_its_limit() {
        let slowly = (0..1_000).map(|look| Some(look / 8));
        assert_eq!(over(8 * TICK, slowly), None);
        let idle = [Some(1), Some(1), None].into_iter().cycle().take(100);
        assert_eq!(over(2 * TICK, idle), None, "none runs in between");
    }
}
