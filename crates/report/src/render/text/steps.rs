//! The steps of an execution as a table with a column for each thread, or as a list if that does not fit.

use std::fmt;

use raddle_engine::ThreadId;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::data::fold::Fold;
use crate::data::trace::{Trace, TraceStep};
use crate::render::text::colour::Colouring;
use crate::render::text::layout::Layout;
use crate::words::number::{counted, grouped};

/// Maximum number of columns; with more threads, which would not fit a terminal, the steps are a
/// list.
const MAX_COLUMNS: usize = 6;
/// Maximum number of steps shown; earlier ones are left out.
const MAX_STEPS: usize = 200;
/// Width of the numbers of steps, and of the line before each column.
const NUMBERS: usize = 7;
const RULE: usize = 3;
/// Narrowest column that is worth a table: an operation and the name of its target.
const MIN_COLUMN: usize = 16;

/// The shown steps of a trace.
pub(super) struct StepTable<'a> {
    trace: &'a Trace,
    /// Shown steps, with their numbers.
    rows: Vec<Row<'a>>,
    left_out: usize,
    /// Threads that have a row.
    acting: Vec<usize>,
    several_files: bool,
    layout: Layout,
}

struct Row<'a> {
    number: usize,
    step: &'a TraceStep,
    /// True when it is one of the two steps whose order decides.
    decides: bool,
    /// Description of the equal rounds that are left out before it.
    folded: Option<String>,
}

impl<'a> StepTable<'a> {
    /// The steps of a trace; `pair` has the indices of those to highlight.
    pub(super) fn new(trace: &'a Trace, pair: [Option<usize>; 2], layout: Layout) -> Self {
        let mut rows = rows(trace, pair);
        rows.drain(..rows.len().saturating_sub(MAX_STEPS));
        let left_out = rows.first_mut().map_or(0, |first| {
            // It would refer to rows that are left out.
            first.folded = None;
            first.number - 1
        });
        let mut files = rows
            .iter()
            .filter_map(|row| row.step.place.as_ref())
            .map(|place| &place.file);
        let first_file = files.next();
        let several_files = files.any(|file| Some(file) != first_file);
        let acting = (0..trace.threads.len())
            .filter(|&thread| rows.iter().any(|row| row.step.thread == thread))
            .collect();
        StepTable {
            trace,
            rows,
            left_out,
            acting,
            several_files,
            layout,
        }
    }

    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rows.is_empty() {
            return writeln!(f, "  (no steps before that)");
        }
        if self.left_out > 0 {
            let left_out = counted(self.left_out as u64, "step", "steps");
            writeln!(f, "  ({left_out} before these)")?;
        }
        match self.columns() {
            Some(widths) => self.write_table(&widths, f),
            None => self.write_list(f),
        }
    }

    fn cell(&self, step: &TraceStep) -> String {
        let wait = if step.waits { "⏳ " } else { "" };
        let line = step.place.as_ref().map(|place| match self.several_files {
            true => format!(" {}:{}", place.file_name(), place.line),
            false => format!(" :{}", place.line),
        });
        format!("{wait}{}{}", step.what, line.unwrap_or_default())
    }

    fn title(&self, thread: usize) -> &str {
        self.trace.title(ThreadId::new(thread))
    }

    /// Returns the widths of the columns; `None` if there are too many for a table.
    fn columns(&self) -> Option<Vec<usize>> {
        if self.acting.len() > MAX_COLUMNS {
            return None;
        }
        let width = |&thread: &usize| {
            let own = self.rows.iter().filter(|row| row.step.thread == thread);
            let widest = own.map(|row| self.cell(row.step).width()).max();
            widest.unwrap_or(0).max(self.title(thread).width())
        };
        let widths: Vec<usize> = self.acting.iter().map(width).collect();
        let Some(terminal) = self.layout.width else {
            return Some(widths);
        };
        let rules = NUMBERS + RULE * widths.len();
        fit(widths, terminal.saturating_sub(rules))
    }

    /// Returns the room of a row that has no columns.
    fn room(&self) -> usize {
        let width = self.layout.width.unwrap_or(usize::MAX);
        width.saturating_sub(NUMBERS + RULE).max(MIN_COLUMN)
    }

    /// Writes the line in place of the rounds before a row, if there are such.
    fn write_folded(&self, row: &Row<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(folded) = &row.folded else {
            return Ok(());
        };
        let plain = |text: &str| text.to_owned();
        write_row("      ⋮", vec![folded.clone()], &[self.room()], &plain, f)
    }

    fn write_list(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colouring = Colouring::of(self.layout);
        for row in &self.rows {
            self.write_folded(row, f)?;
            let title = format!("{}: ", self.title(row.step.thread));
            let colour = |text: &str| {
                let (thread, step) = match text.strip_prefix(&title) {
                    Some(step) => (colouring.thread(title.trim_end_matches(": ")) + ": ", step),
                    None => (String::new(), text),
                };
                match row.decides {
                    true => thread + &colouring.pair(step),
                    false => thread + step,
                }
            };
            let cell = format!("{title}{}", self.cell(row.step));
            let first = format!("  {:>5}", row.number);
            write_row(&first, vec![cell], &[self.room()], &colour, f)?;
        }
        Ok(())
    }

    fn write_table(&self, widths: &[usize], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colouring = Colouring::of(self.layout);
        let thread = |text: &str| colouring.thread(text);
        let pair = |text: &str| colouring.pair(text);
        let plain = |text: &str| text.to_owned();
        let titles = self
            .acting
            .iter()
            .map(|&thread| self.title(thread).to_owned());
        write_row("   step", titles.collect(), widths, &thread, f)?;
        for row in &self.rows {
            self.write_folded(row, f)?;
            let cell = |&thread: &usize| match thread == row.step.thread {
                true => self.cell(row.step),
                false => String::new(),
            };
            let cells = self.acting.iter().map(cell).collect();
            let first = format!("  {:>5}", row.number);
            match row.decides {
                true => write_row(&first, cells, widths, &pair, f)?,
                false => write_row(&first, cells, widths, &plain, f)?,
            }
        }
        Ok(())
    }
}

