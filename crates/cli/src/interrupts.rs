//! Ctrl-C: the first asks running tests to stop and to say what they have found, the second ends them.

use std::process::Child;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// How often somebody asked.
static ASKED: AtomicUsize = AtomicUsize::new(0);

/// From now on, Ctrl-C is noticed.
pub fn listen() {
    static LISTENING: OnceLock<()> = OnceLock::new();
    LISTENING.get_or_init(|| {
        let note = || {
            ASKED.fetch_add(1, Relaxed);
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
    asked: bool,
}

impl Told {
    /// Tells a test to stop, once, or ends it if that was not enough.
    pub fn tell(&mut self, child: &mut Child) {
        match ASKED.load(Relaxed) {
            0 => {}
            1 if self.asked => {}
            1 => {
                self.asked = true;
                ask(child);
            }
            _ => {
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
