//! The story of an execution whose process is about to end.

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

/// What a story needs to know of its check.
#[derive(Default)]
pub(crate) struct FatalReport {
    /// How the search is run, in a few words.
    pub(crate) search: String,
    /// Which check it is.
    pub(crate) check: Option<CheckName>,
    /// What else there is to say.
    pub(crate) note: Option<String>,
    /// Whether to save the schedule; not if the user gave it.
    pub(crate) saves: bool,
    /// Whether there is to be a page.
    pub(crate) pages: Pages,
}

impl FatalReporter for FatalReport {
    /// Says that a check hangs, and where, if its context can be read. Where the thread is in its code
    /// may be known, too.
    fn report_hang(&self, context: Option<&Context>, limit: Duration, code: Option<usize>) {
        let finding = |context: &Context| Finding::Hang {
            thread: context.thread(),
            limit,
        };
        let place = context.and_then(|context| context.program().place(code?));
        let note = place.map(|Place { file, line, .. }| format!("it is at {file}:{line} now"));
        let tell = |context| self.tell_with(context, &finding(context), note);
        if !context.is_some_and(tell) {
            let check = self.check.as_ref();
            let test = check.map_or("a check", |check| check.test.as_str());
            say(&format!(
                "raddle: {test} has not come to a scheduling point for {limit:?}\n"
            ));
        }
    }

    /// Tells of a panic that ends the process.
    fn report_panic(&self, context: &Context, panic: &Panic) {
        self.tell(context, &Finding::Panic(panic.clone()));
    }

    /// Tells of a thread that used an address that is not there.
    fn report_crash(&self, context: &Context) {
        if !self.tell(context, &Finding::Crash(context.thread())) {
            say(
                "raddle: a crash inside raddle itself, or in what it was told to do; please report \
                 this\n",
            );
        }
    }
}

impl FatalReport {
    /// Tells the whole story, with its schedule saved; whether that was possible. It was not if the engine
    /// was interrupted in the middle of something.
    fn tell(&self, context: &Context, finding: &Finding) -> bool {
        self.tell_with(context, finding, None)
    }

    fn tell_with(&self, context: &Context, finding: &Finding, note: Option<String>) -> bool {
        let found = catch_unwind(AssertUnwindSafe(|| unfinished(context, finding)));
        let Ok(Some(mut failure)) = found else {
            return false;
        };
        failure.search.clone_from(&self.search);
        failure.schedule.check.clone_from(&self.check);
        failure.notes.extend(note);
        failure.notes.extend(self.note.clone());
        if self.saves {
            let saved = saved::save(context.program(), &failure.schedule);
            failure.replay = Some(saved.replay);
            failure.notes.extend(saved.problem);
        }
        say(&failure.to_string());
        if let Some(check) = &self.check {
            events::failure(check, &failure);
        }
        // Whatever comes of that, the story is told.
        let page = || pages::write_last(&self.pages, self.check.as_ref(), failure);
        if let Ok(Some(line)) = catch_unwind(AssertUnwindSafe(page)) {
            say(&line);
        }
        true
    }
}

/// What is wrong with the execution that is going on; nothing if the engine is in the middle of
/// something.
fn unfinished(context: &Context, finding: &Finding) -> Option<Failure> {
    let exploration = context.try_exploration()?;
    let mut failure = Failure::new(finding, exploration.execution(), context);
    failure.execution = exploration.executions() + u64::from(!context.has_stopped());
    Some(failure)
}

/// Past the harness, which would keep it until the test has ended.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
