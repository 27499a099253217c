//! Human-readable progress: a line for each finished test, the text of failures, and a summary. On a terminal
//! there is also a line for each running test.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use console::style;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use raddle_report::Layout;
use serde_json::Value;

use crate::output;
use crate::run::outcome::{TestOutcome, TestVerdict};
use crate::run::reached::UnreachedState;

/// Time after which a running test is mentioned first without a terminal, and maximum interval;
/// intervals double.
const FIRST_INTERVAL: Duration = Duration::from_secs(2);
const MAX_INTERVAL: Duration = Duration::from_secs(60);

/// Indentation of stories below the line of their test.
const INDENT: &str = "      ";

/// Names longer than this do not widen the column of names.
const MAX_WIDTH: usize = 60;

/// Displayed name of a test.
#[derive(Clone, Copy)]
pub struct TestName<'a> {
    pub binary: &'a str,
    pub test: &'a str,
}

impl TestName<'_> {
    /// Returns the number of characters on a line.
    fn width(&self) -> usize {
        self.binary.chars().count() + 1 + self.test.chars().count()
    }
}

/// Displays the progress of all tests.
pub struct Progress {
    bars: MultiProgress,
    total: ProgressBar,
    running: HashMap<usize, RunningTest>,
    on_terminal: bool,
    is_quiet: bool,
    failed: usize,
    /// Width of the column of names.
    width: usize,
}

struct RunningTest {
    bar: ProgressBar,
    /// Earliest time of the next line without a terminal.
    next: Instant,
    interval: Duration,
}

impl Progress {
    /// Creates the display for tests with these names. Prints nothing if it is quiet.
    pub fn new<'a>(names: impl ExactSizeIterator<Item = TestName<'a>>, is_quiet: bool) -> Self {
        let tests = names.len();
        let width = names.map(|name| name.width()).max().unwrap_or(0);
        let width = width.min(MAX_WIDTH);
        let on_terminal = console::user_attended_stderr() && !is_quiet;
        let target = match on_terminal {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bars = MultiProgress::with_draw_target(target);
        let total = bars.add(ProgressBar::new(tests as u64));
        total.set_style(plain("{bar:24} {pos} of {len} tests{msg}, {elapsed}"));
        Progress {
            bars,
            total,
            running: HashMap::new(),
            on_terminal,
            is_quiet,
            failed: 0,
            width,
        }
    }

    pub fn started(&mut self, index: usize, name: TestName<'_>) {
        let bar = self
            .bars
            .insert_before(&self.total, ProgressBar::new_spinner());
        bar.set_style(plain("  {spinner} {prefix} {wide_msg}"));
        bar.set_prefix(format!("{} {}", name.binary, name.test));
        bar.enable_steady_tick(Duration::from_millis(120));
        let running = RunningTest {
            bar,
            next: Instant::now() + FIRST_INTERVAL,
            interval: FIRST_INTERVAL,
        };
        self.running.insert(index, running);
    }

    pub fn advanced(&mut self, index: usize, name: TestName<'_>, event: &Value) {
        let Some(running) = self.running.get_mut(&index) else {
            return;
        };
        let text = event["text"].as_str().unwrap_or_default();
        running.bar.set_message(text.to_owned());
        let now = Instant::now();
        if !self.on_terminal && !self.is_quiet && now >= running.next {
            running.interval = (running.interval * 2).min(MAX_INTERVAL);
            running.next = now + running.interval;
            eprintln!("   ... {} {}: {text}", name.binary, name.test);
        }
    }

    /// Prints the headline of a failure that a worker of the queue has found.
    pub fn found(&self, name: TestName<'_>, event: &Value) {
        let text = event["headline"].as_str().unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        if !self.is_quiet {
            let print = || eprintln!("   ... {} {}: found {line}", name.binary, name.test);
            self.bars.suspend(print);
        }
    }

    pub fn finished(&mut self, index: usize, name: TestName<'_>, outcome: &TestOutcome) {
        if let Some(running) = self.running.remove(&index) {
            running.bar.finish_and_clear();
            self.bars.remove(&running.bar);
        }
        self.failed += usize::from(outcome.verdict == TestVerdict::Failed);
        if self.failed > 0 {
            self.total.set_message(format!(", {} failed", self.failed));
        }
        self.total.inc(1);
        if !self.is_quiet {
            let text = description(
                name,
                outcome,
                self.width,
                output::story_layout(INDENT.len()),
            );
            self.bars.suspend(|| print!("{text}"));
        }
    }

    /// Removes the progress bars.
    pub fn close(self) {
        self.total.finish_and_clear();
    }
}

