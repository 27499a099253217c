//! How a thread fails.
//!
//! A thread that finds something wrong ends where it is, and with it all who wait for it; the others
//! go on, as they do when a thread of a Rust test panics. So the search need not know more of the
//! end of a program than of any other.

use super::guests;
use crate::engine::Manner;
use crate::execution::{running, sites};
use crate::host::mode;

/// The running thread, in host mode, has found something wrong at a site.
pub(crate) fn fail_in(manner: Manner, message: String, site: usize) -> ! {
    running().fail(manner, with_chain(&message, site), running().place(site));
    guests::end_everything()
}

/// How the thread came there, after the first line of what it says.
pub(crate) fn with_chain(message: &str, site: usize) -> String {
    let chain = sites::chain(site);
    let mut lines: Vec<&str> = message.lines().collect();
    if !chain.is_empty() {
        lines.insert(1.min(lines.len()), &chain);
    }
    lines.join("\n")
}

/// The same, for what raddle cannot control.
pub(crate) fn fail_at(message: &str, site: usize) -> ! {
    fail_in(Manner::Uncontrolled, message.to_owned(), site)
}

/// Leaves the guest for good.
pub(crate) fn diverge(last: impl FnOnce()) -> ! {
    mode::host(last);
    unreachable!("the guest was left")
}
