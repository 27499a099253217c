//! The state of a run for monitors: a file in the text format of Prometheus, and the share of the time in tests.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

use raddle_queue::{ClassCount, SearchState, Status};

use crate::run::queue::front_end::{estimate, executions, is_sampled};
use crate::run::queue::{SearchName, WAITED, WORKED};

/// Returns the share of the time of workers that they spent in tests, of the parts that were committed.
pub fn utilisation(status: &Status) -> Option<f64> {
    let sum = |name: &str| {
        let sums = status.searches.values().map(|state| state.sums.get(name));
        sums.flatten().sum::<u64>() as f64
    };
    let (worked, waited) = (sum(WORKED), sum(WAITED));
    (worked + waited > 0.0).then(|| worked / (worked + waited))
}

/// Returns the state of a run in the text format of Prometheus. Without a run, only the gauge that says so.
pub fn text(status: Option<&Status>) -> String {
    let mut text = String::new();
    let mut family = |name: &str, kind: &str, help: &str, rows: Vec<(String, f64)>| {
        let _ = writeln!(text, "# HELP raddle_{name} {help}");
        let _ = writeln!(text, "# TYPE raddle_{name} {kind}");
        for (labels, value) in rows {
            let _ = writeln!(text, "raddle_{name}{labels} {value}");
        }
    };
    let one = |value: f64| vec![(String::new(), value)];
    let has_run = f64::from(u8::from(status.is_some()));
    family("run", "gauge", "1 while the queue has a run.", one(has_run));
    let Some(status) = status else {
        return text;
    };
    let state = |name: &str, value: u64| (format!("{{state=\"{name}\"}}"), value as f64);
    let parts = vec![state("ready", status.ready), state("leased", status.leased)];
    family(
        "parts",
        "gauge",
        "Parts that are left of all searches.",
        parts,
    );
    let workers = one(status.workers.len() as f64);
    family(
        "workers",
        "gauge",
        "Workers that have called lately.",
        workers,
    );
    let has_front = one(f64::from(u8::from(status.has_front)));
    family(
        "front_end",
        "gauge",
        "1 while a front end waits for the run.",
        has_front,
    );
    if let Some(share) = utilisation(status) {
        let help = "Share of the time of workers in tests, of committed parts.";
        family("utilisation_ratio", "gauge", help, one(share));
    }
    let of_searches = |value: &dyn Fn(&SearchState) -> f64| {
        let searches = status.searches.iter();
        let rows = searches.map(|(name, state)| (labels(name), value(state)));
        rows.collect::<Vec<_>>()
    };
    let count = |sum: u64| sum as f64;
    let rows = of_searches(&|state| count(executions(state)));
    family(
        "executions_total",
        "counter",
        "Executions of a search.",
        rows,
    );
    let rows = of_searches(&|state| match state.classes {
        _ if !is_sampled(state) => count(executions(state)),
        ClassCount::Exact(classes) | ClassCount::About(classes) => count(classes),
    });
    let help = "Classes that were run; an estimate beyond 65,536 classes of a sampler.";
    family("classes", "gauge", help, rows);
    let searches = status.searches.iter();
    let estimates = searches.filter_map(|(name, state)| Some((labels(name), estimate(state)?)));
    let rows = estimates.map(|(labels, estimate)| (labels, count(estimate.classes)));
    let help = "Estimated number of classes of an exhaustive search that goes on.";
    family("estimated_classes", "gauge", help, rows.collect());
    let rows = of_searches(&|state| count(state.left));
    family(
        "search_parts",
        "gauge",
        "Parts that are left of a search.",
        rows,
    );
    let rows = of_searches(&|state| state.findings.len() as f64);
    family("failures", "gauge", "Different failures of a search.", rows);
    let rows = of_searches(&|state| f64::from(u8::from(state.end.is_some())));
    family("search_ended", "gauge", "1 when a search has ended.", rows);
    text
}

/// Returns the label of a search.
fn labels(name: &str) -> String {
    let title = SearchName::of_text(name).map_or(name.to_owned(), |name| name.to_string());
    let escaped = title
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("{{search=\"{escaped}\"}}")
}

/// Replaces the file, so that a reader finds the old text or the new one.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(format!(".{}", std::process::id()));
    fs::write(&new, text)?;
    fs::rename(&new, path).inspect_err(|_| drop(fs::remove_file(&new)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_described_as_prometheus_reads_it() {
        let none = text(None);
        assert!(
            none.ends_with("# TYPE raddle_run gauge\nraddle_run 0\n"),
            "{none}"
        );
        let sums = [("executions", 12), (WORKED, 900), (WAITED, 100)];
        let sums = sums.map(|(name, sum)| (name.to_owned(), sum));
        let state = SearchState {
            left: 3,
            sums: sums.into(),
            findings: vec![(1, "x".to_owned())],
            facts: [("estimate".to_owned(), "20 15 30 5".to_owned())].into(),
            ..SearchState::default()
        };
        let status = Status {
            searches: [("suite\ta \"b\"\ta \"b\"\t1".to_owned(), state)].into(),
            ready: 2,
            leased: 1,
            workers: vec!["w".to_owned()],
            has_front: true,
        };
        let text = text(Some(&status));
        for line in [
            "raddle_run 1",
            "raddle_parts{state=\"ready\"} 2",
            "raddle_parts{state=\"leased\"} 1",
            "raddle_workers 1",
            "raddle_front_end 1",
            "raddle_utilisation_ratio 0.9",
            "raddle_executions_total{search=\"suite a \\\"b\\\"\"} 12",
            "raddle_classes{search=\"suite a \\\"b\\\"\"} 12",
            "raddle_estimated_classes{search=\"suite a \\\"b\\\"\"} 20",
            "raddle_search_parts{search=\"suite a \\\"b\\\"\"} 3",
            "raddle_failures{search=\"suite a \\\"b\\\"\"} 1",
            "raddle_search_ended{search=\"suite a \\\"b\\\"\"} 0",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n\n{text}");
        }
    }
}
