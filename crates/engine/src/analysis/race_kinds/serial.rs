//! Serial executions: those that differ from one in which no thread is in the middle of a declared block only in the
//! order of uses that do not conflict.
//!
//! Every block is a node of a graph, and so is every event outside of blocks. An edge leads from one node to another if
//! the first one comes earlier in its thread, creates or ends before the thread of the other, or has a conflicting
//! use that is earlier. An execution is serial if the graph has no cycle (Flanagan et al., Velodrome, PLDI 2008).
//! Two accesses of an atomic variable are in coherence order here, which the class of an execution fixes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::uses::{self, Sections, Use};
use crate::base::ids::ThreadId;
use crate::model::declared::{Block, Datum};
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::model::schedule::ThreadPath;

/// Maximum number of uses of one execution: all pairs of uses of one variable are compared.
const MAX_USES: usize = 300;

/// The value of a block in one pass of a thread.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlockValue {
    /// The thread.
    pub thread: ThreadPath,
    /// The name of the block.
    pub name: String,
    /// The text of its value; `None` if it has none that can be printed, or was left before its end.
    pub value: Option<String>,
}

/// Returns the values of all declared blocks, thread by thread.
pub fn values(execution: &Execution) -> Vec<BlockValue> {
    let blocks = execution.declared.iter().flat_map(|it| &it.blocks);
    let mut values: Vec<_> = blocks
        .map(|block| BlockValue {
            thread: execution.path(block.thread),
            name: block.name.clone(),
            value: block.value.clone(),
        })
        .collect();
    // The blocks of a thread are in program order.
    values.sort_by(|one, other| one.thread.cmp(&other.thread));
    values
}

/// A node: a thread and a point of it. An event has an odd number, and the gap before it an even one; in the gap, the
/// points of accesses and blocks are in the order of accesses.
type Node = (ThreadId, u64, usize);

struct Nodes<'a> {
    /// By thread: the outermost blocks in program order.
    blocks: HashMap<ThreadId, Vec<&'a Block>>,
}

impl<'a> Nodes<'a> {
    fn of(execution: &'a Execution) -> Self {
        let mut blocks: HashMap<ThreadId, Vec<&Block>> = HashMap::new();
        for block in execution.declared.iter().flat_map(|it| &it.blocks) {
            let own = blocks.entry(block.thread).or_default();
            // A block that begins before the last one has ended is inside it.
            let is_inner = own.last().is_some_and(|last| match last.to {
                Some(to) => (block.from, block.accesses[0]) < (to, last.accesses[1]),
                None => true,
            });
            if !is_inner {
                own.push(block);
            }
        }
        Nodes { blocks }
    }

    fn of_block(block: &Block) -> Node {
        (
            block.thread,
            2 * u64::from(block.from),
            2 * block.accesses[0],
        )
    }

    fn of_event(&self, thread: ThreadId, index: u32) -> Node {
        let blocks = self.blocks.get(&thread).into_iter().flatten();
        let mut blocks = blocks.filter(|it| it.from <= index && it.to.is_none_or(|to| index < to));
        match blocks.next() {
            Some(block) => Self::of_block(block),
            None => (thread, 2 * u64::from(index) + 1, 0),
        }
    }

    fn of_use(&self, one: &Use) -> Node {
        let Some(access) = one.access else {
            return self.of_event(one.thread, one.from);
        };
        let blocks = self.blocks.get(&one.thread).into_iter().flatten();
        let mut blocks = blocks
            .filter(|it| it.accesses[0] <= access && (it.to.is_none() || access < it.accesses[1]));
        match blocks.next() {
            Some(block) => Self::of_block(block),
            None => (one.thread, 2 * u64::from(one.last), 2 * access + 1),
        }
    }
}

/// True when an execution is serial; `None` if it has too many uses.
pub fn is_serializable(execution: &Execution) -> Option<bool> {
    let uses = uses::all(execution, Sections::Recorded);
    if uses.len() > MAX_USES {
        return None;
    }
    let nodes = Nodes::of(execution);
    let mut edges: BTreeMap<Node, BTreeSet<Node>> = BTreeMap::new();
    let mut points: BTreeSet<Node> = BTreeSet::new();
    let mut add = |from: Node, to: Node| {
        points.extend([from, to]);
        if from != to {
            edges.entry(from).or_default().insert(to);
        }
    };
    let mut by_datum: BTreeMap<Datum, Vec<&Use>> = BTreeMap::new();
    for one in &uses {
        let own = by_datum.entry(one.datum).or_default();
        for earlier in own.iter().filter(|it| it.writes || one.writes) {
            let (first, second) = in_order(earlier, one);
            add(nodes.of_use(first), nodes.of_use(second));
        }
        own.push(one);
    }
    for event in &execution.events {
        let (thread, own) = (
            event.id.thread,
            nodes.of_event(event.id.thread, event.id.index),
        );
        let cause = match event.operation {
            Operation::Begin => execution.threads[thread.index()].spawned_by,
            Operation::Join { target } => execution.threads[target.index()].end,
            _ => None,
        };
        if let Some(cause) = cause {
            add(nodes.of_event(cause.thread, cause.index), own);
        }
    }
    let points: Vec<Node> = points.into_iter().collect();
    for pair in points.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
        edges.entry(pair[0]).or_default().insert(pair[1]);
    }
    Some(!has_cycle(&points, &edges))
}

/// Returns two conflicting uses of one variable in their order.
fn in_order<'u>(earlier: &'u Use, later: &'u Use) -> (&'u Use, &'u Use) {
    match earlier.datum {
        Datum::Location(_) if later.rank < earlier.rank => (later, earlier),
        _ => (earlier, later),
    }
}

/// True when some nodes cannot be removed one by one, each without an edge from another that is left.
fn has_cycle(points: &[Node], edges: &BTreeMap<Node, BTreeSet<Node>>) -> bool {
    let mut incoming: BTreeMap<Node, usize> = points.iter().map(|&point| (point, 0)).collect();
    for to in edges.values().flatten() {
        *incoming.entry(*to).or_default() += 1;
    }
    let mut free: Vec<Node> = incoming
        .iter()
        .filter(|(_, count)| **count == 0)
        .map(|(&node, _)| node)
        .collect();
    let mut removed = 0;
    while let Some(node) = free.pop() {
        removed += 1;
        for to in edges.get(&node).into_iter().flatten() {
            let count = incoming.entry(*to).or_default();
            *count -= 1;
            if *count == 0 {
                free.push(*to);
            }
        }
    }
    removed < incoming.len()
}
