//! The branches that interleaving decides, with places instead of site numbers.

use raddle_engine::SiteId;
use raddle_engine::branches::{self, Named, Recorder, Step, Tree, Tried};
use serde::Serialize;

use crate::data::place::Place;

/// Returns the place of a site.
type Places<'a> = &'a dyn Fn(SiteId) -> Option<Place>;

/// Branches that executions of a check have left in different ways.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Branches {
    /// Number of classes whose branches were recorded; 0 if branches were not recorded.
    pub classes: u64,
    /// True when these are all classes of the program, so that a branch, an outcome or a source that is not listed
    /// does not exist.
    pub is_complete: bool,
    /// The branches, by the order in which they were found.
    pub branches: Vec<Branch>,
    /// Operations with two possible results that always had the same one.
    pub one_sided: Vec<OneSidedResult>,
    /// Receives with the place of a source, and the directed executions for those that no execution had.
    pub guidelines: BranchGuidelines,
}

/// A branch that interleaving decides.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Branch {
    /// The operation after which the thread continues in different ways.
    pub after: BranchStep,
    /// The result of the operation after which it does, if it does so after one result.
    pub result: Option<String>,
    /// Names of the threads that reach the branch.
    pub threads: Vec<String>,
    /// Number of prefixes of a thread after which it continues in different ways.
    pub instances: usize,
    /// The next steps, each with the number of classes.
    pub outcomes: Vec<BranchOutcome>,
    /// The choices of sources that decide it; several if they differ between instances. Empty if the sources of
    /// receives do not decide it, as far as recorded and examined.
    pub graphs: Vec<BranchGraph>,
    /// Number of nodes of the first graph, and of the same graph with all receives of the thread.
    pub nodes: usize,
    /// See [`nodes`](Self::nodes).
    pub nodes_before: usize,
}

/// A step of a thread.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct BranchStep {
    /// The step in words: `load ready`.
    pub what: String,
    /// Its place; the end of a thread has none.
    pub place: Option<Place>,
}

/// A step with which a thread continues after a branch.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct BranchOutcome {
    /// The step.
    pub step: BranchStep,
    /// Number of recorded classes.
    pub classes: u64,
}

/// A dependency graph: a receive with its sources, or an outcome.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BranchGraph {
    /// The next step of the thread.
    Outcome(BranchStep),
    /// A receive, and the graph after each of its sources.
    Choice(BranchChoice),
}

/// A receive with its sources.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct BranchChoice {
    /// Name of the thread.
    pub thread: String,
    /// The receive.
    pub receive: BranchStep,
    /// Number of the thread's earlier operations at the place, if several take part.
    pub occurrence: Option<u32>,
    /// Every source that was seen, with the rest of the graph.
    pub sources: Vec<(BranchSource, BranchGraph)>,
}

/// A source of a receive.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct BranchSource {
    /// Name of the thread of the send; `None` for the initial value or state, or no message.
    pub thread: Option<String>,
    /// The send.
    pub send: Option<BranchStep>,
    /// Number of the thread's earlier operations at the place, if it decides.
    pub occurrence: Option<u32>,
    /// Alternative of a choice that the source leaves open; 0 for most operations.
    pub outcome: u32,
    /// True when these executions do not perform the receive.
    pub is_absent: bool,
}

/// An operation with two possible results that always had the same one.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct OneSidedResult {
    /// The operation.
    pub operation: BranchStep,
    /// Its result.
    pub result: String,
    /// The result that no execution had.
    pub never: String,
}

/// Directed executions: each is to give a receive, or all that decide a branch, sources that none has had.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct BranchGuidelines {
    /// Number of receives with the place of a source that some execution had.
    pub seen: usize,
    /// Number of executions after which no guideline was left: the first one, and the directed ones. 0 if the check
    /// directed none.
    pub executions: u64,
    /// Number of guidelines that a directed execution follows.
    pub followed: usize,
    /// Number of guidelines that no execution follows.
    pub impossible: usize,
    /// Number of guidelines that no execution followed; one may.
    pub not_followed: usize,
    /// True when guidelines were left that were not tried.
    pub is_open: bool,
}

