//! The receives that decide a branch.
//!
//! A thread repeats its steps as long as its receives have the same sources, and these were performed after receives
//! with the same sources. So the sources in the past of a branch determine its outcome. From these, all receives are
//! removed without which the outcome is still a function of the others, over all recorded executions: the farthest
//! first, so that the receives nearest to the branch remain.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::guidelines::Pair;
use super::record::{Recorder, Run, Seen, opposite};
use super::{Branch, OneSided, Receive, Send, Source, Step, Tree};

/// Maximum instances of a branch whose graphs are computed, and maximum executions compared for one.
const MAX_INSTANCES: usize = 16;
const MAX_OBSERVED: usize = 2_048;
/// Maximum receives that are tried for one instance; those that are farther from the branch are left out.
const MAX_FEATURES: usize = 256;
/// Maximum distinct graphs that are kept for one branch.
const MAX_GRAPHS: usize = 4;

/// A receive in the past of a branch: thread, step and number among the events of the thread.
pub(super) type Feature = (u32, u32, u32);

/// An execution that reached an instance of a branch.
pub(super) struct Observed<'a> {
    pub(super) run: &'a Run,
    /// Index of the thread in the run.
    walk: usize,
    /// The step with which the thread continued.
    outcome: u32,
}

/// The receives that decide an instance of a branch.
pub(super) struct Decision<'a> {
    pub(super) observed: Vec<Observed<'a>>,
    /// The receives, the nearest last.
    pub(super) features: Vec<Feature>,
    /// By execution and receive; `None` if the execution does not perform the receive.
    values: Vec<Vec<Option<Seen>>>,
    /// True when the place of a source decides, not which of the events there.
    by_place: bool,
}

impl Decision<'_> {
    /// Returns the sources of every execution that reached the instance, by place.
    pub(super) fn combinations(&self) -> impl Iterator<Item = Vec<Pair>> + '_ {
        self.values.iter().map(|values| {
            let receives = self.features.iter().zip(values);
            receives
                .filter_map(|(&(thread, step, _), seen)| Some(Pair::of(thread, step, (*seen)?)))
                .collect()
        })
    }
}

/// Where an instance belongs: the operation before it, and its result.
type Place = (u32, Option<u32>);

impl Recorder {
    /// Returns every branch that was left in different ways after the same prefix.
    pub fn branches(&self) -> Vec<Branch> {
        let mut all = Vec::new();
        for (place, instances) in self.instances() {
            if let Some(branch) = self.branch(place, &instances) {
                all.push(branch);
            }
        }
        all
    }

    /// Returns the operations with two possible results of which only one was seen.
    pub fn one_sided(&self) -> Vec<OneSided> {
        let mut results: BTreeMap<u32, HashSet<&'static str>> = BTreeMap::new();
        for node in &self.nodes {
            let Some(parent) = node.parent else { continue };
            if let Step::Result(result) = self.step(node.step) {
                let operation = self.nodes[parent as usize].step;
                results.entry(operation).or_default().insert(result);
            }
        }
        let one_sided = |(operation, results): (u32, HashSet<&'static str>)| {
            let mut all = results.into_iter();
            let (Some(result), None) = (all.next(), all.next()) else {
                return None;
            };
            Some(OneSided {
                operation: self.named(operation),
                result,
                never: opposite(result)?,
            })
        };
        results.into_iter().filter_map(one_sided).collect()
    }

    /// Returns the prefixes after which a thread continued in different ways, by the place of the branch.
    pub(super) fn instances(&self) -> BTreeMap<Place, Vec<u32>> {
        let mut found: BTreeMap<Place, Vec<u32>> = BTreeMap::new();
        for (number, node) in (0..).zip(&self.nodes) {
            let Some(parent) = node.parent.filter(|_| node.next.len() > 1) else {
                continue;
            };
            let place = match self.step(node.step) {
                Step::Result(_) => (self.nodes[parent as usize].step, Some(node.step)),
                _ => (node.step, None),
            };
            found.entry(place).or_default().push(number);
        }
        found
    }

    fn branch(&self, (after, result): Place, instances: &[u32]) -> Option<Branch> {
        let mut outcomes: BTreeMap<u32, u64> = BTreeMap::new();
        let mut threads: Vec<u32> = Vec::new();
        for &instance in instances {
            let node = &self.nodes[instance as usize];
            threads.push(node.thread);
            for &next in &node.next {
                let next = &self.nodes[next as usize];
                *outcomes.entry(next.step).or_default() += next.count;
            }
        }
        threads.sort_by_key(|&thread| &self.threads[thread as usize].0);
        threads.dedup();
        let mut graphs = Vec::new();
        let mut raw_nodes = 0;
        let mut is_chosen = true;
        for &instance in instances.iter().take(MAX_INSTANCES) {
            let Some(decision) = self.decide(instance) else {
                is_chosen = false;
                continue;
            };
            if raw_nodes == 0 {
                raw_nodes = self.raw_nodes(instance, &decision);
            }
            is_chosen &= (decision.features.iter())
                .all(|&(_, step, _)| matches!(self.step(step), Step::Operation("choose", _)));
            let tree = self.tree(&decision);
            if graphs.len() < MAX_GRAPHS && !graphs.contains(&tree) {
                graphs.push(tree);
            }
        }
        // The program itself left the choice open.
        if is_chosen {
            return None;
        }
        let name = |thread| self.thread_title(thread).to_owned();
        let result = result.map(|result| match self.step(result) {
            Step::Result(result) => result,
            _ => "",
        });
        let outcomes = outcomes.into_iter();
        Some(Branch {
            after: self.named(after),
            result,
            threads: threads.into_iter().map(name).collect(),
            instances: instances.len(),
            outcomes: outcomes
                .map(|(step, count)| (self.named(step), count))
                .collect(),
            graphs,
            raw_nodes,
        })
    }

