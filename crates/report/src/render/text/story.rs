//! Failures as text: a headline, the message, the steps with a column for each thread, notes and
//! commands.

use std::fmt::{self, Write};

use raddle_engine::ThreadId;
use unicode_width::UnicodeWidthStr;

use crate::data::failure::{Failure, FailureKind};
use crate::data::trace::{Trace, TraceStep};
use crate::render::text::colour::Colouring;
use crate::words::number::counted;
use crate::words::things::NOTHING_UNEXPECTED;

/// Maximum number of columns; with more threads, which would not fit a terminal, the steps are a
/// list.
const MAX_COLUMNS: usize = 6;
/// Maximum number of steps shown; earlier ones are left out.
const MAX_STEPS: usize = 200;

impl Failure {
    /// Returns the story with the headline and the names of threads in colour, for terminals.
    pub fn coloured(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(|f| write_failure(self, Colouring::Coloured, f))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_failure(self, Colouring::Plain, f)
    }
}

fn write_failure(
    failure: &Failure,
    colouring: Colouring,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let executions = counted(failure.execution, "execution", "executions");
    let headline = format!("{} after {executions} ({})", failure.kind, failure.search);
    writeln!(f, "{}\n", colouring.headline(&headline))?;
    for line in failure.message.lines() {
        writeln!(f, "  {line}")?;
    }
    if failure.kind != FailureKind::Impossible || !failure.trace.steps.is_empty() {
        writeln!(f)?;
        steps(&failure.trace, colouring, f)?;
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
            true => writeln!(f, "  why:    {}", critical.why)?,
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

/// True for steps worth showing: not for the begin and end of threads, and choices that were not
/// taken.
fn is_shown(step: &TraceStep) -> bool {
    step.waits || !matches!(step.what.as_str(), "begin" | "end" | NOTHING_UNEXPECTED)
}

fn steps(trace: &Trace, colouring: Colouring, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let shown: Vec<(usize, &TraceStep)> = trace
        .steps
        .iter()
        .filter(|step| is_shown(step))
        .enumerate()
        .collect();
    if shown.is_empty() {
        return writeln!(f, "  (no steps before that)");
    }
    let left_out = shown.len().saturating_sub(MAX_STEPS);
    let shown = &shown[left_out..];
    let mut files = shown
        .iter()
        .filter_map(|(_, step)| step.place.as_ref())
        .map(|place| &place.file);
    let first_file = files.next();
    let several_files = files.any(|file| Some(file) != first_file);
    let cell = |step: &TraceStep| {
        let wait = if step.waits { "⏳ " } else { "" };
        let line = step.place.as_ref().map(|place| match several_files {
            true => format!(" {}:{}", place.file_name(), place.line),
            false => format!(" :{}", place.line),
        });
        format!("{wait}{}{}", step.what, line.unwrap_or_default())
    };
    if left_out > 0 {
        let left_out = counted(left_out as u64, "step", "steps");
        writeln!(f, "  ({left_out} before these)")?;
    }
    let acting: Vec<usize> = (0..trace.threads.len())
        .filter(|&thread| shown.iter().any(|(_, step)| step.thread == thread))
        .collect();
    if acting.len() > MAX_COLUMNS {
        for (number, step) in shown {
            let thread = trace.title(ThreadId::new(step.thread));
            let thread = colouring.thread(thread);
            writeln!(f, "  {:>5} │ {thread}: {}", number + 1, cell(step))?;
        }
        return Ok(());
    }
    let width = |thread: usize| {
        let cells = shown.iter().filter(|(_, step)| step.thread == thread);
        let widest = cells.map(|(_, step)| cell(step).width()).max().unwrap_or(0);
        widest.max(trace.title(ThreadId::new(thread)).width())
    };
    let widths: Vec<usize> = acting.iter().map(|&thread| width(thread)).collect();
    let row = |first: &str, colouring: Colouring, cells: &mut dyn FnMut(usize) -> String| {
        let mut line = first.to_owned();
        for (&thread, &width) in acting.iter().zip(&widths) {
            let text = cells(thread);
            let padding = " ".repeat(width - text.width());
            let text = colouring.thread(&text);
            let _ = write!(line, " │ {text}{padding}");
        }
        line.truncate(line.trim_end().len());
        line
    };
    let title = |thread: usize| trace.title(ThreadId::new(thread)).to_owned();
    writeln!(
        f,
        "{}",
        row("   step", colouring, &mut |thread| title(thread))
    )?;
    for (number, step) in shown {
        let first = format!("  {:>5}", number + 1);
        let mut only = |thread| {
            if thread == step.thread {
                cell(step)
            } else {
                String::new()
            }
        };
        writeln!(f, "{}", row(&first, Colouring::Plain, &mut only))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use raddle_engine::Schedule;

    use super::*;
    use crate::data::effect::Effect;
    use crate::data::place::Place;
    use crate::data::trace::TraceThread;

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
            steps: vec![TraceStep {
                thread: 0,
                what: "store 1 to late, already overwritten".to_owned(),
                place: place(7),
                waits: false,
                thing: Some(0),
                source: None,
                effect: Effect::Write,
            }],
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
}
