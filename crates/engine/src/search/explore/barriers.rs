//! Extending a graph by arrivals at barriers, passes and questions about leaders.

use super::frame::{Branch, Change, Frame};
use crate::base::ids::{EventId, ObjectId, ThreadId};
use crate::base::subsets::{subset, subsets};
use crate::search::graph::{Node, NodeKind};

impl Frame {
    pub(crate) fn push_arrival(&mut self, thread: ThreadId, barrier: ObjectId) {
        let came = self.graph.push(thread, NodeKind::Arrive { barrier });
        self.graph.set_clocks(came);
        let keep = self.graph.order.len();
        for &pass in &self.graph.object(barrier).completions {
            for companions in self.graph.companions(pass, came) {
                self.branches.push(Branch {
                    keep,
                    change: Change::RevisitGroup {
                        pass,
                        newest: came,
                        companions,
                    },
                });
            }
        }
    }

    /// Lets a thread pass a barrier if one can. If its group has not met, the oldest waiting
    /// arrivals form it, and every other group is a branch.
    pub(crate) fn pass_a_barrier(&mut self) -> Option<EventId> {
        if self.graph.arrivals == 0 {
            return None;
        }
        let graph = &mut self.graph;
        for slot in 0..graph.canonical.len() {
            let thread = graph.canonical[slot];
            let Some((_, &Node { kind, source, .. })) = graph.tail(thread) else {
                continue;
            };
            let NodeKind::Arrive { barrier } = kind else {
                continue;
            };
            if let Some(pass) = source {
                let id = graph.push(thread, NodeKind::Pass { barrier });
                graph.node_mut(id).source = Some(pass);
                graph.set_clocks(id);
                self.steps.push(id);
                return Some(id);
            }
            let waiting = graph.waiting(barrier);
            let size = graph.group_size(barrier);
            if waiting.len() >= size {
                let id = graph.push(waiting[0].thread, NodeKind::Pass { barrier });
                graph.form_group(barrier, id, waiting[..size].iter().copied());
                graph.set_clocks(id);
                self.steps.push(id);
                let stamp = graph.node(id).stamp;
                for group in 1..subsets(waiting.len(), size) {
                    self.branch(Change::Regroup { stamp, group });
                }
                return Some(id);
            }
        }
        None
    }

    /// Forms a group with all late arrivals in a graph just restricted for a revisit of the
    /// pass, and pushes a branch for every other such group.
    pub(crate) fn regroup_with_late(&mut self, pass: EventId, barrier: ObjectId) {
        let graph = &self.graph;
        let stamp = graph.node(pass).stamp;
        let in_no_other = |&one: &EventId| graph.node(one).source.is_none_or(|at| at == pass);
        let came = graph.barrier(barrier).arrivals.iter().copied();
        let waiting: Vec<EventId> = came.filter(in_no_other).collect();
        let late: Vec<usize> = (0..waiting.len())
            .filter(|&position| graph.node(waiting[position]).stamp > stamp)
            .collect();
        let size = graph.group_size(barrier);
        let has_late = |&group: &u32| {
            let members = subset(waiting.len(), size, group);
            late.iter().all(|position| members.contains(position))
        };
        let mut groups = (0..subsets(waiting.len(), size)).filter(has_late);
        let first = groups.next().expect("there is room for all who came late");
        for group in groups {
            self.branches.push(Branch {
                keep: self.graph.order.len(),
                change: Change::Regroup { stamp, group },
            });
        }
        self.graph.regroup(stamp, first);
    }

    /// Inserts a question whether a member of the group led it.
    pub(crate) fn push_leader_question(
        &mut self,
        thread: ThreadId,
        barrier: ObjectId,
        pass: EventId,
        member: ThreadId,
    ) {
        let question = self.push_step(thread, NodeKind::AskLeader { barrier });
        let node = self.graph.node_mut(question);
        node.source = Some(pass);
        node.value = member.index() as u64;
        self.graph.set_clocks(question);
        let (answer, only) = self.graph.first_leader_answer(barrier, question, |_| true);
        self.graph.node_mut(question).outcome = answer;
        if !only {
            self.branch(Change::Choose {
                event: question,
                outcome: answer.opposite(),
            });
        }
    }
}
