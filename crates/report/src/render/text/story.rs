//! Failures as text: a headline, the message, the steps with a column for each thread, notes and
//! commands.

use std::fmt;

use crate::data::failure::{Failure, FailureKind};
use crate::data::trace::Trace;
use crate::render::text::colour::Colouring;
use crate::render::text::layout::Layout;
use crate::render::text::steps::StepTable;
use crate::words::number::counted;

impl Failure {
    /// Returns the story with the headline, the names of threads and the steps of `why:` in colour, for terminals.
    pub fn coloured(&self) -> impl fmt::Display + '_ {
        self.laid_out(Layout {
            coloured: true,
            width: None,
        })
    }

    /// Returns the story in this layout.
    pub fn laid_out(&self, layout: Layout) -> impl fmt::Display + '_ {
        fmt::from_fn(move |f| write_failure(self, layout, f))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_failure(self, Layout::PLAIN, f)
    }
}

fn write_failure(failure: &Failure, layout: Layout, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let colouring = Colouring::of(layout);
    let executions = counted(failure.execution, "execution", "executions");
    let headline = format!("{} after {executions} ({})", failure.kind, failure.search);
    writeln!(f, "{}\n", colouring.headline(&headline))?;
    for line in failure.message.lines() {
        writeln!(f, "  {line}")?;
    }
    let needs_no_steps = matches!(
        failure.kind,
        FailureKind::Impossible | FailureKind::Requirement
    );
    if !needs_no_steps || !failure.trace.steps.is_empty() {
        writeln!(f)?;
        let pair = failure.critical.as_ref();
        let pair = pair.map_or([None; 2], |pair| [Some(pair.first), pair.second]);
        StepTable::new(&failure.trace, pair, layout).write(f)?;
    }
    let mut things = failure
        .trace
        .things
        .iter()
        .filter(|(name, place)| place.is_some() && is_mentioned(name, &failure.trace))
        .peekable();
    if things.peek().is_some() {
        writeln!(f)?;
    }
    for (name, place) in things {
        if let Some(place) = place {
            writeln!(f, "  {name} was made at {place}")?;
        }
    }
    for note in &failure.notes {
        writeln!(f, "\n  note: {note}")?;
    }
    if failure.critical.is_some() || failure.replay.is_some() || failure.page.is_some() {
        writeln!(f)?;
    }
    if let Some(critical) = &failure.critical {
        match critical.is_about {
            true => writeln!(f, "  {}    {}", colouring.pair("why:"), critical.why)?,
            false => writeln!(f, "  {}", critical.why)?,
        }
    }
    if let Some(replay) = &failure.replay {
        writeln!(f, "  replay: {replay}")?;
    }
    if let Some(page) = &failure.page {
        writeln!(f, "  report: {page}")?;
    }
    Ok(())
}

/// True when a step mentions the thing with this name.
fn is_mentioned(name: &str, trace: &Trace) -> bool {
    const BETWEEN_WORDS: [char; 3] = [' ', ':', ','];
    let is_one_word = !name.contains(BETWEEN_WORDS);
    trace.steps.iter().any(|step| match is_one_word {
        true => step.what.split(BETWEEN_WORDS).any(|word| word == name),
        false => step.what.contains(name),
    })
}

#[cfg(test)]
mod tests {
    use raddle_engine::{Schedule, ThreadId};

    use super::*;
    use crate::data::place::Place;
    use crate::data::trace::{TraceStep, TraceThread};

    #[test]
    fn things_in_steps_have_their_place_of_creation() {
        let place = |line| {
            let file = "a.rs".to_owned();
            Some(Place {
                file,
                line,
                column: 1,
            })
        };
        let trace = Trace {
            threads: vec![TraceThread {
                path: "main".to_owned(),
                name: None,
                spawned: None,
            }],
            steps: vec![TraceStep::new(
                ThreadId::new(0),
                "store 1 to late, already overwritten".to_owned(),
                place(7),
            )],
            things: vec![
                ("late".to_owned(), place(3)),
                ("to la".to_owned(), place(4)),
                ("ate".to_owned(), place(5)),
            ],
            ..Trace::default()
        };
        let failure = Failure::bare(
            FailureKind::Panic,
            String::new(),
            trace,
            Schedule::default(),
            1,
        );
        let made: Vec<_> = failure
            .to_string()
            .lines()
            .filter(|line| line.contains("was made"))
            .map(str::to_owned)
            .collect();
        assert_eq!(
            made,
            ["  late was made at a.rs:3", "  to la was made at a.rs:4"]
        );
    }
    /// Returns the lines of the table of steps.
    fn table(trace: Trace) -> Vec<String> {
        let schedule = Schedule::default();
        let failure = Failure::bare(FailureKind::Panic, String::new(), trace, schedule, 1);
        let text = failure.to_string();
        let lines = text.lines().skip_while(|line| !line.contains(" │ "));
        lines.map(str::to_owned).collect()
    }

    #[test]
    fn equal_rounds_are_shown_once() {
        let thread = |path: &str| TraceThread {
            path: path.to_owned(),
            name: None,
            spawned: None,
        };
        let step = |thread, what: String| TraceStep::new(ThreadId::new(thread), what, None);
        let mut trace = Trace {
            threads: vec![thread("main"), thread("main.1")],
            ..Trace::default()
        };
        trace.steps.push(step(0, "begin".to_owned()));
        trace.steps.push(step(0, "spawn main.1".to_owned()));
        for round in 0..200 {
            trace.steps.push(step(1, "lock queue".to_owned()));
            trace.steps.push(step(1, "nothing unexpected".to_owned()));
            let count = format!("fetch-add looks: {round} to {}", round + 1);
            trace.steps.push(step(1, count));
        }
        for _ in 0..5 {
            trace.steps.push(step(0, "yield".to_owned()));
        }
        trace.steps.push(step(0, "panic".to_owned()));
        trace.fold();
        assert_eq!(
            table(trace),
            [
                "   step │ main         │ main.1",
                "      1 │ spawn main.1 │",
                "      2 │              │ lock queue",
                "      3 │              │ fetch-add looks: 0 to 1",
                "      ⋮ │ … ×198 more rounds of steps 2-3, counting on",
                "    400 │              │ lock queue",
                "    401 │              │ fetch-add looks: 199 to 200",
                "    402 │ yield        │",
                "      ⋮ │ … ×3 more rounds of step 402",
                "    406 │ yield        │",
                "    407 │ panic        │",
            ]
        );
    }

    #[test]
    fn a_table_that_is_cut_begins_with_a_step() {
        let step = |what: String| TraceStep::new(ThreadId::new(0), what, None);
        let mut trace = Trace {
            threads: vec![TraceThread {
                path: "main".to_owned(),
                name: None,
                spawned: None,
            }],
            ..Trace::default()
        };
        trace.steps.extend(vec![step("yield".to_owned()); 9]);
        // The last of the equal steps is the first of the last 200.
        let others = (1..=199).map(|number| step(format!("store {} to x", number * number)));
        trace.steps.extend(others);
        trace.fold();
        let lines = table(trace);
        assert_eq!(lines[0], "   step │ main");
        assert_eq!(lines[1], "      9 │ yield");
        assert_eq!(lines.len(), 1 + 200);
    }
}