impl Branches {
    /// Returns the branches of a recorder.
    pub fn of(recorder: &Recorder, is_complete: bool, place: Places<'_>) -> Self {
        let step = |named: &Named| BranchStep::of(named, place);
        let branch = |branch: branches::Branch| {
            let outcomes = branch.outcomes.iter();
            let graphs: Vec<BranchGraph> = (branch.graphs.iter())
                .map(|graph| BranchGraph::of(graph, place))
                .collect();
            Branch {
                after: step(&branch.after),
                result: branch.result.map(str::to_owned),
                threads: branch.threads,
                instances: branch.instances,
                outcomes: outcomes
                    .map(|(named, classes)| BranchOutcome {
                        step: step(named),
                        classes: *classes,
                    })
                    .collect(),
                nodes: branch.graphs.first().map_or(0, Tree::nodes),
                nodes_before: branch.raw_nodes,
                graphs,
            }
        };
        let one_sided = |one: branches::OneSided| OneSidedResult {
            operation: step(&one.operation),
            result: one.result.to_owned(),
            never: one.never.to_owned(),
        };
        Branches {
            classes: recorder.recorded() as u64,
            is_complete: is_complete && recorder.left_out() == 0,
            branches: recorder.branches().into_iter().map(branch).collect(),
            one_sided: recorder.one_sided().into_iter().map(one_sided).collect(),
            guidelines: BranchGuidelines {
                seen: recorder.use_defines(),
                followed: recorder.tried(Tried::Followed),
                impossible: recorder.tried(Tried::Impossible),
                not_followed: recorder.tried(Tried::NotFollowed),
                ..BranchGuidelines::default()
            },
        }
    }

    /// True when branches were recorded.
    pub fn is_recorded(&self) -> bool {
        self.classes > 0
    }
}

impl BranchStep {
    fn of(named: &Named, place: Places<'_>) -> Self {
        let things = match named.things.is_empty() {
            true => String::new(),
            false => format!(" {}", named.things.join(" or ")),
        };
        let what = match named.step {
            Step::Operation(label, _) => format!("{label}{things}"),
            Step::Access { writes: true, .. } => "write of a cell".to_owned(),
            Step::Access { writes: false, .. } => "read of a cell".to_owned(),
            Step::Result(result) => result.to_owned(),
            Step::End => "end of the thread".to_owned(),
            Step::Panic => "panic of the thread".to_owned(),
        };
        BranchStep {
            what,
            place: named.step.site().and_then(place),
        }
    }
}

impl BranchGraph {
    fn of(tree: &Tree, place: Places<'_>) -> Self {
        match tree {
            Tree::Outcome(named) => BranchGraph::Outcome(BranchStep::of(named, place)),
            Tree::Choice { receive, sources } => BranchGraph::Choice(BranchChoice {
                thread: receive.thread.clone(),
                receive: BranchStep::of(&receive.step, place),
                occurrence: receive.occurrence,
                sources: sources
                    .iter()
                    .map(|(source, rest)| {
                        let send = source.send.as_ref();
                        let source = BranchSource {
                            thread: send.map(|send| send.thread.clone()),
                            send: send.map(|send| BranchStep::of(&send.step, place)),
                            occurrence: send.and_then(|send| send.occurrence),
                            outcome: source.outcome,
                            is_absent: source.is_absent,
                        };
                        (source, BranchGraph::of(rest, place))
                    })
                    .collect(),
            }),
        }
    }

    /// Returns the number of guidelines: paths from the root to an outcome.
    pub fn guidelines(&self) -> usize {
        match self {
            BranchGraph::Outcome(_) => 1,
            BranchGraph::Choice(choice) => choice
                .sources
                .iter()
                .map(|(_, rest)| rest.guidelines())
                .sum(),
        }
    }
}
