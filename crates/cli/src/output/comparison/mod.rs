//! What a run with `--since` prints about the earlier version.

pub mod page;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::output::plural::counted;
use crate::output::reporter::ResultFormat;
use crate::run::since::news::News;
use crate::run::since::record::{Goal, TestRecord};
use crate::run::since::{Conclusion, Since, short};
use crate::toolchain::binaries::{Test, TestBinary};

/// Maximum number of requirements of each kind that are listed for a test; the rest is counted.
const MAX_LISTED: usize = 10;

/// Returns what the run is compared with.
pub fn beginning(since: &Since) -> String {
    let revision = &since.revision;
    match &since.base {
        None => format!(
            "nothing is known of `{revision}` or the versions before it: all tests run as usual"
        ),
        Some(base) if base.commit == since.commit => {
            format!(
                "compared with {}, which is `{revision}`",
                short(&base.commit)
            )
        }
        Some(base) => format!(
            "nothing is known of `{revision}`; compared with {}, the last version before it that is",
            short(&base.commit)
        ),
    }
}

/// Returns why a test is not run.
pub fn reason(base: &str, record: &TestRecord) -> String {
    let TestRecord {
        ran_at, summary, ..
    } = record;
    let base = short(base);
    format!(
        "unchanged since {base}: not run; result at {}: {summary}",
        short(ran_at)
    )
}

/// Prints what is new, and whether the run is recorded.
pub fn print(
    conclusion: &Conclusion,
    since: &Since,
    binaries: &[TestBinary],
    tests: &[Test],
    format: ResultFormat,
) {
    let name = |index: usize| (&*binaries[tests[index].binary].name, &*tests[index].name);
    let news = conclusion.news.iter().filter(|(_, news)| !news.is_empty());
    match format {
        ResultFormat::Human => {
            for (index, news) in news {
                let (binary, test) = name(*index);
                print!("\n{}", text(&format!("{binary} {test}"), news));
            }
        }
        ResultFormat::JsonLines => {
            for (index, news) in news {
                println!("{}", event(name(*index), news));
            }
        }
        ResultFormat::Diagnostics => {}
    }
    match &conclusion.recorded {
        _ if format != ResultFormat::Human => {}
        Ok(Some(version)) => eprintln!("recorded as {}", short(version)),
        Ok(None) => eprintln!(
            "not recorded as a version: the working tree has changes that are not committed"
        ),
        Err(problem) => eprintln!("warning: not recorded as a version: {problem}"),
    }
    if since.base.is_none() && format == ResultFormat::Human {
        eprintln!("help: `cargo raddle test --since HEAD` records a version that is checked out");
    }
}

/// Returns how the requirements of a test differ, in one line.
fn summary(news: &News) -> String {
    let News {
        covered,
        open,
        not_again,
        gone,
    } = news;
    let mut parts = Vec::new();
    if !covered.is_empty() || !open.is_empty() {
        let all = counted(covered.len() + open.len(), "requirement", "requirements");
        parts.push(format!("{all} new, {} of them covered", covered.len()));
    }
    if !not_again.is_empty() {
        parts.push(format!(
            "{} covered before and not in this run",
            not_again.len()
        ));
    }
    if !gone.is_empty() {
        parts.push(format!("{} gone", gone.len()));
    }
    parts.join("; ")
}

/// Returns what is new in a test.
fn text(name: &str, news: &News) -> String {
    let mut text = format!("{name}: {}\n", summary(news));
    for (kind, goals) in [
        ("new, not covered yet", &news.open),
        ("not covered in this run", &news.not_again),
        ("gone", &news.gone),
    ] {
        for goal in goals.iter().take(MAX_LISTED) {
            text += &format!("  {kind}: {}\n", in_words(goal));
        }
        if let Some(more) = goals.len().checked_sub(MAX_LISTED + 1) {
            text += &format!("  {kind}: {} more\n", more + 1);
        }
    }
    text
}

fn in_words(goal: &Goal) -> String {
    match &goal.second {
        Some(second) => format!("{} {} -> {second}", goal.metric, goal.first),
        None => format!("{} {}", goal.metric, goal.first),
    }
}

fn event((binary, test): (&str, &str), news: &News) -> Value {
    let list = |goals: &BTreeSet<Goal>| goals.iter().map(in_words).collect::<Vec<_>>();
    json!({
        "event": "news",
        "binary": binary,
        "test": test,
        "covered": list(&news.covered),
        "open": list(&news.open),
        "not_again": list(&news.not_again),
        "gone": list(&news.gone),
    })
}
