//! Traces in the STD format of offline race predictors such as RAPID: one event per line,
//! `THREAD|EVENT(TARGET)|PLACE`, with the events `fork`, `join`, `acq`, `rel`, `r` and `w`.
//!
//! The format has threads, locks and variables only. Everything else is encoded with these:
//!
//! - An atomic is accessed under a lock of its own. Its accesses therefore never race, and a read
//!   happens after the write that it takes.
//! - Any other object that orders threads, such as a channel, is treated the same: each use reads
//!   and writes it.
//! - A reader-writer lock is one lock for each thread: a reader acquires its own, a writer all of
//!   them.
//! - Cells are plain variables, the only ones that can race.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write;

use crate::data::effect::Effect;
use crate::data::place::Place;
use crate::data::trace::{CellAccess, Trace};

/// A trace in the STD format, with its table of places.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct StdTrace {
    /// The events, one per line.
    pub events: String,
    /// The places, one `NUMBER FILE:LINE:COLUMN` per line.
    pub places: String,
}

impl Trace {
    /// Returns the execution in the STD format of offline race predictors.
    pub fn std_trace(&self) -> StdTrace {
        let mut writer = StdTraceWriter {
            trace: self,
            names: names(self),
            shared: shared(self),
            events: String::new(),
            places: HashMap::new(),
            list: String::new(),
        };
        writer.write();
        StdTrace {
            events: writer.events,
            places: writer.list,
        }
    }
}

/// Returns the locks that are acquired shared at least once.
fn shared(trace: &Trace) -> BTreeSet<usize> {
    let steps = trace.steps.iter();
    let shared = steps.filter(|step| {
        matches!(step.effect, Effect::AcquireShared | Effect::Downgrade) && !step.waits
    });
    shared.filter_map(|step| step.thing).collect()
}

/// Returns a name for each thing without the format's separators. Names are unique, and differ from
/// those of the generated locks.
fn names(trace: &Trace) -> Vec<String> {
    let keep = |c: char| if c.is_alphanumeric() { c } else { '_' };
    let plain = |name: &str| name.chars().map(keep).collect::<String>();
    let mut taken = HashSet::new();
    let mut names = Vec::new();
    for (name, _) in &trace.things {
        let mut name = plain(name);
        while is_generated(&name) || !taken.insert(name.clone()) {
            name.push('_');
        }
        names.push(name);
    }
    names
}

/// Returns the name of the generated lock of an atomic.
fn guard(name: &str) -> String {
    format!("{name}_lock")
}

/// Returns the name of a thread's generated lock for a reader-writer lock.
fn part(name: &str, thread: usize) -> String {
    format!("{name}_T{thread}")
}

/// True for a name that a generated lock could have.
fn is_generated(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let is_part = name
        .rsplit_once("_T")
        .is_some_and(|(_, thread)| is_number(thread));
    is_part || name.ends_with("_lock")
}

struct StdTraceWriter<'a> {
    trace: &'a Trace,
    names: Vec<String>,
    shared: BTreeSet<usize>,
    events: String,
    places: HashMap<Place, usize>,
    list: String,
}

