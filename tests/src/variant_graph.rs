//! The graph of variants of an execution (Hwang, Tai and Hunag, 1995), by which reachability testing chooses its
//! executions: an independent count of what a search would have to run.

use std::collections::{BTreeMap, BTreeSet};

/// An access: thread, whether it writes, and variable.
pub type Access = (usize, bool, usize);

/// A variant: by thread, the number of accesses before it; by variable, the number of writes before it; and the thread
/// whose next access finds another version than in the trace.
pub type Variant = (Vec<usize>, Vec<u32>, usize);

/// The prefixes of a trace in which every access has the version that it has in the trace, and the variants that follow
/// them.
#[derive(Debug)]
pub struct VariantGraph {
    threads: Vec<usize>,
    variables: usize,
    /// By thread: each access with the recorded version of its variable.
    steps: Vec<Vec<(bool, usize, u32)>>,
    /// Number of prefixes.
    pub nodes: usize,
    /// The variants.
    pub variants: BTreeSet<Variant>,
}

impl VariantGraph {
    /// Computes the graph of a trace.
    pub fn of(trace: &[Access]) -> Self {
        let variables = trace.iter().map(|it| it.2 + 1).max().unwrap_or(0);
        let mut versions = vec![0; variables];
        let mut by_thread: BTreeMap<usize, Vec<(bool, usize, u32)>> = BTreeMap::new();
        for &(thread, writes, variable) in trace {
            versions[variable] += u32::from(writes);
            let recorded = (writes, variable, versions[variable]);
            by_thread.entry(thread).or_default().push(recorded);
        }
        let (threads, steps) = by_thread.into_iter().unzip();
        let mut graph = VariantGraph {
            threads,
            variables,
            steps,
            nodes: 0,
            variants: BTreeSet::new(),
        };
        graph.expand();
        graph
    }

    fn root(&self) -> (Vec<usize>, Vec<u32>) {
        (vec![0; self.steps.len()], vec![0; self.variables])
    }

    fn expand(&mut self) {
        let mut known = BTreeSet::from([self.root()]);
        let mut open = vec![self.root()];
        while let Some((done, versions)) = open.pop() {
            for (thread, steps) in self.steps.iter().enumerate() {
                let Some(&(writes, variable, recorded)) = steps.get(done[thread]) else {
                    continue;
                };
                let mut next = (done.clone(), versions.clone());
                next.0[thread] += 1;
                next.1[variable] += u32::from(writes);
                if next.1[variable] != recorded {
                    let variant = (done.clone(), versions.clone(), self.threads[thread]);
                    self.variants.insert(variant);
                } else if known.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        self.nodes = known.len();
    }

    /// Returns the variant with which another execution leaves the trace; `None` if it does not, or not by an access.
    pub fn variant_of(&self, execution: &[Access]) -> Option<Variant> {
        let (mut done, mut versions) = self.root();
        for &(thread, writes, variable) in execution {
            let index = self.threads.iter().position(|&it| it == thread)?;
            let &(recorded_writes, recorded_variable, recorded) =
                self.steps[index].get(done[index])?;
            if (recorded_writes, recorded_variable) != (writes, variable) {
                return None;
            }
            let version = versions[variable] + u32::from(writes);
            if version != recorded {
                return Some((done, versions, thread));
            }
            done[index] += 1;
            versions[variable] = version;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_of_each_of_two_threads_has_one_variant() {
        let graph = VariantGraph::of(&[(1, true, 0), (2, false, 0)]);
        assert_eq!((graph.nodes, graph.variants.len()), (3, 1));
        assert_eq!(graph.variant_of(&[(1, true, 0), (2, false, 0)]), None);
        let variant = graph.variant_of(&[(2, false, 0), (1, true, 0)]).unwrap();
        assert!(graph.variants.contains(&variant));
    }

    #[test]
    fn reads_alone_have_none() {
        let graph = VariantGraph::of(&[(1, false, 0), (2, false, 0)]);
        assert_eq!((graph.nodes, graph.variants.len()), (4, 0));
    }
}
