//! Failures of threads.
//!
//! A thread that fails ends where it is, and so do threads that wait for it; the others continue, as they do
//! when a thread of a Rust test panics. So the end of a program is an end of threads for the search.

use super::guests;
use crate::engine::Manner;
use crate::execution::{running, sites};
use crate::host::mode;

/// In host mode: reports a failure of the running thread at a site, and ends the thread.
pub(crate) fn fail_in(manner: Manner, message: String, site: usize) -> ! {
    running().fail(manner, with_chain(&message, site), running().place(site));
    guests::end_everything()
}

/// Adds the chain of calls after the first line of a message.
pub(crate) fn with_chain(message: &str, site: usize) -> String {
    let chain = sites::chain(site);
    let mut lines: Vec<&str> = message.lines().collect();
    if !chain.is_empty() {
        lines.insert(1.min(lines.len()), &chain);
    }
    lines.join("\n")
}

/// Returns a message that there is no memory at an address.
pub(crate) fn no_memory_at(address: usize) -> String {
    const PAGE: usize = 4096;
    let why = match address < PAGE {
        true => "through a pointer that is null",
        false => "which is not there or must not be written",
    };
    format!("SIGSEGV: it used address {address:#x}, {why}")
}

/// As [`fail_in`], for code that raddle cannot control.
pub(crate) fn fail_at(message: &str, site: usize) -> ! {
    fail_in(Manner::Uncontrolled, message.to_owned(), site)
}

/// Leaves the guest for good, after `last` in host mode.
pub(crate) fn diverge(last: impl FnOnce()) -> ! {
    mode::host(last);
    unreachable!("the guest was left")
}
