//! Two OS threads that take turns: one waits in the kernel while the other runs.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::host::system;

/// The side that may run.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Side {
    Host,
    Guest,
}

/// The turn of one of the two sides. At most one of them waits for it.
pub(super) struct Baton(AtomicU32);

impl Baton {
    pub(super) fn new(side: Side) -> Self {
        Baton(AtomicU32::new(side as u32))
    }

    /// Passes the turn to this side and wakes it.
    pub(super) fn hand_to(&self, side: Side) {
        self.0.store(side as u32, Ordering::Release);
        futex(&self.0, libc::FUTEX_WAKE, 1);
    }

    /// Waits until it is this side's turn.
    pub(super) fn wait_for(&self, side: Side) {
        loop {
            let holder = self.0.load(Ordering::Acquire);
            if holder == side as u32 {
                return;
            }
            futex(&self.0, libc::FUTEX_WAIT, holder);
        }
    }
}

fn futex(word: &AtomicU32, operation: i32, value: u32) {
    let operation = (operation | libc::FUTEX_PRIVATE_FLAG) as usize;
    let arguments = [word.as_ptr() as usize, operation, value as usize, 0, 0, 0];
    // SAFETY: the kernel reads the word, to which there is a reference.
    unsafe { system::call(libc::SYS_futex, arguments) };
}

/// Ends the calling OS thread without destructors.
pub(super) fn exit() -> ! {
    // SAFETY: `exit` ends the OS thread without destructors. The joining thread waits for that
    // before it uses the stack.
    unsafe { system::call(libc::SYS_exit, [0; 6]) };
    unreachable!("raddle: the thread has ended")
}
