//! The critical pair of a failure, with a sentence that explains it.

use raddle_engine::check::Finding;
use raddle_engine::minimise::{Moment, Swap};
use raddle_engine::{Execution, Operation, SiteId, ThreadId};

use crate::data::insight::CriticalPair;
use crate::data::place::Place;
use crate::words::names::Names;
use crate::words::things::{Things, title};

impl CriticalPair {
    /// Builds the pair from a failing execution and the swap of two events that makes it pass.
    pub fn of(
        (swap, is_about): (&Swap, bool),
        finding: &Finding,
        execution: &Execution,
        names: &dyn Names,
    ) -> Self {
        let things = Things::of(execution, names);
        let action = |thread: ThreadId, operation: &Operation, site: SiteId| Action {
            thread: title(execution, thread),
            what: as_clause(&things.describe_pending(operation, execution)),
            place: names.place(site),
        };
        let at = |position: usize| {
            let event = &execution.events[position];
            action(event.id.thread, &event.operation, event.site)
        };
        let (second, step) = match swap.second {
            Moment::At(position) => (at(position), step(finding, position)),
            Moment::Never(thread) => {
                let pending = &execution.pending[..=thread.index()];
                let (operation, site) =
                    pending[thread.index()].expect("a thread that waits has a pending operation");
                let before = pending.iter().flatten().count() - 1;
                let position = execution.events.len() + before;
                (action(thread, &operation, site), step(finding, position))
            }
        };
        let first = at(swap.first);
        CriticalPair {
            first: step_of_event(finding, swap.first),
            second: step,
            why: match (is_about, swap.is_stale) {
                (true, true) => unseen(&first, &second),
                (true, false) => sentence(&first, &second),
                (false, true) => seen(&first, &second),
                (false, false) => otherwise(&first, &second),
            },
            is_about,
        }
    }
}

/// An operation of a thread, with its place.
struct Action {
    thread: String,
    what: String,
    place: Option<Place>,
}

impl Action {
    /// Returns the line in parentheses, with the file's name if the other action is in another
    /// file.
    fn at(&self, other: &Action) -> String {
        let Some(place) = &self.place else {
            return String::new();
        };
        let other = other.place.as_ref().map(|other| &other.file);
        match other == Some(&place.file) {
            true => format!(" (:{})", place.line),
            false => format!(" ({}:{})", place.file_name(), place.line),
        }
    }
}

fn sentence(first: &Action, second: &Action) -> String {
    format!(
        "fails when {}, not the other way round",
        in_order(first, second)
    )
}

/// Returns the sentence for a pair that is not about the failure: only the order that passes.
fn otherwise(first: &Action, second: &Action) -> String {
    format!("also passes when {}", in_order(second, first))
}

fn in_order(first: &Action, second: &Action) -> String {
    let does = match first.what == second.what {
        true => "does",
        false => &second.what,
    };
    format!(
        "{} {}{} before {} {does}{}",
        first.thread,
        first.what,
        first.at(second),
        second.thread,
        second.at(first),
    )
}

fn unseen(first: &Action, second: &Action) -> String {
    format!(
        "fails when {} {}{} and misses that {} {}{}, not when it sees it",
        second.thread,
        second.what,
        second.at(first),
        first.thread,
        first.what,
        first.at(second),
    )
}

/// Returns the sentence for a stale read that is not about the failure.
fn seen(first: &Action, second: &Action) -> String {
    format!(
        "also passes when {} {}{} and sees that {} {}{}",
        second.thread,
        second.what,
        second.at(first),
        first.thread,
        first.what,
        first.at(second),
    )
}

/// Turns the description of a step into a clause: `lock fork` becomes `locks fork`.
fn as_clause(text: &str) -> String {
    let word = text.split(' ').next().unwrap_or_default();
    let verb = match word {
        "load" => "loads",
        "store" => "stores to",
        "lock" => "locks",
        "unlock" | "read-unlock" | "write-unlock" => "unlocks",
        "read" => "read-locks",
        "write" => "write-locks",
        "try-lock" => "tries to lock",
        "try-read" => "tries to read-lock",
        "try-write" => "tries to write-lock",
        "wait" => "waits for",
        "notify-one" | "notify-all" => "notifies",
        "signal" | "signal-all" => "signals",
        "park" => "parks",
        "unpark" => "unparks",
        "send" => "sends",
        "try-send" => "tries to send",
        "receive" => "receives",
        "try-receive" => "tries to receive",
        "acquire" => "acquires",
        "try-acquire" => "tries to acquire",
        "release" => "releases",
        "enter" => "enters",
        "exit" => "leaves",
        "drop" => "drops",
        "upgrade" => "upgrades",
        "clone" => "clones",
        "use" => "uses",
        "look" => "looks",
        "swap" | "compare-exchange" => "updates",
        word if word.starts_with("fetch-") => "updates",
        _ => return format!("does `{text}`"),
    };
    format!("{verb}{}", &text[word.len()..])
}

/// Returns the step of the event at this position; `None` if the trace ends before it.
fn step(finding: &Finding, position: usize) -> Option<usize> {
    let end = finding.after().unwrap_or(usize::MAX);
    (position < end).then(|| step_of_event(finding, position))
}

/// Returns the step of an event that is in the trace. The first access of a race is a step without
/// an event.
fn step_of_event(finding: &Finding, position: usize) -> usize {
    match finding {
        Finding::DataRace(race) => position + usize::from(position >= race.first.after),
        _ => position,
    }
}
