//! Progress of a check: one line on a terminal that is rewritten, or lines at growing intervals in
//! a log.
//!
//! It is written to stderr directly, because the test harness captures the output of tests.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use raddle_engine::{CheckName, Estimate};
use raddle_report::event::Progress;
use raddle_report::{grouped, rounded};

use crate::persist::events;
use crate::runtime::sampled_clock::Clock;
use crate::settings::checker::Checker;
use crate::settings::log::Log;

/// Running time before the first progress line.
const PATIENCE: Duration = Duration::from_secs(1);
/// Interval between updates of the line on a terminal.
const REFRESH: Duration = Duration::from_millis(200);
/// Maximum interval between lines in a log.
const RAREST: Duration = Duration::from_secs(60);

/// True while one check owns the terminal's line, which has room for one.
static LINE_IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// True when the progress of a check is shown or sent.
pub(crate) fn is_wanted(checker: &Checker) -> bool {
    events::are_wanted() || is_read(checker)
}

/// True when the progress of a check is shown.
fn is_read(checker: &Checker) -> bool {
    match checker.log {
        Log::OnTerminal => checker.program.is_on_terminal(),
        Log::Progress => true,
        Log::Off => false,
    }
}

/// Reports the progress of a check.
pub(crate) struct Status {
    name: String,
    /// True when progress is shown.
    is_read: bool,
    /// The name in progress events for other programs, if these are sent.
    check: Option<CheckName>,
    /// Time of the next text.
    next_text: Instant,
    on_terminal: bool,
    /// True when this check owns the terminal's line.
    has_line: bool,
    interval: Duration,
    next: Instant,
    clock: Clock,
    /// Time and executions at the beginning of the phase.
    began: Instant,
    before: u64,
}

/// The figures of one progress report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    /// The phase.
    pub(crate) name: &'static str,
    /// Executions so far.
    pub(crate) done: u64,
    pub(crate) estimate: Option<Estimate>,
    /// Latest end of the phase.
    pub(crate) until: Option<Instant>,
}

impl Status {
    /// Returns `None` if progress is neither shown nor sent.
    pub(crate) fn new(checker: &Checker, name: Option<&CheckName>, start: Instant) -> Option<Self> {
        let check = name.filter(|_| events::are_wanted()).cloned();
        let first = if check.is_some() { REFRESH } else { PATIENCE };
        is_wanted(checker).then(|| Status {
            name: name.map_or_else(String::new, |name| format!("{}: ", name.test)),
            is_read: is_read(checker),
            check,
            on_terminal: checker.program.is_on_terminal(),
            has_line: false,
            interval: PATIENCE,
            next: start + first,
            next_text: start + PATIENCE,
            clock: Clock::new(),
            began: start,
            before: 0,
        })
    }

    /// Begins a phase after `done` executions.
    pub(crate) fn begin(&mut self, done: u64) {
        self.began = Instant::now();
        self.before = done;
    }

    /// True when the next report is due.
    #[inline]
    pub(crate) fn is_due(&mut self) -> bool {
        self.clock.is_past(Some(self.next))
    }

    /// Shows and sends a progress report.
    #[cold]
    pub(crate) fn report(&mut self, numbers: Numbers) {
        let now = Instant::now();
        let spent = now.saturating_duration_since(self.began).as_secs_f64();
        let rate = (spent > 0.0).then(|| numbers.done.saturating_sub(self.before) as f64 / spent);
        let rate = rate.filter(|&rate| rate > 0.0);
        if let Some(check) = &self.check {
            let left = rate.and_then(|rate| left(numbers, rate, now));
            let progress = Progress {
                phase: numbers.name,
                executions: numbers.done,
                estimate: numbers.estimate.map(Into::into),
                per_second: rate,
                seconds_left: left.map(|left| left.time.as_secs_f64()),
                text: text(numbers, rate, now),
            };
            events::progress(check, progress);
        }
        if self.is_read && now >= self.next_text {
            self.show_text(&text(numbers, rate, now), now);
        }
        self.next = match self.check {
            Some(_) => now + REFRESH,
            None => self.next_text,
        };
    }

    fn show_text(&mut self, text: &str, now: Instant) {
        if self.on_terminal {
            self.has_line = self.has_line || !LINE_IS_TAKEN.swap(true, Relaxed);
            self.next_text = now + REFRESH;
            if self.has_line {
                write(&format!("\r\x1b[2Kraddle: {}{text}", self.name));
            }
        } else {
            self.interval = (self.interval * 2).min(RAREST);
            self.next_text = now + self.interval;
            write(&format!("raddle: {}{text}\n", self.name));
        }
    }
}

