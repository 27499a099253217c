//! Reports as text, and as assertions of a test.

use std::fmt;

use crate::data::guarantee::{Alone, Guarantee};
use crate::data::limit::SearchLimit;
use crate::data::report::Report;
use crate::render::text::layout::Layout;
use crate::words::number::counted;

impl Report {
    /// Panics unless no execution has the requested alternative. A regression test requests the
    /// alternative that a fixed bug depends on.
    #[track_caller]
    pub fn assert_impossible(&self) {
        assert!(
            self.impossible(),
            "this was expected to be impossible, but: {self}"
        );
    }

    /// Panics with the story of the first failure, if there is one. Otherwise prints warnings, a line with the
    /// guarantee, the advice for a longer check, and the coverage to standard error.
    #[track_caller]
    pub fn assert_ok(&self) {
        if let Some(failure) = self.failures.first() {
            let more = match self.failures.len() - 1 {
                0 => String::new(),
                more => {
                    let more = counted(more as u64, "more failure", "more failures");
                    format!("\nand {more}")
                }
            };
            panic!("{}{more}", failure.laid_out(Layout::detect()));
        }
        for warning in &self.warnings {
            eprintln!("warning: {}", warning.laid_out(Layout::detect()));
        }
        if let Some(command) = &self.resume {
            let classes = self.classes_run();
            eprintln!("raddle: interrupted after {classes}; continue with {command}");
        }
        let name = self.check.as_ref();
        let name = name.map_or_else(String::new, |name| format!("{name}: "));
        // Standard error has no buffer: each part of a text would be a system call.
        let line = format!("raddle: {name}{}\n", self.summary());
        eprint!("{line}");
        if let Some(advice) = &self.advice {
            eprintln!("raddle: {name}{advice}");
        }
        for missed in self.reached.missed() {
            eprintln!("raddle: {name}{}", self.missing(missed));
        }
        for property in &self.properties {
            eprintln!("raddle: {name}{property}");
        }
        if self.coverage.is_measured() {
            eprintln!("raddle: {name}{}", self.coverage);
        }
        if self.branches.is_recorded() {
            eprintln!("raddle: {name}{}", self.branches);
        }
    }
}

impl Report {
    /// Returns one line with the guarantee and the numbers of classes and executions.
    pub fn summary(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(|f| self.summarise(f))
    }

    /// Returns the number of all runs; a report from elsewhere may have the executions only.
    pub(crate) fn all_runs(&self) -> u64 {
        self.runs.max(self.executions)
    }

    /// Returns the number of classes in words.
    fn classes_run(&self) -> String {
        let about = if self.classes_are_estimated {
            "about "
        } else {
            ""
        };
        format!("{about}{}", counted(self.classes, "class", "classes"))
    }

    fn summarise(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let classes = self.classes_run();
        let in_runs = match self.all_runs() - self.discarded.min(self.all_runs()) {
            runs if runs == self.classes => String::new(),
            _ => format!(" in {}", counted(self.all_runs(), "run", "runs")),
        };
        match self.guarantee {
            _ if self.consistency.is_some() => self.summarise_total_replay(f)?,
            Guarantee::Exhaustive | Guarantee::Reduced | Guarantee::Paths | Guarantee::Sampled
                if self.executions == 0 && self.discarded > 0 =>
            {
                let runs = counted(self.discarded, "run", "runs");
                write!(
                    f,
                    "nothing was checked: `assume` discarded every one of {runs}"
                )?;
            }
            Guarantee::Exhaustive if self.alone == Some(Alone::Nothing) => write!(
                f,
                "nothing to explore: the test starts no thread and uses nothing that raddle \
                 controls"
            )?,
            Guarantee::Exhaustive => {
                write!(f, "every behaviour was run: {classes}{in_runs}")?;
                match self.alone {
                    Some(Alone::Thread) => {
                        write!(
                            f,
                            ", with one controlled thread; std's own threads are not controlled"
                        )?;
                    }
                    Some(Alone::Order) => write!(
                        f,
                        ", because the order of controlled operations does not matter; std's own types \
                         are not controlled"
                    )?,
                    Some(Alone::Nothing) | None => {}
                }
            }
            Guarantee::Reduced => write!(
                f,
                "every behaviour was run that the reductions leave: {classes}{in_runs}"
            )?,
            Guarantee::Paths => write!(
                f,
                "every combination of paths was run, without the values of ignored locations: \
                 {classes}{in_runs}"
            )?,
            Guarantee::Bounded { preemptions } => {
                let most = counted(preemptions.into(), "preemption", "preemptions");
                write!(
                    f,
                    "every behaviour up to {most} was run: {classes}{in_runs}"
                )?;
            }
            Guarantee::Delayed { delays } => {
                let most = counted(delays.into(), "delay", "delays");
                let runs = counted(self.all_runs(), "run", "runs");
                write!(
                    f,
                    "every schedule up to {most} was run: {classes} in {runs}"
                )?;
            }
            Guarantee::Sampled => {
                let runs = counted(self.all_runs(), "run", "runs");
                let all = self
                    .estimate
                    .filter(|_| !self.foreign_threads && self.note_of_shared_locals().is_none())
                    .filter(|_| self.left_out.is_none())
                    .map_or_else(String::new, |all| all.of_all(self.classes()));
                write!(f, "not every behaviour was run: {classes}{all} in {runs}")?;
                if let Some(earlier) = &self.earlier {
                    write!(f, ", {earlier}")?;
                }
                if self.gave_up {
                    write!(f, ", too long to search")?;
                }
                if self.too_long > 0 {
                    let cut = counted(self.too_long, "run", "runs");
                    write!(f, ", {cut} cut at the limit of events")?;
                }
                if self.out_of_time > 0 {
                    let cut = counted(self.out_of_time, "run", "runs");
                    write!(f, ", {cut} cut when the time was over")?;
                }
                if self.left_polling > 0 {
                    write!(f, ", as threads that outlive the program poll without end")?;
                }
                if let Some(unseen) = self.unseen {
                    write!(f, "; {unseen}")?;
                }
                if let Some(note) = self.note_of_shared_locals() {
                    write!(f, "; {note}")?;
                }
                if let Some(reason) = &self.left_out {
                    write!(f, "; {reason}")?;
                }
                if self.foreign_threads {
                    write!(
                        f,
                        "; threads that the check does not control used raddle's types, and their order is \
                         not explored: start them with `raddle::thread::spawn`"
                    )?;
                }
            }
            Guarantee::Replayed => write!(f, "one schedule was replayed")?,
            Guarantee::Directed => {
                let attempts = counted(self.attempts, "attempt", "attempts");
                match self.executions {
                    0 => write!(f, "no run does what the alternative says: {attempts}")?,
                    _ if self.attempts == 0 => write!(f, "the alternative was run")?,
                    _ => write!(f, "the alternative was run after {attempts}")?,
                }
            }
        }
        let is_search = !matches!(self.guarantee, Guarantee::Replayed | Guarantee::Directed);
        if is_search && self.discarded > 0 && self.executions > 0 {
            // By `assume`, or because a loop would only have looked once more.
            let runs = counted(self.discarded, "discarded run", "discarded runs");
            write!(f, ", without {runs}")?;
        }
        if let Some(limit) = &self.limit
            && is_search
            && !self.exhausted
        {
            write!(f, "; {limit}")?;
        }
        if !self.modelled.is_empty() {
            let libraries = self.modelled.join(", ");
            write!(f, ", with a model in place of {libraries}")?;
        }
        write!(f, " ({}, {:.1?})", self.search.strategy, self.elapsed)?;
        if let Some(completeness) = &self.completeness {
            write!(f, "; {completeness}")?;
        }
        Ok(())
    }
}

