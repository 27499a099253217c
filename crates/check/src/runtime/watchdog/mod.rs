//! Hangs outside our control: a lock of std's that is taken twice, a loop without scheduling points.
//!
//! There is one watchdog in a process, on an OS thread of its own, which sleeps while no check runs.
//! If a check does not come to a scheduling point for some seconds, nobody can stop its thread: it is
//! held where it is, the story so far is told, its schedule saved, and the process ends.

#[cfg(unix)]
mod suspend_thread;
mod watch_list;

use std::sync::Arc;
use std::time::Duration;

use crate::program::Program;
use crate::runtime::fatal::FatalReporter;
use crate::runtime::{Context, Progress};
use watch_list::Kennel;

/// How the process ends.
const EXIT_CODE: i32 = 2;
/// A check is looked at so often before its time is over.
const LOOKS: u32 = 8;
/// As long at most between two looks: if the whole process was stopped for a while, that counts as
/// one.
const LONGEST_TICK: Duration = Duration::from_secs(1);

/// A check that is watched.
struct Watched {
    progress: Arc<Progress>,
    limit: Duration,
    program: &'static dyn Program,
    fatal: Arc<dyn FatalReporter>,
    owner: hold::Owner,
    stillness: Stillness,
}

/// The progress that was seen last, and for how long it has been the same.
#[derive(Default)]
struct Stillness {
    seen: Option<u64>,
    still: Duration,
}

impl Stillness {
    /// Returns whether the progress has been the same for `limit`, at a look one `tick` after the last.
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

static KENNEL: Kennel<Watched> = Kennel::new();

/// The check is watched while this exists.
pub(crate) struct Watch(Option<u64>);

/// Watches the check that the calling OS thread is about to run. No time at all is no watchdog.
pub(crate) fn watch(context: &Context, limit: Duration) -> Watch {
    if limit.is_zero() {
        return Watch(None);
    }
    let watched = Watched {
        progress: Arc::clone(context.progress()),
        limit,
        program: context.program(),
        fatal: Arc::clone(&context.fatal),
        owner: hold::Owner::current(),
        stillness: Stillness::default(),
    };
    // Without the thread, a hang is a hang.
    let thread = std::thread::Builder::new().name("raddle watchdog".to_owned());
    Watch(Some(KENNEL.add(watched, || thread.spawn(guard).is_ok())))
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(number) = self.0 {
            KENNEL.remove(number);
        }
    }
}

/// Does something that the watchdog must not be in the middle of anything for.
#[cfg(target_os = "linux")]
pub(crate) fn hold_while<R>(work: impl FnOnce() -> R) -> R {
    KENNEL.hold_while(work)
}

/// In a process that was just forked: what was watched is in the parent, and so is the watchdog.
#[cfg(target_os = "linux")]
pub(crate) fn begin_anew() {
    KENNEL.clear();
}

/// The life of the watchdog.
fn guard() {
    KENNEL.rise();
    loop {
        let shortest = KENNEL.sleep(|watched| watched.limit);
        let tick = (shortest / LOOKS).min(LONGEST_TICK);
        std::thread::sleep(tick);
        KENNEL.look(|watched| watched.look(tick));
    }
}

impl Watched {
    /// Looks at the check; so much time has passed since the last look.
    fn look(&mut self, tick: Duration) {
        let seen = self.progress.seen();
        if self.stillness.reaches(self.limit, seen, tick) {
            bite(self);
        }
    }
}

/// Tells the story and ends the process, unless the check has just come on. The registry stays
/// locked: no check comes or goes.
fn bite(watched: &Watched) {
    let hold = watched.owner.hold(watched.program.interrupt_reader());
    // Before it is looked at: who is held later may have come on in between.
    let is_held = hold::has(hold);
    if watched.progress.seen() != watched.stillness.seen {
        hold::let_go(hold);
        return;
    }
    hold::end_soon();
    let context = is_held.then(|| watched.progress.context());
    // SAFETY: the check's OS thread is held inside a coroutine, where others use the context by shared
    // references only, and never goes on. What it did before is visible here.
    let context = context.and_then(|context| unsafe { context.as_ref() });
    watched
        .fatal
        .report_hang(context, watched.limit, hold::place());
    hold::end()
}

/// The process ends soon, whatever happens.
pub(crate) fn end_soon() {
    hold::end_soon();
}

#[cfg(unix)]
mod hold {
    use std::ffi::c_void;
    use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
    use std::time::Duration;

