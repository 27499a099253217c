//! Messages for data races and memory errors.

use raddle_engine::check::memory_error::{Fate, MemoryError, Moment};
use raddle_engine::check::race::{DataRace, Link, RaceSide, Why};
use raddle_engine::memory::races::Access;
use raddle_engine::{CellId, Operation, SiteId, ThreadId};

use crate::words::finding::context::FindingContext;
use crate::words::things::access_verb;

impl FindingContext<'_> {
    /// Describes an access to a cell.
    fn access(&self, access: &Access, cell: &str) -> String {
        if access.made {
            let moment = Moment {
                thread: access.thread,
                after: access.after,
            };
            return format!("{cell} was made{}", self.by(Some(moment)));
        }
        let atomically = if access.atomic { " atomically" } else { "" };
        format!(
            "{} {}s {cell}{atomically}{}",
            self.trace.title(access.thread),
            access_verb(access),
            self.at(access.site)
        )
    }

    /// Returns the calls that led to an access, on a line of their own.
    fn chain(&self, access: &Access) -> String {
        let chain = self.names.chain(access.site);
        chain.map_or(String::new(), |chain| format!("\n  {chain}"))
    }

    /// Names the thread of an action that is not an event, and the event before it.
    fn by(&self, moment: Option<Moment>) -> String {
        let Some(Moment { thread, after }) = moment else {
            return String::new();
        };
        let events = &self.execution.events[..after.min(self.execution.events.len())];
        let last = events.iter().rfind(|event| event.id.thread == thread);
        let last = last.map_or(String::new(), |last| {
            let what = self.things.describe(last, self.execution);
            format!(", after `{what}`{}", self.at(last.site))
        });
        format!(" by {}{last}", self.trace.title(thread))
    }

    /// Describes a race that this execution does not have.
    pub(crate) fn predicted_race(&self, cell: CellId, first: &Access, second: &Access) -> String {
        let name = self.things.cell_title(cell.index());
        let chains = [first, second].map(|access| self.chain(access));
        format!(
            "{}{}\n{}, and no lock is held at both{}\n\
             help: let one lock protect the value at both places; if something else orders the two in every \
             execution, `predictions(Level::Allow)`",
            self.access(first, name),
            chains[0],
            self.access(second, name),
            chains[1],
        )
    }

    pub(crate) fn data_race(&self, race: &DataRace) -> String {
        let cell = self.things.cell_title(race.cell.index());
        let (first, second) = (
            self.access(&race.first, cell),
            self.access(&race.second, cell),
        );
        let chains = [&race.first, &race.second].map(|access| self.chain(access));
        let first = format!("{first}{}", chains[0]);
        let about = self.names.cell_story(race.cell.index());
        let second_chain = match about {
            Some(about) => format!("{}\n{cell} is {about}", chains[1]),
            None => chains[1].clone(),
        };
        let nested = race.first.thread == race.second.thread;
        match &race.why {
            Why::Overlap if nested => format!(
                "{first}\n\
                 {second}, before the first access has ended\n\
                 help: end one access before the next one begins"
            ),
            Why::Overlap => format!(
                "{first}\n\
                 {second}, before the first access has ended\n\
                 help: the two accesses must not overlap"
            ),
            Why::TooWeak(link) => format!(
                "{first}\n{second}, and nothing orders the two{second_chain}\n{}",
                self.too_weak(link)
            ),
            Why::Nothing => {
                // `get` exists only for `UnsafeCell`; other cells report reads and writes exactly.
                let besides = match self.things.cell_kind(race.cell.index()) {
                    "UnsafeCell" => {
                        "; `get` counts as a write, so use `with` where the value is only read"
                    }
                    _ if race.first.atomic || race.second.atomic => ", or make all accesses atomic",
                    _ => "",
                };
                format!(
                    "{first}\n{second}, and nothing orders the two: no lock, join or \
                     release/acquire pair is between them{second_chain}\n\
                     help: let a lock protect the value, or let the one wait for the other{besides}"
                )
            }
        }
    }

    /// Explains why a write and the read of its value do not synchronize, with the orderings that
    /// would.
    fn too_weak(&self, link: &Link) -> String {
        let Link { write, read } = link;
        let location = write.operation.location();
        let name = location.map_or("?", |location| self.things.location(location.index()));
        let (writer, reader) = (
            self.trace.title(write.thread),
            self.trace.title(read.thread),
        );
        let fact = format!(
            "{reader}'s {} of {name}{} takes the value that {writer} wrote{}, but does not synchronize \
             with it",
            noun(read),
            self.at(read.site),
            self.at(write.site),
        );
        let help = self.too_weak_sides(link);
        let help = help.map(|(side, is)| format!("the {}{} {is}", noun(side), self.at(side.site)));
        let help: Vec<String> = help.collect();
        format!("{fact}\nhelp: {}", help.join("; "))
    }

    /// Returns the sides of a link that must be stronger, each with its ordering and the one that it
    /// needs.
    fn too_weak_sides<'a>(
        &self,
        Link { write, read }: &'a Link,
    ) -> impl Iterator<Item = (&'a RaceSide, String)> {
        let sides = [(write, "Release"), (read, "Acquire")];
        let weak = sides.into_iter().filter(|(side, _)| side.is_weak);
        weak.map(|(side, needed)| {
            let [is, needed] =
                [&ordering(side), needed].map(|ordering| self.names.ordering_name(ordering));
            (side, format!("is {is}, but must be at least {needed}"))
        })
    }

    /// Returns the places of the accesses that must be stronger, each with what must change.
    pub(crate) fn to_strengthen(&self, link: &Link) -> Vec<(SiteId, String)> {
        let sides = self.too_weak_sides(link);
        let what = sides.map(|(side, is)| {
            let who = self.trace.title(side.thread);
            (side.site, format!("{who}'s {} here {is}", noun(side)))
        });
        what.collect()
    }

    pub(crate) fn memory_error(&self, error: &MemoryError) -> String {
        let (thread, at) = (self.trace.title(error.thread), self.at(error.site));
        let (what, article) = (error.what, article(error.what));
        match &error.fate {
            Fate::NeverMade => format!(
                "{thread} uses {article} {what}{at} that was never initialised\n\
                 help: initialise the memory before it is used as {article} {what}"
            ),
            Fate::Dropped(moment) => format!(
                "{thread} uses {article} {what}{at} after it was dropped\n\
                 it was dropped{}\n\
                 help: drop it only when no thread can use it any more",
                self.by(*moment)
            ),
            Fate::Freed(moment) => format!(
                "{thread} uses {article} {what}{at} after its memory was freed\n\
                 it was freed{}\n\
                 help: free it only when no thread can use it any more",
                self.by(*moment)
            ),
        }
    }

    pub(crate) fn crashed(&self, thread: ThreadId) -> String {
        let besides = match self.names.is_native() {
            true => "",
            false => {
                "; `raddle::alloc::Quarantine` makes such a use a failure that names both sides"
            }
        };
        format!(
            "{} accessed an invalid address: the process ends\n\
             help: look for a pointer to memory that was freed or never initialised{besides}",
            self.trace.title(thread)
        )
    }
}

/// Returns the indefinite article for the name of a type or thing; `Once` is pronounced with a
/// consonant.
fn article(what: &str) -> &'static str {
    let what = what.to_lowercase();
    match what.starts_with(['a', 'o', 'u']) && !what.starts_with("once") {
        true => "an",
        false => "a",
    }
}

fn noun(side: &RaceSide) -> &'static str {
    match side.operation {
        _ if side.has_failed => "failed compare-exchange",
        Operation::Load { .. } => "load",
        Operation::Store { .. } => "store",
        operation => operation.label(),
    }
}

fn ordering(side: &RaceSide) -> String {
    let ordering = match side.has_failed {
        true => side.operation.ordering_of_failure(),
        false => side.operation.ordering(),
    };
    ordering.map_or("?".to_owned(), |ordering| format!("{ordering:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_names_have_the_right_article() {
        let all = ["AtomicU32", "Mutex", "OnceLock", "UnsafeCell"];
        assert_eq!(all.map(article), ["an", "a", "a", "an"]);
    }
}