/// Returns the steps that are shown, with their numbers. Of equal rounds these are the first and the last, unless
/// one of the two steps whose order decides is between them.
fn rows(trace: &Trace, pair: [Option<usize>; 2]) -> Vec<Row<'_>> {
    let decides = |index: usize| pair.contains(&Some(index));
    let mut folds = trace
        .folds
        .iter()
        .filter(|fold| !fold.hidden().any(decides))
        .peekable();
    let (mut rows, mut folded) = (Vec::new(), None);
    let (mut number, mut first_of_round) = (0, 1);
    for (index, step) in trace.steps.iter().enumerate() {
        if let Some(fold) = folds.peek() {
            let hidden = fold.hidden();
            if index == fold.from {
                first_of_round = number + 1;
            }
            if index == hidden.start {
                folded = Some(describe_fold(fold, first_of_round, number));
            }
            if hidden.contains(&index) {
                number += usize::from(!step.is_dull());
                continue;
            }
            if index == hidden.end {
                folds.next();
            }
        }
        if !step.is_dull() {
            number += 1;
            rows.push(Row {
                number,
                step,
                decides: decides(index),
                folded: folded.take(),
            });
        }
    }
    rows
}

/// Describes the rounds that are left out.
fn describe_fold(fold: &Fold, first: usize, last: usize) -> String {
    let rounds = grouped(fold.rounds as u64 - 2);
    let steps = match first == last {
        true => format!("step {first}"),
        false => format!("steps {first}-{last}"),
    };
    let counting = if fold.counts { ", counting on" } else { "" };
    let word = if fold.rounds == 3 { "round" } else { "rounds" };
    format!("… ×{rounds} more {word} of {steps}{counting}")
}

/// Returns the widths of columns that need these and have this room together: columns that need less than an equal
/// share keep their width. `None` if a column would be too narrow.
fn fit(mut widths: Vec<usize>, room: usize) -> Option<Vec<usize>> {
    if widths.iter().sum::<usize>() <= room {
        return Some(widths);
    }
    let mut sorted = widths.clone();
    sorted.sort_unstable();
    let (mut left, mut most) = (room, 0);
    for (index, &width) in sorted.iter().enumerate() {
        most = left / (sorted.len() - index);
        if width > most {
            break;
        }
        left -= width;
    }
    widths
        .iter_mut()
        .for_each(|width| *width = (*width).min(most));
    (most >= MIN_COLUMN).then_some(widths)
}