    use super::suspend_thread::{Grip, Hold};
    use crate::program::InterruptReader;

    /// Ignored by default, and used by hardly anybody.
    const SIGNAL: libc::c_int = libc::SIGURG;
    /// How long the last words may take, should the held thread have a lock that they need.
    const SECONDS_LEFT: libc::c_uint = 10;

    static GRIP: Grip = Grip::new();
    /// Where the held thread is, if anybody can tell.
    static PLACE: AtomicUsize = AtomicUsize::new(0);

    /// How the place of the held thread is found, as a pointer to a function; null if it is not.
    static READER: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

    pub(super) fn place() -> Option<usize> {
        Some(PLACE.load(Ordering::Relaxed)).filter(|&place| place != 0)
    }

    /// An OS thread.
    pub(super) struct Owner(libc::pthread_t);

    // SAFETY: the name of a thread may be known to others, whatever type the system gives it.
    unsafe impl Send for Owner {}

    impl Owner {
        pub(super) fn current() -> Self {
            // SAFETY: asks for the calling thread's name.
            Owner(unsafe { libc::pthread_self() })
        }

        /// Holds the thread where it is until it is let go, if that can be done.
        pub(super) fn hold(&self, reader: Option<InterruptReader>) -> Option<Hold> {
            let reader = reader.map_or(std::ptr::null_mut(), |reader| reader as *mut ());
            READER.store(reader, Ordering::Relaxed);
            handle(SIGNAL, stay);
            let hold = GRIP.want()?;
            // SAFETY: the thread runs a check, so it exists.
            unsafe { libc::pthread_kill(self.0, SIGNAL) };
            for _ in 0..100 {
                if GRIP.has(hold) {
                    break;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            Some(hold)
        }
    }

    /// Whether the thread is where it was.
    pub(super) fn has(hold: Option<Hold>) -> bool {
        hold.is_some_and(|hold| GRIP.has(hold))
    }

    pub(super) fn let_go(hold: Option<Hold>) {
        if let Some(hold) = hold {
            GRIP.let_go(hold);
        }
    }

    type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut c_void);

    fn handle(signal: libc::c_int, handler: Handler) {
        // SAFETY: all-zero is a valid `sigaction`; the handlers do nothing that a handler must not.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_ONSTACK | libc::SA_RESTART | libc::SA_SIGINFO;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }

    extern "C" fn stay(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
        let note = || {
            let reader = READER.load(Ordering::Relaxed);
            if !reader.is_null() {
                // SAFETY: `hold` has stored a function of this type.
                let reader: InterruptReader = unsafe { std::mem::transmute(reader) };
                PLACE.store(reader(context), Ordering::Relaxed);
            }
        };
        GRIP.stay(note, || {
            // SAFETY: waits for nothing, for ten milliseconds.
            unsafe { libc::poll(std::ptr::null_mut(), 0, 10) };
        });
    }

    extern "C" fn leave(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
        end()
    }

    /// The process ends soon, whatever happens.
    pub(super) fn end_soon() {
        handle(libc::SIGALRM, leave);
        // SAFETY: asks for a signal.
        unsafe { libc::alarm(SECONDS_LEFT) };
    }

    /// Ends the process without asking anybody.
    pub(super) fn end() -> ! {
        // SAFETY: the process has nothing left to do.
        unsafe { libc::_exit(super::EXIT_CODE) }
    }
}

#[cfg(not(unix))]
mod hold {
    use crate::program::InterruptReader;

    pub(super) struct Owner;

    impl Owner {
        pub(super) fn current() -> Self {
            Owner
        }

        /// A thread cannot be held here, so only that it hangs is known.
        pub(super) fn hold(&self, _: Option<InterruptReader>) -> Option<()> {
            None
        }
    }

    pub(super) fn has(_: Option<()>) -> bool {
        false
    }

    pub(super) fn let_go(_: Option<()>) {}

    /// How the place of the held thread is found, as a pointer to a function; null if it is not.
    static READER: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

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

    /// The number of the look at which a check whose progress is seen like this is over its limit.
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
    fn a_check_that_comes_to_scheduling_points_may_take_longer_than_its_limit() {
        let slowly = (0..1_000).map(|look| Some(look / 8));
        assert_eq!(over(8 * TICK, slowly), None);
        let idle = [Some(1), Some(1), None].into_iter().cycle().take(100);
        assert_eq!(over(2 * TICK, idle), None, "none runs in between");
    }
}
