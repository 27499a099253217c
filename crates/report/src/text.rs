//! Failures as text: one headline, who and where, the steps in a column for each thread, what to
//! type next.

use std::fmt::{self, Write};

use raddle_engine::Execution;
use raddle_engine::check::Finding;
use raddle_engine::check::deadlock::Blocked;
use raddle_engine::check::lock_order::{LockOrder, Nested};
use raddle_engine::check::panic::{Manner, Panic};
use raddle_engine::object::{Call, condvar};
use raddle_engine::{Divergence, Operation, Record, ThreadId};
use unicode_width::UnicodeWidthStr;

use crate::failure::{Failure, FailureKind};
use crate::paint::Paint;
use crate::stuck::Words;
use crate::trace::{NOTHING, Names, Things, Trace, TraceStep};

/// With more threads than this the steps are a list, because columns would not fit a terminal.
const MAX_COLUMNS: usize = 6;
/// Steps shown; of a longer story, the end.
const MAX_STEPS: usize = 200;

pub(crate) fn message(
    finding: &Finding,
    execution: &Execution,
    trace: &Trace,
    names: &dyn Names,
) -> String {
    let things = &Things::of(execution, names);
    let words = Words {
        execution,
        trace,
        things,
        names,
    };
    let text = match finding {
        Finding::Panic(panic) => panicked(panic, trace) + &words.panicked_in_turn(panic),
        Finding::Deadlock(blocked) => words.deadlock(blocked),
        Finding::ThreadOutlives(blocked) => words.outlives(blocked),
        Finding::Livelock { rounds, blocked } => words.livelock(rounds, blocked),
        Finding::LostWakeup { lost, blocked } => words.lost_wakeup(lost, blocked),
        Finding::LockOrder(order) => lock_order(order, trace, things, names),
        Finding::TooManyEvents { limit, repeated } => words.too_many_events(*limit, repeated),
        Finding::Leak(unreceived) => words.leaks(unreceived),
        Finding::Hang { thread, limit } => words.hangs(*thread, *limit),
        Finding::DataRace(race) => words.data_race(race),
        Finding::MemoryError(error) => words.memory_error(error),
        Finding::Crash(thread) => words.crashed(*thread),
        Finding::StackOverflow(thread) => format!(
            "thread {} used more stack than it has\n\
             help: give threads more with `stack_size`, or look for a recursion without end",
            trace.title(*thread)
        ),
        Finding::Nondeterminism(divergence) => match divergence.from {
            Record::EarlierRun => words.nondeterminism(divergence),
            Record::Schedule => diverged(divergence),
            Record::Future => "the run was only an attempt".to_owned(),
        },
    };
    text + &words.stale()
}

fn panicked(panic: &Panic, trace: &Trace) -> String {
    let thread = trace.title(panic.thread);
    let did = match panic.manner {
        Manner::Panic => "panicked",
        Manner::Assertion => "failed an assertion",
        Manner::Crash => "crashed",
        Manner::Memory | Manner::Outside => "used memory that it must not use",
        Manner::Exit => "ended the program",
        Manner::Uncontrolled => "did what cannot be controlled",
    };
    let mut text = format!("{thread} {did}");
    if let Some(place) = &panic.place {
        let _ = write!(text, " at {place}");
    }
    let _ = write!(text, ":\n{}", panic.message);
    text
}

fn lock_order(order: &LockOrder, trace: &Trace, things: &Things, names: &dyn Names) -> String {
    let at = |site| {
        let place = names.place(site);
        place.map_or(String::new(), |place| format!(" at {place}"))
    };
    let line = |nested: &Nested| {
        format!(
            "{} takes {}{}, then {}{}",
            trace.title(nested.thread),
            things.title(nested.held.index()),
            at(nested.since),
            things.title(nested.taken.index()),
            at(nested.at),
        )
    };
    match order {
        LockOrder::Circle(circle) => {
            let lines: Vec<_> = circle.iter().map(line).collect();
            format!(
                "{}\n\
                 help: if they do so at the same time, each waits for the other: take the locks in \
                 the same order everywhere",
                lines.join("\n")
            )
        }
        LockOrder::ReadAgain(nested) => format!(
            "{}, which it reads under already\n\
             help: if a writer comes in between, both may wait for ever: keep one guard, or pass \
             it on",
            line(nested)
        ),
    }
}

