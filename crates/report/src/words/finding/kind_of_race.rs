//! Messages for races in blocks and of variables that belong together.

use raddle_engine::Datum;
use raddle_engine::check::BlockValues;
use raddle_engine::race_kinds::{BlockValue, KindOfRace, RaceKind, RacyAccess};

use crate::data::failure::FailureKind;
use crate::data::insight::{Race, RaceAccess};
use crate::words::finding::context::FindingContext;

/// Returns the kind of failure that a confirmed race of a kind is.
pub(crate) fn race_kind(kind: RaceKind) -> FailureKind {
    match kind {
        RaceKind::Data => FailureKind::DataRace,
        RaceKind::Block => FailureKind::BlockRace,
        RaceKind::MultiData => FailureKind::MultiDataRace,
        RaceKind::MultiDataBlock => FailureKind::MultiDataBlockRace,
    }
}

impl FindingContext<'_> {
    /// Returns the name of a variable for a sentence.
    fn variable(&self, datum: Datum) -> String {
        match datum {
            Datum::Cell(cell) => self.things.cell_title(cell.index()).to_owned(),
            Datum::Location(location) => self.things.location(location.index()).to_owned(),
            Datum::Lock(lock) => self.things.title(lock.index()).to_owned(),
        }
    }

    /// Describes an access without its place.
    pub(crate) fn racy_access(&self, access: &RacyAccess) -> String {
        let does = if access.writes { "writes" } else { "reads" };
        let variable = self.variable(access.datum);
        format!("{} {does} {variable}", self.trace.title(access.thread))
    }

    /// Returns a race as data.
    pub(crate) fn race(&self, race: &KindOfRace) -> Race {
        let access = |access: &RacyAccess| RaceAccess {
            thread: self.trace.title(access.thread).to_owned(),
            variable: self.variable(access.datum),
            writes: access.writes,
            in_block: access.in_block,
            place: self.names.place(access.site),
        };
        Race {
            kind: race_kind(race.kind),
            block: race.block.as_ref().and_then(|block| block.name.clone()),
            set: race.set.clone(),
            accesses: race.accesses.iter().map(access).collect(),
        }
    }

    /// Describes a race, with the values of the blocks if an execution shows it.
    pub(crate) fn kind_of_race(&self, race: &KindOfRace, values: Option<&BlockValues>) -> String {
        let mut text = self.headline(race);
        for access in &race.accesses {
            let between = match race.block.is_some() && !access.in_block {
                true => ", in between",
                false => "",
            };
            let (does, at) = (self.racy_access(access), self.at(access.site));
            text += &format!("\n  {does}{at}{between}");
        }
        if let Some(values) = values {
            text += "\nno serial order of the blocks has these values:";
            text += &format!("\n  {}", self.values(&values.found));
            let count = match (values.all, values.serial.len()) {
                (1, _) => "the only serial values are".to_owned(),
                (all, shown) if all > shown => {
                    format!("serial orders have {all} others, for example")
                }
                _ => "serial orders have".to_owned(),
            };
            text += &format!("\n{count}");
            for serial in &values.serial {
                text += &format!("\n  {}", self.values(serial));
            }
        }
        text + match race.kind {
            RaceKind::Data | RaceKind::MultiData => {
                "\nhelp: let one lock protect all variables of the set at both places"
            }
            RaceKind::Block | RaceKind::MultiDataBlock => {
                "\nhelp: hold one lock from the first to the last of these accesses of the block, and at those in between"
            }
        }
    }

    fn headline(&self, race: &KindOfRace) -> String {
        let set = race.set.as_ref().map(|set| format!(" of `{set}`"));
        let set = set.unwrap_or_default();
        let Some(block) = &race.block else {
            return format!("nothing orders two uses of variables{set}");
        };
        let at = self.at(block.site);
        let block = match &block.name {
            Some(name) if name.is_empty() => format!("the block{at}"),
            Some(name) => format!("the block `{name}`{at}"),
            None => format!("the critical section{at}"),
        };
        match race.kind {
            RaceKind::MultiDataBlock => {
                format!("{block} is not atomic: variables{set} change or are read in its middle")
            }
            _ => format!("{block} is not atomic: a variable changes or is read in its middle"),
        }
    }

    fn values(&self, values: &[BlockValue]) -> String {
        let texts = values.iter().filter_map(|one| {
            let thread = self.execution.thread_at(&one.thread);
            let title = thread.map(|thread| self.trace.title(thread).to_owned());
            let title = title.unwrap_or_else(|| one.thread.to_string());
            let name = match one.name.is_empty() {
                true => "block",
                false => &one.name,
            };
            let value = one.value.as_ref().filter(|value| *value != "()")?;
            Some(format!("{name} of {title} = {value}"))
        });
        texts.collect::<Vec<_>>().join(", ")
    }
}
