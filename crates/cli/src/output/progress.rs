//! What people see while tests run and after: a line for each test, the stories of those that fail,
//! and a count at the end. On a terminal there is also a line for each test that runs.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use console::style;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;

use crate::run::outcome::{Outcome, Verdict};

/// Where there is no terminal, the first line on a running test comes after this long, and the next
/// ones at growing intervals.
const FIRST: Duration = Duration::from_secs(2);
const RAREST: Duration = Duration::from_secs(60);

/// A name as people see it.
pub struct Name<'a> {
    pub binary: &'a str,
    pub test: &'a str,
}

/// Shows how far tests are.
pub struct Show {
    bars: MultiProgress,
    total: ProgressBar,
    running: HashMap<usize, Running>,
    on_terminal: bool,
    is_quiet: bool,
    failed: usize,
    width: usize,
}

struct Running {
    bar: ProgressBar,
    next: Instant,
    interval: Duration,
}

impl Show {
    /// For so many tests, whose names have so many characters at most. A quiet one says nothing but
    /// what goes wrong with the command itself.
    pub fn new(tests: usize, width: usize, is_quiet: bool) -> Self {
        let on_terminal = console::user_attended_stderr() && !is_quiet;
        let target = match on_terminal {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bars = MultiProgress::with_draw_target(target);
        let total = bars.add(ProgressBar::new(tests as u64));
        total.set_style(plain("{bar:24} {pos} of {len} tests{msg}, {elapsed}"));
        Show {
            bars,
            total,
            running: HashMap::new(),
            on_terminal,
            is_quiet,
            failed: 0,
            width,
        }
    }

    pub fn begins(&mut self, index: usize, name: &Name<'_>) {
        let bar = self
            .bars
            .insert_before(&self.total, ProgressBar::new_spinner());
        bar.set_style(plain("  {spinner} {prefix} {wide_msg}"));
        bar.set_prefix(format!("{} {}", name.binary, name.test));
        bar.enable_steady_tick(Duration::from_millis(120));
        let running = Running {
            bar,
            next: Instant::now() + FIRST,
            interval: FIRST,
        };
        self.running.insert(index, running);
    }

    pub fn progress(&mut self, index: usize, name: &Name<'_>, event: &Value) {
        let Some(running) = self.running.get_mut(&index) else {
            return;
        };
        let text = event["text"].as_str().unwrap_or_default();
        running.bar.set_message(text.to_owned());
        let now = Instant::now();
        if !self.on_terminal && !self.is_quiet && now >= running.next {
            running.interval = (running.interval * 2).min(RAREST);
            running.next = now + running.interval;
            eprintln!("   ... {} {}: {text}", name.binary, name.test);
        }
    }

    pub fn ends(&mut self, index: usize, name: &Name<'_>, outcome: &Outcome) {
        if let Some(running) = self.running.remove(&index) {
            running.bar.finish_and_clear();
            self.bars.remove(&running.bar);
        }
        self.failed += usize::from(outcome.verdict == Verdict::Failed);
        if self.failed > 0 {
            self.total.set_message(format!(", {} failed", self.failed));
        }
        self.total.inc(1);
        if !self.is_quiet {
            let text = told(name, outcome, self.width);
            self.bars.suspend(|| print!("{text}"));
        }
    }

    /// All tests are over.
    pub fn close(self) {
        self.total.finish_and_clear();
    }
}

fn plain(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is right")
}

/// What there is to say about a test that is over.
fn told(name: &Name<'_>, outcome: &Outcome, width: usize) -> String {
    let word = match outcome.verdict {
        Verdict::Passed if outcome.warnings.is_empty() => style("  ok").green(),
        Verdict::Passed => style("warn").yellow(),
        Verdict::Failed => style("FAIL").red().bold(),
        Verdict::Interrupted => style("stop").yellow(),
        Verdict::TooLong => style("long").yellow(),
        Verdict::Broke => style("  !!").red().bold(),
        Verdict::NotRun => style("    "),
    };
    let full = format!("{} {}", name.binary, name.test);
    let mut text = format!("{word}  {full:width$}  {}\n", brief(outcome));
    for warning in &outcome.warnings {
        text += &indented(&format!("warning: {}", warning.story));
    }
    for failure in &outcome.failures {
        text += &indented(&failure.story);
    }
    let is_silent = outcome.failures.is_empty() && !outcome.output.trim().is_empty();
    if matches!(outcome.verdict, Verdict::Failed | Verdict::Broke) && is_silent {
        text += &indented(&outcome.output);
    }
    if let Some(command) = outcome.resume.as_ref() {
        text += &indented(&format!("to go on: {command}"));
    }
    text
}

/// In one line.
fn brief(outcome: &Outcome) -> String {
    if let Some(ending) = &outcome.ending {
        return ending.clone();
    }
    match (outcome.verdict, outcome.failures.first()) {
        (_, Some(failure)) => failure.headline().to_owned(),
        (Verdict::Failed, None) => "failed".to_owned(),
        (Verdict::Interrupted, None) if outcome.summary.is_none() => "interrupted".to_owned(),
        _ => match (&outcome.summary, outcome.checks) {
            (Some(summary), 1) => summary.clone(),
            (Some(summary), checks) => format!("{checks} checks, the last: {summary}"),
            (None, _) => "no check in it".to_owned(),
        },
    }
}

fn indented(text: &str) -> String {
    let mut indented = String::from("\n");
    for line in text.trim_end().lines() {
        let line = format!("      {line}");
        indented += line.trim_end();
        indented.push('\n');
    }
    indented + "\n"
}

/// The last line: what came of all tests.
pub fn summary(outcomes: &[Outcome], time: Duration) -> String {
    let count = |verdict| outcomes.iter().filter(|one| one.verdict == verdict).count();
    let mut parts = vec![
        format!("{} passed", count(Verdict::Passed)),
        format!("{} failed", count(Verdict::Failed)),
    ];
    for (verdict, word) in [
        (Verdict::TooLong, "too long"),
        (Verdict::Broke, "broke"),
        (Verdict::Interrupted, "interrupted"),
        (Verdict::NotRun, "not run"),
    ] {
        let number = count(verdict);
        if number > 0 {
            parts.push(format!("{number} {word}"));
        }
    }
    format!("{} ({:.1} s)", parts.join(", "), time.as_secs_f64())
}
