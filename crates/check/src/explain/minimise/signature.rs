//! What makes two failures the same.

use raddle_engine::check::Finding;
use raddle_engine::check::deadlock::Blocked;
use raddle_engine::minimise::Cost;
use raddle_engine::{Event, Execution, Operation, SiteId};
use raddle_report::Names;

/// A file and a line of it.
type Line = (String, u32);

fn line(names: &dyn Names, site: SiteId) -> Option<Line> {
    names.place(site).map(|place| (place.file, place.line))
}

/// What makes two failures the same, whatever the order in which things happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Signature {
    /// Where a thread panicked, and what it said, if that matters.
    Panic(Option<String>, Option<String>),
    /// Where threads wait for ever, and why.
    Waiting(u8, Vec<Option<Line>>),
    /// Where a cell is accessed by two that nothing orders, whichever comes first.
    Race([Option<Line>; 2]),
    /// Where memory is used that is not there.
    Memory(Option<Line>),
}

impl Signature {
    /// `None` if a shorter story would not be a better one.
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
            Finding::Deadlock(blocked) => waiting(0, &mut sites(blocked)),
            Finding::ThreadOutlives(blocked) => waiting(1, &mut sites(blocked)),
            Finding::LostWakeup { blocked, .. } => waiting(2, &mut sites(blocked)),
            Finding::Livelock { rounds, blocked } => {
                let spinning = rounds.iter().map(|round| round.site);
                waiting(3, &mut spinning.chain(sites(blocked)))
            }
            Finding::DataRace(race) => {
                let mut places = [race.first, race.second].map(|one| line(names, one.site));
                places.sort();
                Some(Signature::Race(places))
            }
            Finding::MemoryError(error) => Some(Signature::Memory(line(names, error.site))),
            _ => None,
        }
    }

    /// The same for the execution that is to be minimised. What a panic says may have to do with the
    /// values that threads see, and is then another way to tell of the same mistake; but where the
    /// program was given something to choose, it may tell of another.
    pub(super) fn of_any(self, execution: &Execution) -> Self {
        let chooses = |event: &Event| matches!(event.operation, Operation::Choose { .. });
        match self {
            Signature::Panic(place, _) if !execution.events.iter().any(chooses) => {
                Signature::Panic(place, None)
            }
            signature => signature,
        }
    }

    /// Whether another failure is the same.
    pub(crate) fn fits(&self, other: &Signature) -> bool {
        match (self, other) {
            (Signature::Panic(place, None), Signature::Panic(other, _)) => place == other,
            _ => self == other,
        }
    }

    /// What an execution costs that fails like this.
    pub(super) fn cost(&self, execution: &Execution, finding: &Finding) -> Cost {
        Cost::of(execution, finding.after(), self.is_of_memory())
    }

    /// Whether memory is what goes wrong, so that stale values are nothing to avoid.
    pub(crate) fn is_of_memory(&self) -> bool {
        matches!(self, Signature::Race(_) | Signature::Memory(_))
    }
}

fn sites(blocked: &[Blocked]) -> impl Iterator<Item = SiteId> {
    blocked.iter().map(|one| one.site)
}