fn plain(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is valid")
}

/// Returns the line and the findings of a finished test.
fn description(name: TestName<'_>, outcome: &TestOutcome, width: usize, layout: Layout) -> String {
    let word = match outcome.verdict {
        TestVerdict::Passed if outcome.warnings.is_empty() => style("  ok").green(),
        TestVerdict::Passed => style("warn").yellow(),
        TestVerdict::Failed => style("FAIL").red().bold(),
        TestVerdict::Interrupted => style("stop").yellow(),
        TestVerdict::TooLong => style("long").yellow(),
        TestVerdict::Broke => style("  !!").red().bold(),
        TestVerdict::NotRun => style("    "),
        TestVerdict::Unchanged => style("  --").dim(),
    };
    let full = format!("{} {}", name.binary, name.test);
    let mut text = format!("{word}  {full:width$}  {}\n", outcome.brief());
    for warning in &outcome.warnings {
        text += &indented(&format!("warning: {}", warning.shown(layout)));
    }
    for failure in &outcome.failures {
        text += &indented(&failure.shown(layout));
    }
    let is_silent = outcome.failures.is_empty() && !outcome.output.trim().is_empty();
    if matches!(outcome.verdict, TestVerdict::Failed | TestVerdict::Broke) && is_silent {
        text += &indented(&outcome.output);
    }
    for branches in &outcome.branches {
        text += &indented(branches);
    }
    if let Some(command) = outcome.resume.as_ref() {
        text += &indented(&format!("to resume: {command}"));
    }
    text
}

fn indented(text: &str) -> String {
    let mut indented = String::from("\n");
    for line in text.trim_end().lines() {
        let line = format!("{INDENT}{line}");
        indented += line.trim_end();
        indented.push('\n');
    }
    indented + "\n"
}

/// Returns lines about the states that no test has reached; empty if there are none.
pub fn unreached(states: &[UnreachedState]) -> String {
    if states.is_empty() {
        return String::new();
    }
    let line = |state: &UnreachedState| {
        let why = match state.was_false {
            true => "its condition was never true",
            false => "no execution came here",
        };
        format!("  {}: {} ({why})\n", state.place, state.name)
    };
    let lines: String = states.iter().map(line).collect();
    format!("\nreached by none of these tests:\n{lines}")
}

/// Returns the last line: the number of tests with each verdict.
pub fn summary(outcomes: &[TestOutcome], time: Duration) -> String {
    let count = |verdict| outcomes.iter().filter(|one| one.verdict == verdict).count();
    let mut parts = vec![
        format!("{} passed", count(TestVerdict::Passed)),
        format!("{} failed", count(TestVerdict::Failed)),
    ];
    for (verdict, word) in [
        (TestVerdict::TooLong, "too long"),
        (TestVerdict::Broke, "broke"),
        (TestVerdict::Interrupted, "interrupted"),
        (TestVerdict::NotRun, "not run"),
        (TestVerdict::Unchanged, "unchanged and not run"),
    ] {
        let number = count(verdict);
        if number > 0 {
            parts.push(format!("{number} {word}"));
        }
    }
    format!("{} ({:.1} s)", parts.join(", "), time.as_secs_f64())
}
