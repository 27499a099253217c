//! Ctrl-C and termination signals.
//!
//! The first signal requests that the running tests stop and report their findings, the second
//! kills them, the third ends this process. A CI server may send only one, so a test that does not
//! stop is killed after [`PATIENCE`].

use std::process::Child;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Exit code of a command that was interrupted: 128 + SIGINT, as shells report it.
pub const EXIT_CODE: u8 = 130;

/// Time between the request to stop and the kill. Longer than raddle's watchdog, which ends a
/// hanging test after 10 s and reports its place.
const PATIENCE: Duration = Duration::from_secs(30);

/// Number of signals received.
static SIGNALS: AtomicUsize = AtomicUsize::new(0);

/// Installs the signal handler.
pub fn listen() {
    static LISTENING: OnceLock<()> = OnceLock::new();
    LISTENING.get_or_init(|| {
        let count = || {
            if SIGNALS.fetch_add(1, Relaxed) >= 2 {
                // The main thread may be blocked on a full output pipe.
                std::process::exit(EXIT_CODE.into());
            }
        };
        // Without the handler, the first signal ends this process and the tests.
        let _ = ctrlc::set_handler(count);
    });
}

/// True once a signal was received.
pub fn is_requested() -> bool {
    SIGNALS.load(Relaxed) > 0
}

/// Forwards signals to one running test.
#[derive(Debug, Default)]
pub struct StopRequest {
    /// Time of the request to stop.
    sent: Option<Instant>,
}

/// The reaction to the signals so far.
#[derive(Debug, PartialEq, Eq)]
enum StopAction {
    None,
    Interrupt,
    Kill,
}

impl StopAction {
    /// Returns the action after this number of signals. `since` is the time since the request to
    /// stop, if it was sent.
    fn after(signals: usize, since: Option<Duration>) -> Self {
        match (signals, since) {
            (0, _) => StopAction::None,
            (1, None) => StopAction::Interrupt,
            (1, Some(since)) if since < PATIENCE => StopAction::None,
            _ => StopAction::Kill,
        }
    }
}

impl StopRequest {
    /// Interrupts the test once, and kills it after a second signal or too long a wait.
    pub fn forward(&mut self, child: &mut Child) {
        let since = self.sent.map(|sent| sent.elapsed());
        match StopAction::after(SIGNALS.load(Relaxed), since) {
            StopAction::None => {}
            StopAction::Interrupt => {
                self.sent = Some(Instant::now());
                interrupt(child);
            }
            StopAction::Kill => {
                // Fails only if the process has ended.
                let _ = child.kill();
            }
        }
    }
}

#[cfg(unix)]
fn interrupt(child: &mut Child) {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    if let Ok(id) = i32::try_from(child.id()) {
        // Fails only if the process has ended.
        let _ = kill(Pid::from_raw(id), Signal::SIGINT);
    }
}

#[cfg(not(unix))]
fn interrupt(child: &mut Child) {
    let _ = child.kill();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_interrupted_once_and_then_killed() {
        let just_now = Some(Duration::ZERO);
        let almost = Some(PATIENCE - Duration::from_millis(1));
        let actions = [
            (0, None, StopAction::None),
            (1, None, StopAction::Interrupt),
            (1, just_now, StopAction::None),
            (1, almost, StopAction::None),
            (1, Some(PATIENCE), StopAction::Kill),
            (2, None, StopAction::Kill),
            (2, just_now, StopAction::Kill),
        ];
        for (signals, since, action) in actions {
            assert_eq!(
                StopAction::after(signals, since),
                action,
                "{signals} {since:?}"
            );
        }
    }
}
