//! The identity of failures.

use raddle_engine::check::Finding;
use raddle_engine::check::deadlock::Blocked;
use raddle_engine::minimise::Cost;
use raddle_engine::{Event, Execution, Operation, SiteId};
use raddle_report::Names;

/// A file and a line number.
type Line = (String, u32);

fn line(names: &dyn Names, site: SiteId) -> Option<Line> {
    names.place(site).map(|place| (place.file, place.line))
}

/// The identity of a failure, independent of the order of events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Signature {
    /// The site of a panic, and its message if that matters.
    Panic(Option<String>, Option<String>),
    /// The sites where threads wait for ever, and the kind of waiting. A deadlock and a lost wake-up are
    /// the same failure if the same sites are reached: the two differ in the order of events before.
    Waiting(u8, Vec<Option<Line>>),
    /// The sites of two conflicting accesses, in either order.
    Race([Option<Line>; 2]),
    /// The site of an invalid memory access.
    Memory(Option<Line>),
    /// The number of a violated property.
    Property(usize),
}

impl Signature {
    /// Returns `None` if a shorter execution would not be a better explanation.
    pub(crate) fn of(finding: &Finding, names: &dyn Names) -> Option<Self> {
        let waiting = |kind: u8, sites: &mut dyn Iterator<Item = SiteId>| {
            let mut places: Vec<_> = sites.map(|site| line(names, site)).collect();
            places.sort();
            Some(Signature::Waiting(kind, places))
        };
        match finding {
            Finding::Panic(panic) => {
                let message = Some(panic.message.clone());
                Some(Signature::Panic(panic.place.clone(), message))
            }
            Finding::Deadlock(blocked) | Finding::LostWakeup { blocked, .. } => {
                waiting(0, &mut sites(blocked))
            }
            Finding::ThreadOutlives(blocked) => waiting(1, &mut sites(blocked)),
            Finding::Livelock { rounds, blocked } => {
                let spinning = rounds.iter().map(|round| round.site);
                waiting(2, &mut spinning.chain(sites(blocked)))
            }
            Finding::DataRace(race) => {
                let mut places = [race.first, race.second].map(|one| line(names, one.site));
                places.sort();
                Some(Signature::Race(places))
            }
            Finding::MemoryError(error) => Some(Signature::Memory(line(names, error.site))),
            Finding::Property(violation) => Some(Signature::Property(violation.number)),
            _ => None,
        }
    }

    /// Generalises the signature for minimising. A panic message may contain values that threads
    /// have read, so the same mistake has different messages. If the program makes explicit
    /// choices, a different message may be another mistake.
    pub(super) fn of_any(self, execution: &Execution) -> Self {
        let chooses = |event: &Event| matches!(event.operation, Operation::Choose { .. });
        match self {
            Signature::Panic(place, _) if !execution.events.iter().any(chooses) => {
                Signature::Panic(place, None)
            }
            signature => signature,
        }
    }

    /// True when another failure is the same.
    pub(crate) fn fits(&self, other: &Signature) -> bool {
        match (self, other) {
            (Signature::Panic(place, None), Signature::Panic(other, _)) => place == other,
            _ => self == other,
        }
    }

    /// True when another failure is the same but for the values in its message.
    pub(crate) fn is_at_the_place_of(&self, other: &Signature) -> bool {
        match (self, other) {
            (Signature::Panic(place, _), Signature::Panic(other, _)) => place == other,
            _ => self == other,
        }
    }

    /// Returns the cost of an execution with this failure.
    pub(super) fn cost(&self, execution: &Execution, finding: &Finding) -> Cost {
        Cost::of(execution, finding.after(), self.is_of_memory())
    }

    /// True when the failure is about memory, so that stale reads need not be avoided.
    pub(crate) fn is_of_memory(&self) -> bool {
        matches!(self, Signature::Race(_) | Signature::Memory(_))
    }
}

fn sites(blocked: &[Blocked]) -> impl Iterator<Item = SiteId> {
    blocked.iter().map(|one| one.site)
}
