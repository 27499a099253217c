//! Minimised graphs against the definitions of the bisimulations, on random graphs.

use std::collections::BTreeSet;

use super::super::{BehaviourGraph, BehaviourState, BehaviourTransition};
use crate::base::rng::Rng;

fn random(rng: &mut Rng) -> BehaviourGraph {
    let count = 1 + rng.below(7);
    let mut transitions = BTreeSet::new();
    for _ in 0..rng.below(2 * count + 1) {
        transitions.insert(BehaviourTransition {
            from: rng.below(count),
            label: [None, None, Some("a"), Some("b")][rng.below(4)].map(str::to_owned),
            to: rng.below(count),
        });
    }
    let state = |rng: &mut Rng| {
        let mut state = BehaviourState::default();
        if rng.below(4) == 0 {
            state.values.insert("x".to_owned(), 1);
        }
        state
    };
    BehaviourGraph {
        states: (0..count).map(|_| state(rng)).collect(),
        transitions: transitions.into_iter().collect(),
    }
}

/// The union of two graphs, the states of the second after those of the first.
fn both(one: &BehaviourGraph, other: &BehaviourGraph) -> BehaviourGraph {
    let offset = one.states.len();
    let mut union = one.clone();
    union.states.extend(other.states.iter().cloned());
    union
        .transitions
        .extend(other.transitions.iter().map(|it| BehaviourTransition {
            from: it.from + offset,
            label: it.label.clone(),
            to: it.to + offset,
        }));
    union.transitions.sort();
    union
}

/// States that internal steps through related states lead to.
fn reached(graph: &BehaviourGraph, from: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::from([from]);
    let mut open = vec![from];
    while let Some(state) = open.pop() {
        for it in graph.from(state).filter(|it| it.label.is_none()) {
            if found.insert(it.to) {
                open.push(it.to);
            }
        }
    }
    found
}

/// The largest bisimulation, by removing pairs that are none from all pairs.
fn bisimulation(graph: &BehaviourGraph, is_branching: bool) -> Vec<Vec<bool>> {
    let count = graph.states.len();
    let equal = |one: usize, other: usize| graph.states[one] == graph.states[other];
    let mut related: Vec<Vec<bool>> = (0..count)
        .map(|one| (0..count).map(|other| equal(one, other)).collect())
        .collect();
    loop {
        let simulates = |one: usize, other: usize| {
            graph.from(one).all(|step| {
                if is_branching && step.label.is_none() && related[step.to][other] {
                    return true;
                }
                let starts = match is_branching {
                    true => reached(graph, other),
                    false => BTreeSet::from([other]),
                };
                starts
                    .into_iter()
                    .filter(|&start| !is_branching || related[one][start])
                    .any(|start| {
                        let mut answers = graph.from(start).filter(|it| it.label == step.label);
                        answers.any(|answer| related[step.to][answer.to])
                    })
            })
        };
        let mut next = related.clone();
        for one in 0..count {
            for other in 0..count {
                next[one][other] &= simulates(one, other) && simulates(other, one);
            }
        }
        if next == related {
            return related;
        }
        related = next;
    }
}

#[test]
fn minimised_graphs_are_bisimilar_and_have_no_bisimilar_states() {
    let mut rng = Rng::new(7);
    let mut smaller = [0, 0];
    for _ in 0..3_000 {
        let graph = random(&mut rng);
        for (number, is_branching) in [false, true].into_iter().enumerate() {
            let small = match is_branching {
                true => graph.without_internal_steps(),
                false => graph.minimised(),
            };
            let offset = graph.states.len();
            let related = bisimulation(&both(&graph, &small), is_branching);
            assert!(related[0][offset], "{graph:?}\n{small:?} {is_branching}");
            for one in 0..small.states.len() {
                for other in 0..one {
                    assert!(
                        !related[offset + one][offset + other],
                        "{graph:?}\n{small:?} {is_branching}"
                    );
                }
            }
            smaller[number] += u32::from(small.states.len() < offset);
        }
    }
    assert!(smaller.iter().all(|&count| count > 500), "{smaller:?}");
}

#[test]
fn a_graph_is_read_as_it_is_written() {
    let mut rng = Rng::new(8);
    for _ in 0..500 {
        let mut graph = random(&mut rng);
        graph
            .states
            .iter_mut()
            .for_each(|state| state.values.clear());
        assert_eq!(graph.to_aut().parse(), Ok(graph));
    }
    let odd: BehaviourGraph = "des (1, 2, 2)\n(1, \"a \\\"b\\\", c\", 0)\n(0, tau, 1)\n"
        .parse()
        .unwrap();
    assert_eq!(odd.transitions[0].label.as_deref(), Some("a \"b\", c"));
    assert_eq!(
        (odd.transitions[0].from, odd.transitions[1].label.clone()),
        (0, None)
    );
}

#[test]
fn a_wrong_text_is_refused_with_its_line() {
    let error = |text: &str| text.parse::<BehaviourGraph>().unwrap_err().to_string();
    assert_eq!(error(""), "line 1: the text is empty");
    assert_eq!(
        error("digraph {}"),
        "line 1: expected `des (FIRST, TRANSITIONS, STATES)`"
    );
    assert_eq!(
        error("des (2, 0, 2)"),
        "line 1: the initial state is none of the states"
    );
    assert_eq!(
        error("des (0, 1, 2)\n(0, \"a\")"),
        "line 2: expected `(FROM, \"LABEL\", TO)`"
    );
    assert_eq!(
        error("des (0, 1, 2)\n(0, \"a\", 5)"),
        "line 2: there are only 2 states"
    );
    assert_eq!(
        error("des (0, 2, 2)\n(0, \"a\", 1)"),
        "line 1: 2 transitions are announced, and 1 follow"
    );
    assert_eq!(
        error("des (0, 9999999, 2)"),
        "line 1: more than 1000000 states or transitions"
    );
}
