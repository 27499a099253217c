//! The definitions, word for word, over the uses of one execution.

use std::collections::{BTreeSet, HashMap};

use super::model::{Blocks, Conflicts, DataSets, RaceModel};
use super::order::Order;
use super::uses::{self, Sections, Use};
use crate::base::ids::{SiteId, ThreadId};
use crate::check::held::Held;
use crate::model::declared::{DataSet, Datum};
use crate::model::execution::Execution;

/// Maximum number of uses of one block that are compared with each other: all pairs are.
const MAX_IN_BLOCK: usize = 32;

/// One pass of a thread through a block.
pub(super) struct Pass {
    pub(super) thread: ThreadId,
    /// The name, if the program declares the block.
    pub(super) name: Option<String>,
    pub(super) site: SiteId,
    /// Its uses in program order, by index.
    pub(super) uses: Vec<usize>,
}

/// The uses of an execution with everything that the definitions ask about them.
pub(super) struct Definitions<'a> {
    pub(super) uses: Vec<Use>,
    pub(super) passes: Vec<Pass>,
    pub(super) order: Order,
    conflicts: Conflicts,
    /// By variable: the declared sets it is in, and the blocks in which it is used together with others.
    declared: HashMap<Datum, Vec<usize>>,
    together: HashMap<Datum, Vec<usize>>,
    pub(super) sets: &'a [DataSet],
}

impl<'a> Definitions<'a> {
    pub(super) fn of(execution: &Execution, model: RaceModel, sets: &'a [DataSet]) -> Self {
        let order = Order::of(execution, model.order);
        let uses = uses::all(execution, Sections::Recorded);
        let mut passes = declared_blocks(execution, &uses);
        if model.blocks == Blocks::CriticalSections {
            passes.extend(critical_sections(order.holds(), &uses));
        }
        let mut declared: HashMap<Datum, Vec<usize>> = HashMap::new();
        for (index, set) in sets.iter().enumerate() {
            for &datum in &set.data {
                declared.entry(datum).or_default().push(index);
            }
        }
        let mut together: HashMap<Datum, Vec<usize>> = HashMap::new();
        if model.data == DataSets::UsedTogether {
            for (index, pass) in passes.iter().enumerate() {
                let data: BTreeSet<Datum> = pass.uses.iter().map(|&it| uses[it].datum).collect();
                for datum in data {
                    together.entry(datum).or_default().push(index);
                }
            }
        }
        Definitions {
            uses,
            passes,
            order,
            conflicts: model.conflicts,
            declared,
            together,
            sets,
        }
    }

    /// True when the order of two uses matters, whatever data they use.
    pub(super) fn conflict(&self, one: &Use, other: &Use) -> bool {
        self.conflicts == Conflicts::Reads || one.writes || other.writes
    }

    /// Returns the declared set that has both variables.
    pub(super) fn declared_set(&self, one: Datum, other: Datum) -> Option<&'a DataSet> {
        let others = self.declared.get(&other)?;
        let mut own = self.declared.get(&one)?.iter();
        own.find(|set| others.contains(set))
            .map(|&set| &self.sets[set])
    }

    /// True when two variables belong together wherever they are used.
    fn belong_together(&self, one: Datum, other: Datum) -> bool {
        one == other || self.declared_set(one, other).is_some()
    }

    /// True when two variables belong together in blocks.
    pub(super) fn are_associated(&self, one: Datum, other: Datum) -> bool {
        let used = || {
            let own = self.together.get(&one).into_iter().flatten();
            let others = self.together.get(&other);
            let mut own = own.filter(|pass| others.is_some_and(|others| others.contains(pass)));
            own.next().is_some()
        };
        self.belong_together(one, other) || used()
    }

    /// True when a use conflicts with both uses of a block, and the order does not keep it from coming between them.
    pub(super) fn interferes(&self, first: &Use, between: &Use, second: &Use) -> bool {
        let is_same = first.datum == between.datum && between.datum == second.datum;
        let is_overwritten = || {
            let writes = [first, between, second].iter().all(|it| it.writes);
            self.conflicts == Conflicts::View && writes && !first.reads && !second.reads
        };
        first.thread != between.thread
            && self.conflict(first, between)
            && self.conflict(between, second)
            && !(is_same && is_overwritten())
            && !self.order.keeps_out(first, between, second)
    }

    /// Returns the pairs of uses of a pass, the earlier one first.
    pub(super) fn pairs(pass: &Pass) -> impl Iterator<Item = (usize, usize)> {
        let uses = &pass.uses;
        let pairs = uses.iter().enumerate();
        pairs.flat_map(|(index, &first)| uses[index + 1..].iter().map(move |&it| (first, it)))
    }
}

