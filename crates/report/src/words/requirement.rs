//! Checks that reach less than they require: a smaller guarantee, or not every state.

use std::collections::BTreeSet;

use raddle_engine::Schedule;

use crate::data::failure::{Failure, FailureKind};
use crate::data::guarantee::Guarantee;
use crate::data::limit::SearchLimit;
use crate::data::reached::Reached;
use crate::data::report::Report;
use crate::data::trace::Trace;
use crate::words::number::{counted, grouped};

/// The words between the required guarantee and the one that was reached.
const AND_REACHED: &str = "is required, and";

impl Failure {
    /// True when the check found nothing, and reached less than the guarantee that it requires.
    pub fn is_missing_guarantee(&self) -> bool {
        let (headline, _) = self.message.split_once('\n').unwrap_or_default();
        self.kind == FailureKind::Requirement && headline.contains(AND_REACHED)
    }
}

impl Report {
    /// Sets the required guarantee. Less is a failure, unless there is another one.
    pub fn require(&mut self, required: Guarantee) {
        self.required = Some(required);
        if self.failures.is_empty() && !self.guarantee.satisfies(required) {
            self.failures.push(self.below(required));
        }
    }

    /// Requires that states with these names are reached. If one is not, that is a failure, unless there is another one.
    pub fn require_reached<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) {
        let is_missing = |name: &&str| !self.reached.has(name);
        if self.failures.is_empty()
            && let Some(name) = names.into_iter().find(is_missing)
        {
            let failure = self.requirement(self.unreached(name));
            self.failures.push(failure);
        }
    }

    /// Says that a state was reached in no execution.
    pub(crate) fn missing(&self, missed: &Reached) -> String {
        format!(
            "{}: {} ({})",
            self.executions_without(),
            missed.name,
            missed.place
        )
    }

    /// True when a state that was not reached is in no behaviour.
    fn has_seen_every_state(&self) -> bool {
        self.guarantee == Guarantee::Exhaustive && self.reached.executions == self.executions
    }

    fn executions_without(&self) -> String {
        match (self.has_seen_every_state(), self.reached.executions) {
            (true, _) => "in no behaviour".to_owned(),
            (false, 1) => "not in the one execution".to_owned(),
            (false, executions) => format!("in none of {} executions", grouped(executions)),
        }
    }

    fn unreached(&self, name: &str) -> String {
        let mut places = self.reached.missed().filter(|state| state.name == name);
        let known: BTreeSet<&str> = (self.reached.states.iter())
            .map(|state| &*state.name)
            .collect();
        let known: Vec<_> = known.into_iter().map(|name| format!("`{name}`")).collect();
        let where_it_is = match (places.next(), &known[..]) {
            (Some(state), _) => format!(
                "its condition was false whenever a thread came to {}",
                state.place
            ),
            (None, []) => "no execution came to a state of any name".to_owned(),
            (None, known) => format!(
                "no execution came to a state of this name; those with a place that one came to: {}",
                known.join(", ")
            ),
        };
        let help = match self.has_seen_every_state() {
            true => "help: change the test so that the state can be reached, or do not require it",
            false => {
                "help: run more executions, make the state more probable, or ask `strategy = \"exhaustive\"` whether it is possible"
            }
        };
        format!(
            "`{name}` must be reached, and was {}: {where_it_is}\n{help}",
            self.executions_without()
        )
    }

    fn below(&self, required: Guarantee) -> Failure {
        let classes = counted(self.classes, "class", "classes");
        let runs = counted(self.all_runs(), "run", "runs");
        let message = format!(
            "`{required}` {AND_REACHED} `{}` was reached: {classes} in {runs}\n{}",
            self.guarantee,
            self.help(required)
        );
        self.requirement(message)
    }

    fn requirement(&self, message: String) -> Failure {
        let (trace, schedule) = (Trace::default(), Schedule::default());
        Failure {
            search: self.search.strategy.clone(),
            ..Failure::bare(
                FailureKind::Requirement,
                message,
                trace,
                schedule,
                self.executions,
            )
        }
    }

    fn help(&self, required: Guarantee) -> String {
        let change = self
            .reason_outside()
            .unwrap_or_else(|| match self.guarantee {
                Guarantee::Sampled => self.more_than_sampled(required),
                reached if self.limit.is_some() => self.more(reached, required),
                reached => self.larger_search(reached, required),
            });
        format!(
            "help: {change}; or require no more than `{}`",
            self.guarantee
        )
    }

    /// What to change if something that the search does not control keeps it from more.
    fn reason_outside(&self) -> Option<String> {
        if self.foreign_threads {
            let spawn = "start every thread with `raddle::thread::spawn`; the order of others is not explored";
            return Some(spawn.to_owned());
        }
        self.note_of_shared_locals()
            .or_else(|| self.left_out.clone())
    }

    /// What to change if the search has run all that it was asked for, which is less than required.
    fn larger_search(&self, reached: Guarantee, required: Guarantee) -> String {
        match (reached, required) {
            (_, Guarantee::Delayed { delays }) => format!("use the strategy `delay:{delays}`"),
            (Guarantee::Bounded { .. }, Guarantee::Bounded { preemptions }) => {
                format!("raise `preemptions` to {preemptions}")
            }
            (Guarantee::Bounded { .. }, _) => {
                "leave out `preemptions`, which skips classes".to_owned()
            }
            (Guarantee::Reduced | Guarantee::Paths | Guarantee::Manners, _) => {
                "leave out `reduce`, which skips classes".to_owned()
            }
            _ => self.other_strategy(),
        }
    }

    fn other_strategy(&self) -> String {
        let strategy = &self.search.strategy;
        format!("`{strategy}` promises no more; use the strategy `auto` or `exhaustive`")
    }

    fn more_than_sampled(&self, required: Guarantee) -> String {
        let strategy = &*self.search.strategy;
        match required {
            Guarantee::Delayed { delays } if !strategy.starts_with("delay") => {
                format!(
                    "use the strategy `delay:{delays}`, with enough time (`max_time`, `--budget`)"
                )
            }
            Guarantee::Delayed { .. } => self.more(Guarantee::Sampled, required),
            _ if !matches!(strategy, "auto" | "exhaustive" | "enumerate") => self.other_strategy(),
            _ => self.more(Guarantee::Sampled, required),
        }
    }

    /// What to change if the search did not run all that it was asked for.
    fn more(&self, reached: Guarantee, required: Guarantee) -> String {
        let raise = match &self.limit {
            _ if self.too_long > 0 => "raise `max_events`, ".to_owned(),
            Some(SearchLimit::Runs { setting, .. } | SearchLimit::Time { setting, .. }) => {
                format!("raise `{setting}`, ")
            }
            Some(_) => String::new(),
            None => "leave out settings that skip classes (`reduce`, `preemptions`), ".to_owned(),
        };
        let smaller = match required {
            Guarantee::Bounded { preemptions } if reached == Guarantee::Sampled => {
                format!("bound the search from the start with `preemptions = {preemptions}`, ")
            }
            _ => String::new(),
        };
        format!("{raise}{smaller}use more workers, or make the test smaller")
    }
}