impl StdTraceWriter<'_> {
    fn write(&mut self) {
        let trace = self.trace;
        let mut accesses = trace.accesses.iter().peekable();
        for (index, step) in trace.steps.iter().enumerate() {
            while let Some(access) = accesses.next_if(|access| access.after <= index) {
                self.access(access);
            }
            if step.waits {
                continue;
            }
            let (thread, place) = (step.thread, step.place.as_ref());
            let Some(thing) = step.thing else {
                match step.effect {
                    Effect::Fork(child) => self.event(thread, "fork", &format!("T{child}"), place),
                    Effect::Join(child) => self.event(thread, "join", &format!("T{child}"), place),
                    _ => {}
                }
                continue;
            };
            let is_shared = self.shared.contains(&thing);
            // In a trace that was read from a file, indices may be out of range.
            let Some(name) = self.names.get(thing).cloned() else {
                continue;
            };
            match step.effect {
                Effect::Acquire if is_shared => {
                    for reader in 0..trace.threads.len() {
                        self.event(thread, "acq", &part(&name, reader), place);
                    }
                }
                Effect::Acquire => self.event(thread, "acq", &name, place),
                Effect::AcquireShared => {
                    self.event(thread, "acq", &part(&name, thread), place);
                }
                Effect::Release if is_shared => {
                    let is_alone = self.is_alone(index);
                    let all = (0..trace.threads.len()).rev();
                    for reader in all.filter(|&reader| is_alone || reader == thread) {
                        self.event(thread, "rel", &part(&name, reader), place);
                    }
                }
                Effect::Release => self.event(thread, "rel", &name, place),
                Effect::Downgrade => {
                    for reader in (0..trace.threads.len()).filter(|&reader| reader != thread) {
                        self.event(thread, "rel", &part(&name, reader), place);
                    }
                }
                // The list of accesses, if there is one, contains these steps as well.
                Effect::ReadCell | Effect::WriteCell if !trace.accesses.is_empty() => {}
                Effect::ReadCell => self.event(thread, "r", &name, place),
                Effect::WriteCell => self.event(thread, "w", &name, place),
                Effect::Read => self.guarded(thread, &name, &["r"], place),
                Effect::Write => self.guarded(thread, &name, &["w"], place),
                Effect::Update | Effect::Use => self.guarded(thread, &name, &["r", "w"], place),
                Effect::Fork(_) | Effect::Join(_) | Effect::Other => {}
            }
        }
        accesses.for_each(|access| self.access(access));
    }

    /// Writes an access to a cell.
    fn access(&mut self, access: &CellAccess) {
        let event = if access.writes { "w" } else { "r" };
        if let Some(target) = self.names.get(access.thing).cloned() {
            self.event(access.thread, event, &target, access.place.as_ref());
        }
    }

    /// True when the lock that this step releases was held exclusively.
    fn is_alone(&self, release: usize) -> bool {
        let (thread, thing) = {
            let step = &self.trace.steps[release];
            (step.thread, step.thing)
        };
        let before = self.trace.steps[..release].iter().rev();
        let mut own = before.filter(|step| step.thread == thread && step.thing == thing);
        let taken = own.find(|step| {
            matches!(
                step.effect,
                Effect::Acquire | Effect::AcquireShared | Effect::Downgrade
            )
        });
        taken.is_some_and(|step| step.effect == Effect::Acquire)
    }

    fn guarded(&mut self, thread: usize, name: &str, events: &[&str], place: Option<&Place>) {
        let lock = guard(name);
        self.event(thread, "acq", &lock, place);
        for event in events {
            self.event(thread, event, name, place);
        }
        self.event(thread, "rel", &lock, place);
    }

    fn event(&mut self, thread: usize, event: &str, target: &str, place: Option<&Place>) {
        let place = place.map_or(0, |place| self.number(place));
        let _ = writeln!(self.events, "T{thread}|{event}({target})|{place}");
    }

    /// Returns the number of a place, from 1, and adds a new one to the table.
    fn number(&mut self, place: &Place) -> usize {
        if let Some(&number) = self.places.get(place) {
            return number;
        }
        let number = self.places.len() + 1;
        self.places.insert(place.clone(), number);
        let _ = writeln!(self.list, "{number} {place}:{}", place.column);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::trace::TraceThread;

    #[test]
    fn accesses_after_the_last_step_are_written() {
        let thread = TraceThread {
            path: "main".to_owned(),
            name: None,
            spawned: None,
        };
        let access = CellAccess {
            thread: 0,
            thing: 0,
            writes: true,
            place: None,
            after: 0,
        };
        let trace = Trace {
            threads: vec![thread],
            things: vec![("cell".to_owned(), None)],
            accesses: vec![access],
            ..Trace::default()
        };
        assert_eq!(trace.std_trace().events, "T0|w(cell)|0\n");
    }

    #[test]
    fn names_differ_from_those_of_generated_locks() {
        let things = ["x", "x_lock", "x-lock", "x_T1", "x_Tea", "x.lock"];
        let trace = Trace {
            things: things.map(|name| (name.to_owned(), None)).into(),
            ..Trace::default()
        };
        assert_eq!(
            names(&trace),
            ["x", "x_lock_", "x_lock__", "x_T1_", "x_Tea", "x_lock___"]
        );
    }
}
