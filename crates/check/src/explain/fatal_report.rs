//! The report of an execution whose process is about to end.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use raddle_engine::CheckName;
use raddle_engine::check::Finding;
use raddle_engine::check::panic::Panic;
use raddle_report::{Failure, Place};

use crate::explain::pages::{self, Pages};
use crate::persist::events;
use crate::persist::saved;
use crate::runtime::Context;
use crate::runtime::fatal::FatalReporter;

/// The facts about a check that the report needs.
#[derive(Default)]
pub(crate) struct FatalReport {
    /// A short description of the search.
    pub(crate) search: String,
    /// The name of the check.
    pub(crate) check: Option<CheckName>,
    /// An additional note.
    pub(crate) note: Option<String>,
    /// True when the schedule is to be saved; false if the user gave it.
    pub(crate) saves: bool,
    /// The pages to write.
    pub(crate) pages: Pages,
}

impl FatalReporter for FatalReport {
    /// Reports that a check hangs, and its execution if the context can be read. `code` is the
    /// address of the code where the thread is, if known.
    fn report_hang(&self, context: Option<&Context>, limit: Duration, code: Option<usize>) {
        let finding = |context: &Context| Finding::Hang {
            thread: context.thread(),
            limit,
        };
        let place = context.and_then(|context| context.program().place(code?));
        let note = place.map(|Place { file, line, .. }| format!("it is at {file}:{line} now"));
        let report = |context| self.report_with(context, &finding(context), note);
        if !context.is_some_and(report) {
            let check = self.check.as_ref();
            let test = check.map_or("a check", |check| check.test.as_str());
            print(&format!(
                "raddle: {test} has not come to a scheduling point for {limit:?}\n"
            ));
        }
    }

    /// Reports a panic that ends the process.
    fn report_panic(&self, context: &Context, panic: &Panic) {
        self.report(context, &Finding::Panic(panic.clone()));
    }

    /// Reports an access to an unmapped address.
    fn report_crash(&self, context: &Context) {
        if !self.report(context, &Finding::Crash(context.thread())) {
            print(
                "raddle: a crash inside raddle itself, or in user code that it called; please report \
                 this\n",
            );
        }
    }
}

impl FatalReport {
    /// Prints the whole failure and saves its schedule; false if the engine was interrupted in the
    /// middle of a change.
    fn report(&self, context: &Context, finding: &Finding) -> bool {
        self.report_with(context, finding, None)
    }

    fn report_with(&self, context: &Context, finding: &Finding, note: Option<String>) -> bool {
        let found = catch_unwind(AssertUnwindSafe(|| unfinished(context, finding)));
        let Ok(Some(mut failure)) = found else {
            return false;
        };
        failure.search.clone_from(&self.search);
        failure.schedule.check.clone_from(&self.check);
        failure.notes.extend(note);
        failure.notes.extend(self.note.clone());
        if self.saves {
            let saved = saved::save(
                context.program(),
                &failure.schedule,
                &failure.schedule.to_string(),
            );
            failure.replay = Some(saved.replay);
            failure.notes.extend(saved.problem);
        }
        print(&failure.to_string());
        if let Some(check) = &self.check {
            events::failure(check, &failure);
        }
        // A page that cannot be written does not suppress the report.
        let page = || pages::write_last(&self.pages, self.check.as_ref(), failure);
        if let Ok(Some(line)) = catch_unwind(AssertUnwindSafe(page)) {
            print(&line);
        }
        true
    }
}

/// Returns the failure of the running execution; `None` if the engine is in the middle of a change.
fn unfinished(context: &Context, finding: &Finding) -> Option<Failure> {
    let exploration = context.try_exploration()?;
    let mut failure = Failure::new(finding, exploration.execution(), context);
    failure.execution = exploration.executions() + u64::from(!context.has_stopped());
    Some(failure)
}

/// Writes past the test harness, which captures output until the test has ended.
fn print(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