    /// Returns the executions that reached a node and continued.
    fn observed(&self, instance: u32) -> Vec<Observed<'_>> {
        let node = &self.nodes[instance as usize];
        let depth = node.depth as usize;
        let observed = |run: &'_ Run| {
            let mut walks = run.walks.iter();
            let walk = walks.position(|walk| walk.thread == node.thread)?;
            let points = &run.walks[walk].points;
            let is_there = points.get(depth - 1)?.node == instance;
            let outcome = points.get(depth).filter(|_| is_there)?.step;
            Some((walk, outcome))
        };
        let runs = self.runs.iter();
        runs.filter_map(|run| {
            let (walk, outcome) = observed(run)?;
            Some(Observed { run, walk, outcome })
        })
        .take(MAX_OBSERVED)
        .collect()
    }

    /// Returns the receives that decide an instance; `None` if those that were recorded do not.
    pub(super) fn decide(&self, instance: u32) -> Option<Decision<'_>> {
        let observed = self.observed(instance);
        let first = observed.first()?;
        let own = self.own_receives(instance, first);
        for features in [own.clone(), self.all_receives(instance, &observed, own)] {
            for by_place in [true, false] {
                let values: Vec<Vec<Option<Seen>>> = observed
                    .iter()
                    .map(|one| {
                        let value = |&feature| value(one, feature, by_place);
                        features.iter().map(value).collect()
                    })
                    .collect();
                let mut kept: Vec<usize> = (0..features.len())
                    .filter(|&at| values.iter().any(|one| one[at] != values[0][at]))
                    .take(MAX_FEATURES)
                    .collect();
                if !is_function(&observed, &values, &kept) {
                    continue;
                }
                for at in kept.clone().into_iter().rev() {
                    let without: Vec<usize> = kept.iter().copied().filter(|&it| it != at).collect();
                    if is_function(&observed, &values, &without) {
                        kept = without;
                    }
                }
                // The graph begins with the earliest receive.
                kept.reverse();
                let select = |one: Vec<Option<Seen>>| kept.iter().map(|&at| one[at]).collect();
                return Some(Decision {
                    values: values.into_iter().map(select).collect(),
                    features: kept.iter().map(|&at| features[at]).collect(),
                    observed,
                    by_place,
                });
            }
        }
        None
    }

    /// Returns the receives of the thread itself, the nearest first. All executions of an instance have the same.
    fn own_receives(&self, instance: u32, first: &Observed<'_>) -> Vec<Feature> {
        let depth = self.nodes[instance as usize].depth as usize;
        let walk = &first.run.walks[first.walk];
        let events = walk.events.iter().enumerate().rev();
        let events = events.filter(|&(_, &point)| (point as usize) < depth);
        events
            .filter_map(|(event, &point)| {
                let point = &walk.points[point as usize];
                point.seen?;
                Some((walk.thread, point.step, event as u32))
            })
            .collect()
    }

    /// Returns the receives on which the branch may depend, those of the thread itself first.
    fn all_receives(
        &self,
        instance: u32,
        observed: &[Observed<'_>],
        own: Vec<Feature>,
    ) -> Vec<Feature> {
        let depth = self.nodes[instance as usize].depth;
        let mut known: HashSet<Feature> = own.iter().copied().collect();
        let mut others: Vec<Feature> = Vec::new();
        for one in observed {
            let walks = &one.run.walks;
            let events = walks[one.walk].events.iter();
            let own_events = events.filter(|&&point| point < depth).count() as u32;
            // By thread: number of events in the past of the branch, and of those that were followed.
            let mut past: Vec<(u32, u32)> = vec![(0, 0); walks.len()];
            past[one.walk].0 = own_events;
            let mut open = vec![one.walk];
            while let Some(thread) = open.pop() {
                let (to, from) = past[thread];
                past[thread].1 = to;
                let walk = &walks[thread];
                let points = (from..to).map(|event| {
                    let point = walk.events[event as usize];
                    (event, &walk.points[point as usize])
                });
                let mut reached: Vec<(u32, u32)> = walk.spawned_by.into_iter().collect();
                for (event, point) in points {
                    reached.extend(point.source);
                    let feature = (walk.thread, point.step, event);
                    if point.seen.is_some() && known.insert(feature) {
                        others.push(feature);
                    }
                }
                for (of, event) in reached {
                    let past = &mut past[of as usize];
                    if event >= past.0 {
                        past.0 = event + 1;
                        open.push(of as usize);
                    }
                }
            }
        }
        others.sort_by_key(|&(thread, step, event)| {
            (
                std::cmp::Reverse(event),
                &self.threads[thread as usize].0,
                step,
            )
        });
        let mut all = own;
        all.extend(others);
        all
    }

    /// Returns the dependency graph of an instance.
    fn tree(&self, decision: &Decision<'_>) -> Tree {
        let all: Vec<usize> = (0..decision.observed.len()).collect();
        self.subtree(decision, 0, &all)
    }

    fn subtree(&self, decision: &Decision<'_>, at: usize, observed: &[usize]) -> Tree {
        let Some(&(thread, step, event)) = decision.features.get(at) else {
            return Tree::Outcome(self.named(decision.observed[observed[0]].outcome));
        };
        let mut by_value: BTreeMap<Option<Seen>, Vec<usize>> = BTreeMap::new();
        for &one in observed {
            by_value
                .entry(decision.values[one][at])
                .or_default()
                .push(one);
        }
        // What is alike in all executions here is no choice.
        if by_value.len() == 1 {
            return self.subtree(decision, at + 1, observed);
        }
        let alike = decision.features.iter();
        let is_several = alike
            .filter(|&&(of, it, _)| (of, it) == (thread, step))
            .count()
            > 1;
        let occurrence = || self.occurrence(&decision.observed[observed[0]], thread, step, event);
        Tree::Choice {
            receive: Receive {
                thread: self.thread_title(thread).to_owned(),
                step: self.named(step),
                occurrence: is_several.then(occurrence),
            },
            sources: by_value
                .into_iter()
                .map(|(seen, rest)| {
                    let send = seen.and_then(|seen| seen.source).map(|source| {
                        let (thread, step, event) = source;
                        let one = &decision.observed[rest[0]];
                        Send {
                            thread: self.thread_title(thread).to_owned(),
                            step: self.named(step),
                            occurrence: (!decision.by_place)
                                .then(|| self.occurrence(one, thread, step, event)),
                        }
                    });
                    let source = Source {
                        send,
                        outcome: seen.map_or(0, |seen| seen.outcome),
                        is_absent: seen.is_none(),
                    };
                    (source, self.subtree(decision, at + 1, &rest))
                })
                .collect(),
        }
    }

    /// Returns the number of earlier events of a thread with this step.
    fn occurrence(&self, one: &Observed<'_>, thread: u32, step: u32, event: u32) -> u32 {
        let walk = one.run.walks.iter().find(|walk| walk.thread == thread);
        walk.map_or(0, |walk| {
            let earlier = walk.events.iter().take(event as usize);
            earlier
                .filter(|&&point| walk.points[point as usize].step == step)
                .count() as u32
        })
    }

    /// Returns the number of nodes of the graph with all receives of the thread itself.
    fn raw_nodes(&self, instance: u32, decision: &Decision<'_>) -> usize {
        let mut features = self.own_receives(instance, &decision.observed[0]);
        features.reverse();
        let values: Vec<Vec<Option<Seen>>> = decision
            .observed
            .iter()
            .map(|one| {
                let value = |&feature| value(one, feature, true);
                features.iter().map(value).collect()
            })
            .collect();
        let mut prefixes: HashSet<&[Option<Seen>]> = HashSet::new();
        for values in &values {
            for length in 0..=values.len() {
                prefixes.insert(&values[..length]);
            }
        }
        // A box for each prefix of choices, and a circle for each that is not a leaf.
        let leaves = prefixes.iter().filter(|it| it.len() == features.len());
        2 * prefixes.len() - leaves.count()
    }
}

/// Returns the choice of a receive in an execution.
fn value(one: &Observed<'_>, (thread, step, event): Feature, by_place: bool) -> Option<Seen> {
    let own = &one.run.walks[one.walk];
    let walk = match own.thread == thread {
        true => own,
        false => {
            let mut walks = one.run.walks.iter();
            walks.find(|walk| walk.thread == thread)?
        }
    };
    let point = &walk.points[*walk.events.get(event as usize)? as usize];
    let seen = point.seen.filter(|_| point.step == step)?;
    Some(match by_place {
        true => Seen {
            source: seen.source.map(|(thread, step, _)| (thread, step, 0)),
            ..seen
        },
        false => seen,
    })
}

/// True when equal choices of some receives have equal outcomes.
fn is_function(
    observed: &[Observed<'_>],
    values: &[Vec<Option<Seen>>],
    features: &[usize],
) -> bool {
    let mut outcomes: HashMap<Vec<Option<Seen>>, u32> = HashMap::with_capacity(observed.len());
    observed.iter().zip(values).all(|(one, values)| {
        let key = features.iter().map(|&at| values[at]).collect();
        *outcomes.entry(key).or_insert(one.outcome) == one.outcome
    })
}