/// Writes one row, in several lines if a cell is wider than its column.
fn write_row(
    first: &str,
    cells: Vec<String>,
    widths: &[usize],
    colour: &dyn Fn(&str) -> String,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let cells: Vec<Vec<String>> = cells
        .iter()
        .zip(widths)
        .map(|(cell, &width)| wrap(cell, width))
        .collect();
    let lines = cells.iter().map(Vec::len).max().unwrap_or(1).max(1);
    for number in 0..lines {
        let mut line = match number {
            0 => first.to_owned(),
            _ => " ".repeat(NUMBERS),
        };
        for (cell, &width) in cells.iter().zip(widths) {
            let text = cell.get(number).map_or("", String::as_str);
            let text_width = text.width();
            line += &format!(" │ {}", colour(text));
            if cells.len() > 1 {
                line += &" ".repeat(width.saturating_sub(text_width));
            }
        }
        writeln!(f, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Splits a text into lines of at most this width, between words if possible. Lines after the first are indented.
fn wrap(text: &str, width: usize) -> Vec<String> {
    const INDENT: &str = "  ";
    if text.width() <= width {
        return vec![text.to_owned()];
    }
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_inclusive(' ') {
        if !line.trim().is_empty() && line.width() + word.trim_end().width() > width {
            lines.push(std::mem::replace(&mut line, INDENT.to_owned()));
        }
        for character in word.chars() {
            let needed = character.width().unwrap_or(0);
            if line.width() + needed > width && character != ' ' && !line.trim().is_empty() {
                lines.push(std::mem::replace(&mut line, INDENT.to_owned()));
            }
            line.push(character);
        }
    }
    lines.push(line);
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::place::Place;
    use crate::data::trace::TraceThread;

    fn example() -> Trace {
        let thread = |path: &str| TraceThread {
            path: path.to_owned(),
            name: None,
            spawned: None,
        };
        let step = |thread, what: &str, line| {
            let place = Place {
                file: "a.rs".to_owned(),
                line,
                column: 1,
            };
            TraceStep::new(ThreadId::new(thread), what.to_owned(), Some(place))
        };
        Trace {
            threads: vec![thread("main"), thread("main.1")],
            steps: vec![
                step(0, "begin", 1),
                step(0, "store 1 to the_value_that_is_shared", 7),
                step(1, "load the_value_that_is_shared = 1", 12),
                step(1, "lock table", 13),
            ],
            ..Trace::default()
        }
    }

    fn written(pair: [Option<usize>; 2], coloured: bool, width: Option<usize>) -> String {
        let trace = example();
        let table = StepTable::new(&trace, pair, Layout { coloured, width });
        fmt::from_fn(|f| table.write(f)).to_string()
    }

    #[test]
    fn without_a_width_columns_are_as_wide_as_their_cells() {
        assert_eq!(
            written([None; 2], false, None),
            "   step │ main                                   │ main.1\n      \
             1 │ store 1 to the_value_that_is_shared :7 │\n      \
             2 │                                        │ load the_value_that_is_shared = 1 :12\n      \
             3 │                                        │ lock table :13\n"
        );
    }

    #[test]
    fn a_table_is_as_narrow_as_the_terminal() {
        let text = written([None; 2], false, Some(60));
        // Numbers take 7 columns and each line between threads 3, so that two threads have 23 each.
        assert_eq!(
            text,
            "   step │ main                    │ main.1\n      \
             1 │ store 1 to              │\n        \
             │   the_value_that_is_sha │\n        \
             │   red :7                │\n      \
             2 │                         │ load\n        \
             │                         │   the_value_that_is_sha\n        \
             │                         │   red = 1 :12\n      \
             3 │                         │ lock table :13\n"
        );
        for width in [45, 50, 60, 70, 80, 83] {
            let text = written([None; 2], false, Some(width));
            assert!(
                text.lines().all(|line| line.width() <= width),
                "{width}\n{text}"
            );
        }
        assert_eq!(
            written([None; 2], false, Some(200)),
            written([None; 2], false, None)
        );
    }

    #[test]
    fn a_terminal_that_is_too_narrow_gets_a_list() {
        // Numbers and the line after them take 10 columns, so that steps have 32.
        assert_eq!(
            written([None; 2], false, Some(42)),
            "      1 │ main: store 1 to\n        \
             │   the_value_that_is_shared :7\n      \
             2 │ main.1: load\n        \
             │   the_value_that_is_shared = 1\n        \
             │   :12\n      \
             3 │ main.1: lock table :13\n"
        );
        for width in [26, 30, 40, 41] {
            let text = written([None; 2], false, Some(width));
            assert!(
                text.lines().all(|line| line.width() <= width),
                "{width}\n{text}"
            );
        }
    }

    #[test]
    fn in_a_list_the_thread_and_the_steps_of_the_reason_are_coloured() {
        let text = written([Some(1), None], true, Some(42));
        let lines: Vec<&str> = text.lines().take(2).collect();
        assert_eq!(
            lines,
            [
                "      1 │ \x1b[1;36mmain\x1b[0m: \x1b[1;33mstore 1 to\x1b[0m",
                "        │ \x1b[1;33m  the_value_that_is_shared :7\x1b[0m"
            ]
        );
    }

    #[test]
    fn the_steps_of_the_reason_are_coloured() {
        let text = written([Some(1), Some(2)], true, None);
        let coloured: Vec<&str> = text
            .split("\x1b[1;33m")
            .skip(1)
            .map(|rest| rest.split("\x1b[0m").next().unwrap())
            .collect();
        assert_eq!(
            coloured,
            [
                "store 1 to the_value_that_is_shared :7",
                "load the_value_that_is_shared = 1 :12"
            ]
        );
        assert!(!written([Some(1), Some(2)], false, None).contains('\x1b'));
    }

    #[test]
    fn narrow_columns_keep_their_width() {
        assert_eq!(fit(vec![10, 50], 60), Some(vec![10, 50]));
        assert_eq!(fit(vec![10, 50], 40), Some(vec![10, 30]));
        assert_eq!(fit(vec![50, 50, 20], 80), Some(vec![30, 30, 20]));
        assert_eq!(fit(vec![50, 50], 31), None);
    }
}
