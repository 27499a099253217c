//! Reports as text, and as assertions of a test.

use std::fmt;

use crate::data::guarantee::{Alone, Guarantee};
use crate::data::report::Report;
use crate::render::text::colour::{self, Colouring};
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

    /// Panics with the story of the first failure, if there is one; prints warnings otherwise.
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
            match colour::detect() {
                Colouring::Plain => panic!("{failure}{more}"),
                Colouring::Coloured => panic!("{}{more}", failure.coloured()),
            }
        }
        for warning in &self.warnings {
            match colour::detect() {
                Colouring::Plain => eprintln!("warning: {warning}"),
                Colouring::Coloured => eprintln!("warning: {}", warning.coloured()),
            }
        }
        if let Some(command) = &self.resume {
            let classes = counted(self.classes, "class", "classes");
            eprintln!("raddle: interrupted after {classes}; continue with {command}");
        }
    }
}

impl Report {
    /// Returns one line with the guarantee and the numbers of classes and executions.
    pub fn summary(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(|f| self.summarise(f))
    }

    fn summarise(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let classes = counted(self.classes, "class", "classes");
        match self.guarantee {
            Guarantee::Exhaustive | Guarantee::Reduced | Guarantee::Sampled
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
                write!(f, "every behaviour was run: {classes}")?;
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
                "every behaviour was run that the reductions leave: {classes}"
            )?,
            Guarantee::Bounded { preemptions } => {
                let most = counted(preemptions.into(), "preemption", "preemptions");
                write!(f, "every behaviour up to {most} was run: {classes}")?;
            }
            Guarantee::Delayed { delays } => {
                let most = counted(delays.into(), "delay", "delays");
                let runs = counted(self.executions, "run", "runs");
                write!(
                    f,
                    "every schedule up to {most} was run: {classes} in {runs}"
                )?;
            }
            Guarantee::Sampled => {
                let runs = counted(self.executions, "run", "runs");
                let all = self
                    .estimate
                    .filter(|_| !self.foreign_threads)
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
                if self.left_polling > 0 {
                    write!(f, ", as threads that outlive the program poll without end")?;
                }
                if let Some(unseen) = self.unseen {
                    write!(f, "; {unseen}")?;
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
            let runs = counted(self.discarded, "run", "runs");
            write!(f, ", without {runs} that `assume` discarded")?;
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

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.summarise(f)?;
        if let Some(advice) = &self.advice {
            write!(f, "\n{advice}")?;
        }
        if let Some(command) = &self.resume {
            let classes = counted(self.classes, "class", "classes");
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
