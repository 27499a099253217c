//! Sites in stories: places in the source, and the calls that led there.

use super::shadow_stack;
use crate::engine::Place;
use crate::names::symbols::{self, SourceFrame};

/// Returns the place of a site in the source: the call that returns to its address, or the last
/// call of its chain that is the user's.
pub(crate) fn place(site: usize) -> Option<Place> {
    let mut found = None;
    for code in shadow_stack::unfold(site) {
        // Code that the compiler has added has no line.
        let is_known = |frame: &SourceFrame| frame.is_users && frame.place.line > 0;
        let mut frames = symbols::frames(code);
        match frames.iter().rposition(is_known) {
            Some(users) => return Some(frames.swap_remove(users).place),
            None => found = found.or_else(|| frames.pop()),
        }
    }
    found.map(|frame| frame.place)
}

/// Returns the call stack of a site as text: the functions around it, each with the place of its
/// call of the next; empty if there is only one.
pub(crate) fn chain(site: usize) -> String {
    let codes = shadow_stack::unfold(site).into_iter();
    let frames = codes.flat_map(|code| symbols::frames(code).into_iter().rev());
    let frames: Vec<_> = frames
        .filter(|frame| frame.is_users)
        .take(LONGEST)
        .collect();
    let [first, callers @ ..] = &frames[..] else {
        return String::new();
    };
    let caller =
        |SourceFrame {
             function, place, ..
         }: &SourceFrame| { format!("by {function} at {}:{}", place.file, place.line) };
    let mut callers: Vec<_> = callers.iter().map(caller).collect();
    // A recursion is shown once.
    callers.dedup();
    match callers.is_empty() {
        true => String::new(),
        false => format!("in {}, called {}", first.function, callers.join(", ")),
    }
}

/// Maximum number of functions shown.
const LONGEST: usize = 8;
