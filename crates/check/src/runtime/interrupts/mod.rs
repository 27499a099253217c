//! Ctrl-C during a search that can be resumed: the search is saved before the process ends.
//!
//! The handlers are installed only while such a search runs, and only if the process does not
//! handle the signals itself. The first signal requests that all searches stop; the last of them to
//! be saved ends the process as the signal would have. A second signal ends it at once.

#[cfg(unix)]
mod listeners;

#[cfg(unix)]
mod signals {
    use super::listeners::Listeners;

    const SIGNALS: [libc::c_int; 2] = [libc::SIGINT, libc::SIGTERM];

    static LISTENERS: Listeners = Listeners::new();

    extern "C" fn note(signal: libc::c_int) {
        LISTENERS.note(signal);
    }

    /// Keeps the handlers installed while it exists. The last one to be dropped raises a signal
    /// that came.
    pub(crate) struct Listening(());

    pub(crate) fn listen() -> Listening {
        LISTENERS.join(|| {
            for signal in SIGNALS {
                change(signal, libc::SIG_DFL, note as *const () as usize);
            }
        });
        Listening(())
    }

    /// True when a signal requested the end of the process.
    #[inline]
    pub(crate) fn came() -> bool {
        LISTENERS.came()
    }

    impl Drop for Listening {
        fn drop(&mut self) {
            let stop = || {
                for signal in SIGNALS {
                    change(signal, note as *const () as usize, libc::SIG_DFL);
                }
            };
            LISTENERS.leave(stop, |came| {
                // SAFETY: `signal` and `raise` have no precondition for a signal that came.
                unsafe {
                    libc::signal(came, libc::SIG_DFL);
                    libc::raise(came);
                }
            });
        }
    }

    /// Ends the process as the signal would have, once every listening search has called this.
    pub(crate) fn end_process(listening: Listening) -> ! {
        drop(listening);
        // Other searches are not saved yet; the last of them ends the process.
        loop {
            std::thread::park();
        }
    }

    /// Changes the action of a signal from `from` to `to`, if it is `from`.
    fn change(signal: libc::c_int, from: libc::sighandler_t, to: libc::sighandler_t) {
        // SAFETY: all-zero is a valid `sigaction`, the pointers are to live values, and the handler
        // only writes to an atomic.
        unsafe {
            let mut now: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut now);
            if now.sa_sigaction == from {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = to;
                action.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND | libc::SA_ONSTACK;
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
        }
    }
}

#[cfg(not(unix))]
mod signals {
    /// On other systems the process ends at once.
    pub(crate) struct Listening(());

    pub(crate) fn listen() -> Listening {
        Listening(())
    }

    pub(crate) fn came() -> bool {
        false
    }

    pub(crate) fn end_process(_listening: Listening) -> ! {
        std::process::exit(130)
    }
}

pub(crate) use signals::{Listening, came, end_process, listen};
