//! The story of an execution whose process is about to end.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use raddle_engine::CheckName;
use raddle_engine::check::Finding;
use raddle_engine::check::panic::Panic;

use crate::events;
use crate::saved;
use crate::substrate::Context;

/// What a story needs to know of its check.
#[derive(Default)]
pub(crate) struct LastWords {
    /// How the search is run, in a few words.
    pub(crate) search: String,
    /// Which check it is.
    pub(crate) check: Option<CheckName>,
    /// What else there is to say.
    pub(crate) note: Option<String>,
    /// Whether to save the schedule; not if the user gave it.
    pub(crate) saves: bool,
}

impl LastWords {
    /// Says that a check hangs, and where, if its context can be read.
    pub(crate) fn of_a_hang(&self, context: Option<&Context>, limit: Duration) {
        let finding = |context: &Context| Finding::Hang {
            thread: context.thread(),
            limit,
        };
        let story = context.and_then(|context| self.story(context, &finding(context)));
        say(&story.unwrap_or_else(|| {
            let check = self.check.as_ref();
            let test = check.map_or("a check", |check| check.test.as_str());
            format!("raddle: {test} has not come to a scheduling point for {limit:?}\n")
        }));
    }

    /// Tells of a panic that ends the process.
    pub(crate) fn of_a_panic(&self, context: &Context, panic: &Panic) {
        if let Some(story) = self.story(context, &Finding::Panic(panic.clone())) {
            say(&story);
        }
    }

    /// Tells of a thread that used an address that is not there.
    pub(crate) fn of_a_crash(&self, context: &Context) {
        let story = self.story(context, &Finding::Crash(context.thread()));
        say(&story.unwrap_or_else(|| {
            "raddle: a crash inside raddle itself, or in what it was told to do; please report this\n"
                .to_owned()
        }));
    }

    /// The whole story, with its schedule saved; nothing if the engine was interrupted in the middle
    /// of something.
    fn story(&self, context: &Context, finding: &Finding) -> Option<String> {
        let mut failure = catch_unwind(AssertUnwindSafe(|| context.unfinished(finding))).ok()??;
        failure.search.clone_from(&self.search);
        failure.schedule.check.clone_from(&self.check);
        failure.notes.extend(self.note.clone());
        if self.saves {
            let saved = saved::save(&failure.schedule);
            failure.replay = Some(saved.replay);
            failure.notes.extend(saved.problem);
        }
        if let Some(check) = &self.check {
            events::failure(check, &failure);
        }
        Some(failure.to_string())
    }
}

/// Past the harness, which would keep it until the test has ended.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