/// The races of an execution by the four definitions, as indexes of uses. A race of one variable is one of associated
/// variables, too, as every variable is associated with itself.
#[derive(Clone, Debug, Default)]
pub struct Detected {
    /// All uses in the order in which they began.
    pub uses: Vec<Use>,
    /// Data races.
    pub data: BTreeSet<[usize; 2]>,
    /// Multi-data races.
    pub multi_data: BTreeSet<[usize; 2]>,
    /// Block races: the use in the middle is that of the other thread.
    pub block: BTreeSet<[usize; 3]>,
    /// Multi-data block races.
    pub multi_data_block: BTreeSet<[usize; 3]>,
}

/// Returns the races that an execution, whose accesses were kept, has by the definitions.
pub fn detect(execution: &Execution, model: RaceModel, sets: &[DataSet]) -> Detected {
    let definitions = Definitions::of(execution, model, sets);
    let uses = &definitions.uses;
    let mut detected = Detected::default();
    for (second, other) in uses.iter().enumerate() {
        for (first, one) in uses[..second].iter().enumerate() {
            let is_race = one.thread != other.thread
                && definitions.conflict(one, other)
                && definitions.belong_together(one.datum, other.datum)
                && !(one.datum == other.datum && one.is_atomic())
                && !definitions.order.are_ordered(one, other);
            if is_race {
                detected.multi_data.insert([first, second]);
            }
            if is_race && one.datum == other.datum {
                detected.data.insert([first, second]);
            }
        }
    }
    for (first, second) in definitions.passes.iter().flat_map(Definitions::pairs) {
        let (one, two) = (&uses[first], &uses[second]);
        let is_associated = |it: &Use| {
            definitions.are_associated(one.datum, it.datum)
                && definitions.are_associated(it.datum, two.datum)
        };
        for (between, other) in uses.iter().enumerate() {
            if !is_associated(other) || !definitions.interferes(one, other, two) {
                continue;
            }
            detected.multi_data_block.insert([first, between, second]);
            if one.datum == two.datum && two.datum == other.datum {
                detected.block.insert([first, between, second]);
            }
        }
    }
    detected.uses = definitions.uses;
    detected
}

/// Returns the passes through blocks that the program declares.
fn declared_blocks(execution: &Execution, uses: &[Use]) -> Vec<Pass> {
    let blocks = execution.declared.iter().flat_map(|it| &it.blocks);
    let pass = |block: &crate::model::declared::Block| {
        let to = block.to.unwrap_or(u32::MAX);
        let [from_access, to_access] = match block.to {
            Some(_) => block.accesses,
            None => [block.accesses[0], usize::MAX],
        };
        let is_in = |one: &Use| {
            one.thread == block.thread
                && match one.access {
                    Some(access) => (from_access..to_access).contains(&access),
                    None => block.from <= one.from && one.to <= to,
                }
        };
        Pass {
            thread: block.thread,
            name: Some(block.name.clone()),
            site: block.site,
            uses: own(uses, is_in),
        }
    };
    blocks.map(pass).collect()
}

/// Returns the critical sections as blocks, each from a lock of a thread that holds none to the unlock with which it
/// holds none.
fn critical_sections(holds: &[Held], uses: &[Use]) -> Vec<Pass> {
    let mut spans: Vec<(ThreadId, [usize; 2], SiteId)> = Vec::new();
    for hold in holds {
        let to = hold.to.unwrap_or(usize::MAX / 4);
        let mut own = spans.iter_mut().rev();
        match own.find(|(thread, ..)| *thread == hold.thread) {
            Some((_, span, _)) if hold.from < span[1] => span[1] = span[1].max(to),
            _ => spans.push((hold.thread, [hold.from, to], hold.at)),
        }
    }
    let pass = |&(thread, [from, to], site): &(ThreadId, [usize; 2], SiteId)| {
        let is_in =
            |one: &Use| one.thread == thread && 2 * from < one.span[0] && one.span[1] <= 2 * to + 1;
        Pass {
            thread,
            name: None,
            site,
            uses: own(uses, is_in),
        }
    };
    spans.iter().map(pass).collect()
}

/// Returns the first uses of a block.
fn own(uses: &[Use], is_in: impl Fn(&Use) -> bool) -> Vec<usize> {
    let own = uses.iter().enumerate().filter(|(_, one)| is_in(one));
    own.map(|(index, _)| index).take(MAX_IN_BLOCK).collect()
}
