//! The parameters of the definitions: the order that synchronization makes, the pairs of accesses that conflict, the
//! blocks and the sets of data.

use std::fmt;
use std::str::FromStr;

/// The order that synchronization makes between accesses of different threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SyncOrder {
    /// Creation, join, notifications and everything else but locks order accesses; locks exclude them.
    #[default]
    Lockset,
    /// Happens-before of the execution, with the order in which its locks were taken.
    HappensBefore,
    /// The order of the run: only what happened counts.
    Timestamp,
}

/// The pairs of accesses whose order matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Conflicts {
    /// Those of which one is a write, except for a write between two writes of the same data in a block, which
    /// overwrites it (view-serializability).
    #[default]
    View,
    /// Those of which one is a write (conflict-serializability).
    Writes,
    /// All, also two reads.
    Reads,
}

/// The blocks that must not be interfered with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Blocks {
    /// Those that the program declares.
    #[default]
    Declared,
    /// Critical sections too, each up to the last lock that it gives back.
    CriticalSections,
}

/// The sets of data that belong together. Two accesses outside of a block are compared only by declared sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DataSets {
    /// Declared sets, and the data that one block uses.
    #[default]
    UsedTogether,
    /// Those that the program declares.
    Declared,
}

/// The parameters of the four definitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct RaceModel {
    /// The order that synchronization makes.
    pub order: SyncOrder,
    /// The pairs of accesses that conflict.
    pub conflicts: Conflicts,
    /// The blocks.
    pub blocks: Blocks,
    /// The sets of data.
    pub data: DataSets,
}

/// The name of a parameter's value, and the change that it makes.
type Word = (&'static str, fn(&mut RaceModel));

const WORDS: [Word; 10] = [
    ("lockset", |model| model.order = SyncOrder::Lockset),
    ("happens-before", |model| {
        model.order = SyncOrder::HappensBefore;
    }),
    ("timestamp", |model| model.order = SyncOrder::Timestamp),
    ("view", |model| model.conflicts = Conflicts::View),
    ("writes", |model| model.conflicts = Conflicts::Writes),
    ("reads", |model| model.conflicts = Conflicts::Reads),
    ("declared-blocks", |model| model.blocks = Blocks::Declared),
    ("critical-sections", |model| {
        model.blocks = Blocks::CriticalSections;
    }),
    ("used-together", |model| model.data = DataSets::UsedTogether),
    ("declared-sets", |model| model.data = DataSets::Declared),
];

/// A word that names no value of a parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownWord(pub String);

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = WORDS.map(|(word, _)| word).join(", ");
        write!(
            f,
            "unknown parameter of races `{}`; there are: {words}",
            self.0
        )
    }
}

impl std::error::Error for UnknownWord {}

impl FromStr for RaceModel {
    type Err = UnknownWord;

    /// Reads words with commas between them; parameters that none of them names keep their defaults.
    fn from_str(words: &str) -> Result<Self, UnknownWord> {
        let mut model = RaceModel::default();
        for word in words.split(',').map(str::trim) {
            let known = WORDS
                .iter()
                .find(|(known, _)| known.eq_ignore_ascii_case(word));
            let (_, change) = known.ok_or_else(|| UnknownWord(word.to_owned()))?;
            change(&mut model);
        }
        Ok(model)
    }
}