impl Report {
    fn summarise_total_replay(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_complete = self.consistency.is_some_and(|it| it.is_complete);
        let runs = counted(self.all_runs(), "run", "runs");
        let classes = self.classes_run();
        match self.failures.is_empty() {
            false => write!(
                f,
                "reproduced: a behaviour that is consistent with the partial trace fails, {classes} in {runs}"
            ),
            true if is_complete && self.classes == 0 => write!(
                f,
                "no behaviour is consistent with the partial trace: none in {runs}"
            ),
            true if is_complete => write!(
                f,
                "every behaviour that is consistent with the partial trace was run, and none fails: {classes} in \
                 {runs}"
            ),
            true => write!(
                f,
                "not every behaviour that is consistent with the partial trace was run: {classes} in {runs}"
            ),
        }
    }

    /// Returns the advice about std's thread-locals that the threads of the check share, or may share, if there
    /// are any.
    pub fn note_of_shared_locals(&self) -> Option<String> {
        let (names, share) = match self.shared_locals.is_empty() {
            true => (&self.unclear_locals, "may share"),
            false => (&self.shared_locals, "share"),
        };
        let (first, others) = names.split_first()?;
        let more = match others.len() {
            0 => String::new(),
            count => format!(" and {}", counted(count as u64, "other", "others")),
        };
        let change = match first.starts_with("rand::") {
            // Nothing in another crate can be declared anew, but raddle has something in its place.
            true => "use `raddle::any()` or `raddle::choose(0..n)` in place of `rand`",
            false => "declare it with `raddle::thread_local!`",
        };
        Some(format!(
            "the threads of the check {share} the value of std's `thread_local!` {first}{more}: {change}"
        ))
    }
}

impl fmt::Display for SearchLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, is_default, setting) = match self {
            SearchLimit::Runs {
                limit,
                is_default,
                setting,
            } => (
                format!("at {}", counted(*limit, "run", "runs")),
                is_default,
                setting,
            ),
            SearchLimit::Time {
                limit,
                is_default,
                setting,
            } => (format!("after {limit:?}"), is_default, setting),
            SearchLimit::Saturated { runs } => {
                let runs = counted(*runs, "run", "runs");
                return write!(
                    f,
                    "stopped because the last {runs} covered nothing new: set `max_executions` or `max_time` for more"
                );
            }
            SearchLimit::Branches => {
                return write!(
                    f,
                    "stopped because branches need too much memory: set `preemptions`, or use the strategy `auto`"
                );
            }
            SearchLimit::Interrupted => return write!(f, "stopped by the user"),
        };
        let default = if *is_default { ", the default" } else { "" };
        write!(f, "stopped {what}{default}: raise `{setting}` for more")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.summarise(f)?;
        if let Some(advice) = &self.advice {
            write!(f, "\n{advice}")?;
        }
        if let Some(command) = &self.resume {
            let classes = self.classes_run();
            write!(f, "\ninterrupted after {classes}; continue with {command}")?;
        }
        for failure in &self.failures {
            write!(f, "\n\n{failure}")?;
        }
        for warning in &self.warnings {
            write!(f, "\n\nwarning: {warning}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::report::Search;

    #[test]
    fn the_generator_of_rand_has_advice_of_its_own() {
        let note = |name: &str| {
            let mut report = Report::new(Search::new("auto", 0));
            report.set_shared_locals(vec![name.to_owned()], Vec::new());
            report.note_of_shared_locals().unwrap()
        };
        let generator = note("rand::rngs::thread::THREAD_RNG_KEY");
        assert!(
            generator.ends_with("use `raddle::any()` or `raddle::choose(0..n)` in place of `rand`")
        );
        assert!(note("random::DEPTH").ends_with("declare it with `raddle::thread_local!`"));
    }
}
