//! Minimisation of a graph by bisimulation.
//!
//! Both relations are computed by refining a partition: states stay together while their signatures are equal, that is
//! the labels of their transitions and the blocks that these lead to (Blom and Orzan, STTT 2005). For branching
//! bisimulation, internal steps inside a block belong to no signature (van Glabbeek and Weijland, JACM 1996).

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::{BehaviourGraph, BehaviourState, BehaviourTransition};

/// Labels of the transitions of a state, with the blocks they lead to.
type Signature<'a> = BTreeSet<(Option<&'a str>, usize)>;

impl BehaviourGraph {
    /// Returns the smallest graph that is strongly bisimilar: no observer of labels, internal steps, values and
    /// endings can tell the two apart.
    #[must_use]
    pub fn minimised(&self) -> Self {
        self.quotient(false)
    }

    /// Returns the smallest graph that is branching bisimilar: internal steps are left out unless they decide which
    /// labels can follow. It has the same sequences of labels, the same choices between them, and the same values and
    /// endings.
    #[must_use]
    pub fn without_internal_steps(&self) -> Self {
        self.quotient(true)
    }

    fn quotient(&self, is_branching: bool) -> Self {
        let blocks = self.blocks(is_branching);
        let Some(&initial) = blocks.first() else {
            return self.clone();
        };
        let mut transitions: BTreeSet<(usize, Option<&str>, usize)> = BTreeSet::new();
        let mut states: HashMap<usize, &BehaviourState> = HashMap::new();
        for (state, &block) in blocks.iter().enumerate() {
            states.insert(block, &self.states[state]);
        }
        for it in &self.transitions {
            let (from, to) = (blocks[it.from], blocks[it.to]);
            if !(is_branching && it.label.is_none() && from == to) {
                transitions.insert((from, it.label.as_deref(), to));
            }
        }
        // Blocks in the order of a breadth-first search, so that equal graphs have equal texts.
        let mut numbers = HashMap::from([(initial, 0)]);
        let mut order = vec![initial];
        let mut open = VecDeque::from([initial]);
        while let Some(block) = open.pop_front() {
            for &(_, _, to) in transitions.range((block, None, 0)..(block + 1, None, 0)) {
                if !numbers.contains_key(&to) {
                    numbers.insert(to, order.len());
                    order.push(to);
                    open.push_back(to);
                }
            }
        }
        let renumbered = transitions.iter().filter_map(|(from, label, to)| {
            Some(BehaviourTransition {
                from: *numbers.get(from)?,
                label: label.map(str::to_owned),
                to: *numbers.get(to)?,
            })
        });
        let mut transitions: Vec<_> = renumbered.collect();
        transitions.sort();
        BehaviourGraph {
            states: order.iter().map(|block| states[block].clone()).collect(),
            transitions,
        }
    }

    /// Returns the block of each state.
    fn blocks(&self, is_branching: bool) -> Vec<usize> {
        let mut kinds: HashMap<&BehaviourState, usize> = HashMap::new();
        let mut blocks: Vec<usize> = Vec::with_capacity(self.states.len());
        for state in &self.states {
            let next = kinds.len();
            blocks.push(*kinds.entry(state).or_insert(next));
        }
        let mut count = kinds.len();
        loop {
            let signatures = self.signatures(&blocks, is_branching);
            let mut known: HashMap<(usize, Signature<'_>), usize> = HashMap::new();
            let mut refined = Vec::with_capacity(blocks.len());
            for (block, signature) in blocks.iter().zip(signatures) {
                let next = known.len();
                refined.push(*known.entry((*block, signature)).or_insert(next));
            }
            let is_stable = known.len() == count;
            count = known.len();
            blocks = refined;
            if is_stable {
                return blocks;
            }
        }
    }

    fn signatures(&self, blocks: &[usize], is_branching: bool) -> Vec<Signature<'_>> {
        let mut signatures: Vec<Signature<'_>> = vec![BTreeSet::new(); self.states.len()];
        let is_inert = |it: &BehaviourTransition| {
            is_branching && it.label.is_none() && blocks[it.from] == blocks[it.to]
        };
        for it in self.transitions.iter().filter(|it| !is_inert(it)) {
            signatures[it.from].insert((it.label.as_deref(), blocks[it.to]));
        }
        let inert: Vec<_> = self.transitions.iter().filter(|it| is_inert(it)).collect();
        let mut before: HashMap<usize, Vec<usize>> = HashMap::new();
        for it in &inert {
            before.entry(it.to).or_default().push(it.from);
        }
        // What a state can do, the states before it can do after internal steps.
        let mut open: Vec<usize> = before.keys().copied().collect();
        while let Some(state) = open.pop() {
            for &earlier in before.get(&state).into_iter().flatten() {
                let new = signatures[state].clone();
                let count = signatures[earlier].len();
                signatures[earlier].extend(new);
                if signatures[earlier].len() > count {
                    open.push(earlier);
                }
            }
        }
        signatures
    }
}

#[cfg(test)]
#[path = "minimise_tests.rs"]
mod tests;