impl Drop for Status {
    fn drop(&mut self) {
        if self.has_line {
            write("\r\x1b[2K");
            LINE_IS_TAKEN.store(false, Relaxed);
        }
    }
}

/// Writes to stderr; an error does not affect the check.
fn write(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
}

fn text(numbers: Numbers, rate: Option<f64>, now: Instant) -> String {
    let Numbers {
        name,
        done,
        estimate,
        ..
    } = numbers;
    let mut text = match (name, estimate) {
        ("exhaustive", Some(estimate)) => {
            let all = raddle_report::Estimate::from(estimate).of_all(done);
            format!("{} classes{all}", grouped(done))
        }
        ("exhaustive", None) => format!("{} classes", grouped(done)),
        (name, _) => format!("{} executions ({name})", grouped(done)),
    };
    let Some(rate) = rate else { return text };
    text += &format!(", {} a second", grouped(rounded(rate as u64)));
    if let Some(Left { time, at_most }) = left(numbers, rate, now) {
        let at_most = if at_most { " at most" } else { "" };
        text += &format!(", {} left{at_most}", long(time));
    }
    text
}

/// The remaining time of a phase.
struct Left {
    time: Duration,
    at_most: bool,
}

fn left(numbers: Numbers, rate: f64, now: Instant) -> Option<Left> {
    let latest = numbers
        .until
        .map(|until| until.saturating_duration_since(now));
    let estimate = numbers.estimate.filter(|_| numbers.name == "exhaustive");
    // Once the estimated number was run, the rest is unknown.
    let estimate = estimate.filter(|estimate| {
        estimate.classes > numbers.done && raddle_report::Estimate::from(*estimate).is_known()
    });
    let rest = estimate.map(|estimate| {
        let seconds = estimate.classes.saturating_sub(numbers.done) as f64 / rate;
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    });
    let rest = rest.filter(|&rest| latest.is_none_or(|latest| rest <= latest));
    let at_most = rest.is_none();
    let time = rest.or(latest)?;
    Some(Left { time, at_most })
}

fn long(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ ..7_200 => format!("{} min", seconds / 60),
        seconds @ ..172_800 => format!("{} h", seconds / 3_600),
        seconds @ ..63_072_000 => format!("{} days", seconds / 86_400),
        _ => "years".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(name: &'static str, classes: Option<u64>, rate: f64, latest: Option<u64>) -> String {
        let now = Instant::now();
        let estimate = classes.map(|classes| Estimate {
            classes,
            low: classes,
            high: classes,
            runs: classes,
            branches: classes,
            tried: 0,
            samples: 0,
            is_rough: false,
        });
        let numbers = Numbers {
            name,
            done: 12_345,
            estimate,
            until: latest.map(|seconds| now + Duration::from_secs(seconds)),
        };
        text(numbers, Some(rate), now)
    }

    #[test]
    fn what_is_said() {
        assert_eq!(
            shown("exhaustive", Some(61_716), 1_234.0, None),
            "12,345 classes of 61,716, 1,200 a second, 40 s left"
        );
        assert_eq!(
            shown("exhaustive", Some(61_716), 1_234.0, Some(9)),
            "12,345 classes of 61,716, 1,200 a second, 9 s left at most"
        );
        assert_eq!(
            shown("exhaustive", Some(u64::MAX), 10.0, None),
            "12,345 classes of more than can be estimated, 10 a second"
        );
        assert_eq!(
            shown("exhaustive", Some(12_000), 10.0, None),
            "12,345 classes, 10 a second",
            "more than was thought"
        );
        assert_eq!(
            shown("exhaustive", None, 900.0, None),
            "12,345 classes, 900 a second"
        );
        assert_eq!(
            shown("random", Some(61_716), 900.0, Some(300)),
            "12,345 executions (random), 900 a second, 5 min left at most"
        );
    }

    #[test]
    fn times_are_told_in_a_unit_that_fits() {
        let words = |seconds| long(Duration::from_secs(seconds));
        assert_eq!(
            [0, 119, 120, 7_199].map(words),
            ["0 s", "119 s", "2 min", "119 min"]
        );
        assert_eq!([7_200, 172_800].map(words), ["2 h", "2 days"]);
        assert_eq!(words(u64::MAX), "years");
    }
}
