//! Ctrl-C and termination: the first asks running tests to stop and to say what they have found, the second
//! ends them, the third ends the command, whatever it is waiting for. Who cannot ask twice, such as a build
//! server, does not wait for ever: a test that does not stop is ended in the end.

use std::process::Child;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::INTERRUPTED;

/// How long a test may take to stop. Enough for one that hangs, which raddle ends after ten seconds with a
/// story of where.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often somebody asked.
static ASKED: AtomicUsize = AtomicUsize::new(0);

/// From now on, Ctrl-C is noticed.
pub fn listen() {
    static LISTENING: OnceLock<()> = OnceLock::new();
    LISTENING.get_or_init(|| {
        let note = || {
            if ASKED.fetch_add(1, Relaxed) >= 2 {
                // It may be waiting for somebody to read what it prints.
                std::process::exit(INTERRUPTED.into());
            }
        };
        // Without it, Ctrl-C ends everything at once, as it does elsewhere.
        let _ = ctrlc::set_handler(note);
    });
}

/// Whether tests are to stop.
pub fn came() -> bool {
    ASKED.load(Relaxed) > 0
}

/// What a running test was told.
#[derive(Debug, Default)]
pub struct Told {
    /// When it was asked to stop.
    asked: Option<Instant>,
}

/// What to do about a running test.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Nothing,
    Ask,
    End,
}

impl Step {
    /// Somebody asked us so often, and the test was asked so long ago, if it was.
    fn after(times: usize, since: Option<Duration>) -> Self {
        match (times, since) {
            (0, _) => Step::Nothing,
            (1, None) => Step::Ask,
            (1, Some(since)) if since < PATIENCE => Step::Nothing,
            _ => Step::End,
        }
    }
}

impl Told {
    /// Tells a test to stop, once, or ends it if that was not enough.
    pub fn tell(&mut self, child: &mut Child) {
        let since = self.asked.map(|asked| asked.elapsed());
        match Step::after(ASKED.load(Relaxed), since) {
            Step::Nothing => {}
            Step::Ask => {
                self.asked = Some(Instant::now());
                ask(child);
            }
            Step::End => {
                // If it has ended already, that is what was wanted.
                let _ = child.kill();
            }
        }
    }
}

#[cfg(unix)]
fn ask(child: &mut Child) {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    if let Ok(id) = i32::try_from(child.id()) {
        // If it has ended already, that is what was wanted.
        let _ = kill(Pid::from_raw(id), Signal::SIGINT);
    }
}

#[cfg(not(unix))]
fn ask(child: &mut Child) {
    let _ = child.kill();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_asked_once_and_ended_if_that_is_not_enough() {
        let just_now = Some(Duration::ZERO);
        let almost = Some(PATIENCE - Duration::from_millis(1));
        let steps = [
            (0, None, Step::Nothing),
            (1, None, Step::Ask),
            (1, just_now, Step::Nothing),
            (1, almost, Step::Nothing),
            (1, Some(PATIENCE), Step::End),
            (2, None, Step::End),
            (2, just_now, Step::End),
        ];
        for (times, since, step) in steps {
            assert_eq!(Step::after(times, since), step, "{times} {since:?}");
        }
    }
}