/// Who waits, with what and for what. A thread that holds what others wait for and waits itself has a
/// line of its own, which says where it took it; `others` are those that have one.
pub(crate) fn waiting(blocked: &Blocked, others: &[Blocked], words: &Words<'_>) -> String {
    let Words {
        trace,
        things,
        names,
        ..
    } = *words;
    let mut text = trace.title(blocked.thread).to_owned();
    for (index, (object, _, site)) in blocked.holds.iter().enumerate() {
        let and = if index == 0 { " holds" } else { " and" };
        let _ = write!(text, "{and} {}", things.title(object.index()));
        if let Some(place) = names.place(*site) {
            let _ = write!(text, " (since {place})");
        }
    }
    if !blocked.holds.is_empty() {
        text.push(',');
    }
    text.push_str(" waits");
    if let Some(place) = names.place(blocked.site) {
        let _ = write!(text, " at {place}");
    }
    if let Some(what) = words.awaited(blocked) {
        let _ = write!(text, " for {what}");
    }
    let _ = match (&blocked.operation, blocked.waits_for) {
        (
            Operation::Call {
                call: Call::Condvar(condvar::Call::Wake { .. }),
                ..
            },
            _,
        ) => write!(text, ", which nobody notifies any more"),
        (Operation::Join { .. }, _) | (_, None) => Ok(()),
        (_, Some(holder)) if holder == blocked.thread => write!(text, ", which it holds itself"),
        (_, Some(holder)) => {
            let since = match others.iter().any(|other| other.thread == holder) {
                true => None,
                false => words.taken(blocked),
            };
            let since = since.map_or(String::new(), |place| format!(" (since {place})"));
            write!(text, ", held by {}{since}", trace.title(holder))
        }
    };
    text
}

fn diverged(divergence: &Divergence) -> String {
    let Divergence {
        after,
        thread,
        expected,
        found,
        ..
    } = divergence;
    let found = match found {
        Some(operation) if operation == expected => "it cannot do that now".to_owned(),
        Some(operation) => format!("it is at `{operation}`"),
        None => "there is no such thread, or it has ended".to_owned(),
    };
    format!(
        "the schedule does not fit the program: after {}, thread {thread} should do \
         `{expected}`, but {found}\n\
         help: the program has changed since the schedule was made, or it is another test's; run \
         the test without a schedule to get a new one",
        counted(*after as u64, "step", "steps"),
    )
}

pub(crate) fn failure(failure: &Failure, paint: Paint, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let executions = counted(failure.execution, "execution", "executions");
    let headline = format!("{} after {executions} ({})", failure.kind, failure.search);
    writeln!(f, "{}\n", paint.headline(&headline))?;
    for line in failure.message.lines() {
        writeln!(f, "  {line}")?;
    }
    if failure.kind != FailureKind::Impossible || !failure.trace.steps.is_empty() {
        writeln!(f)?;
        steps(&failure.trace, paint, f)?;
    }
    let used = |name: &str| {
        failure
            .trace
            .steps
            .iter()
            .any(|step| match name.contains([' ', ':']) {
                true => step.what.contains(name),
                false => step.what.split([' ', ':']).any(|word| word == name),
            })
    };
    let mut things = failure
        .trace
        .things
        .iter()
        .filter(|(name, place)| place.is_some() && used(name))
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
        writeln!(f, "  why:    {}", critical.why)?;
    }
    if let Some(replay) = &failure.replay {
        writeln!(f, "  replay: {replay}")?;
    }
    if let Some(page) = &failure.page {
        writeln!(f, "  report: {page}")?;
    }
    Ok(())
}

/// So many of something, in words.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// What a person wants to see of a step; beginnings and ends, and what did not happen,
/// only fill the page.
fn is_shown(step: &TraceStep) -> bool {
    step.waits || !matches!(step.what.as_str(), "begin" | "end" | NOTHING)
}

pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

fn steps(trace: &Trace, paint: Paint, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
            true => format!(" {}:{}", file_name(&place.file), place.line),
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
            let thread = paint.thread(thread);
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
    let row = |first: &str, paint: Paint, cells: &mut dyn FnMut(usize) -> String| {
        let mut line = first.to_owned();
        for (&thread, &width) in acting.iter().zip(&widths) {
            let text = cells(thread);
            let padding = " ".repeat(width - text.width());
            let text = paint.thread(&text);
            let _ = write!(line, " │ {text}{padding}");
        }
        line.truncate(line.trim_end().len());
        line
    };
    let title = |thread: usize| trace.title(ThreadId::new(thread)).to_owned();
    writeln!(f, "{}", row("   step", paint, &mut |thread| title(thread)))?;
    for (number, step) in shown {
        let first = format!("  {:>5}", number + 1);
        let mut only = |thread| {
            if thread == step.thread {
                cell(step)
            } else {
                String::new()
            }
        };
        writeln!(f, "{}", row(&first, Paint::Plain, &mut only))?;
    }
    Ok(())
}
