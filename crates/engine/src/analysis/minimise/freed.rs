//! Executions of the same class in which memory is freed earlier.

use super::dependencies::dependencies;
use crate::base::ids::SiteId;
use crate::model::choice::Planned;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::fault::Moment;

/// A use of memory that no dependency orders before the free.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EarlyFree {
    /// The site of the use.
    pub used: SiteId,
    /// The site of the freeing thread's last event before the free.
    pub freed_after: SiteId,
    /// The same execution, with only those events before the free that must precede it.
    pub plan: Vec<Planned>,
}

/// The dependencies of an execution, for questions about what could be freed earlier.
pub struct EarlyFrees<'a> {
    execution: &'a Execution,
    needs: Vec<Vec<usize>>,
}

impl<'a> EarlyFrees<'a> {
    /// Computes the dependencies of the execution.
    pub fn of(execution: &'a Execution) -> Self {
        EarlyFrees {
            execution,
            needs: dependencies(execution, false),
        }
    }

    /// Returns the first use by another thread that may come after the free at that moment; `None` if all
    /// precede it.
    pub fn find(&self, freed: Moment, is_use: impl Fn(&Event) -> bool) -> Option<EarlyFree> {
        let events = &self.execution.events;
        let before = &events[..freed.after.min(events.len())];
        let last = before
            .iter()
            .rposition(|event| event.id.thread == freed.thread)?;
        let mut precedes = vec![false; events.len()];
        precedes[last] = true;
        for position in (0..=last).rev() {
            if precedes[position] {
                for &needed in &self.needs[position] {
                    precedes[needed] = true;
                }
            }
        }
        let is_early = |(position, event): &(usize, &Event)| {
            !precedes[*position] && event.id.thread != freed.thread && is_use(event)
        };
        let (_, used) = before.iter().enumerate().find(is_early)?;
        let (first, rest): (Vec<_>, Vec<_>) =
            (0..events.len()).partition(|&position| precedes[position]);
        Some(EarlyFree {
            used: used.site,
            freed_after: events[last].site,
            plan: Planned::of(self.execution, first.into_iter().chain(rest)),
        })
    }
}
