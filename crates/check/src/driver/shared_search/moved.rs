//! Searches that move between a queue and the checkpoint of one process.

use raddle_engine::{CutCounts, Schedule, Tally};
use raddle_report::exchange::{FoundFailure, PartResults};

use crate::driver::known_schedules;
use crate::driver::shared_search::results::{
    CUT_SHORT, DISCARDED, EXECUTIONS, LEFT_POLLING, OUT_OF_TIME, RUNS, TOO_LONG, reach_facts,
};
use crate::driver::work_pool::EndReason;
use crate::driver::worker::{CountedElsewhere, Worker};
use crate::driver::workers::Job;
use crate::persist::checkpoint::{Part, Resumed, Saving};
use crate::runtime::Places;

/// Number of parts that a search begins with: workers split those that are large.
const PARTS: usize = 8;

/// Returns the search of a checkpoint, if there is one.
#[track_caller]
pub(super) fn load(saving: &mut Saving, places: &Places) -> Option<PartResults> {
    let Resumed { saved, .. } = saving.load(places)?;
    let sums = [
        (RUNS, saved.runs),
        (EXECUTIONS, saved.executions),
        (DISCARDED, saved.discarded),
        (TOO_LONG, saved.cuts.too_long),
        (LEFT_POLLING, saved.cuts.left_polling),
        (OUT_OF_TIME, saved.cuts.out_of_time),
    ];
    let failure = |(execution, token): &(u64, String)| FoundFailure {
        execution: *execution,
        schedule: token.clone(),
        pair: String::new(),
        search: "exhaustive".to_owned(),
        // Known only after a replay. The same failure may be found again under its own headline, and counts once then.
        headline: format!("a failure of an earlier run, {token}"),
    };
    let mut parts = vec![String::new(); PARTS];
    for (number, item) in saved.items.iter().enumerate() {
        parts[number % PARTS] += item;
    }
    parts.retain(|part| !part.is_empty());
    let facts = saved.cut_short.then_some(CUT_SHORT).into_iter();
    let facts = facts.chain(reach_facts(saved.reach));
    Some(PartResults {
        sums: sums.map(|(name, sum)| (name.to_owned(), sum)).into(),
        facts: facts.map(|fact| (fact.to_owned(), String::new())).collect(),
        failures: saved.failures.iter().map(failure).collect(),
        items: parts,
        ..PartResults::default()
    })
}

/// Writes a search to its checkpoint.
///
/// # Panics
///
/// If the checkpoint cannot be written: the search must not be removed from the queue then.
pub(super) fn keep<'a>(
    worker: &mut Worker<'a, '_>,
    job: Job<'a>,
    saving: Option<&Saving>,
    results: PartResults,
) -> (bool, Option<EndReason>) {
    let sum = |name: &str| results.sums.get(name).copied().unwrap_or(0);
    let cuts = CutCounts {
        too_long: sum(TOO_LONG),
        left_polling: sum(LEFT_POLLING),
        out_of_time: sum(OUT_OF_TIME),
    };
    let (runs, executions, discarded) = (sum(RUNS), sum(EXECUTIONS), sum(DISCARDED));
    let cut_short = results.facts.contains_key(CUT_SHORT);
    let failures = results.failures.iter();
    let part = Part {
        runs,
        executions,
        discarded,
        cut_short,
        cuts,
        failures: failures
            .map(|it| (it.execution, it.schedule.clone()))
            .collect(),
        // In the file, too, items follow each other.
        items: results.items,
        ..Part::default()
    };
    let Some(saving) = saving.filter(|saving| saving.save(vec![part])) else {
        panic!("raddle: the search of the queue cannot be kept as a checkpoint")
    };
    worker.context.with_exploration(|exploration| {
        exploration.absorb(Tally::new(runs, executions, discarded, cut_short, cuts));
    });
    worker.counted_elsewhere = Some(CountedElsewhere {
        classes: executions,
        is_estimated: false,
    });
    for found in &results.failures {
        if found.schedule.parse::<Schedule>().is_ok() {
            let (failures, _) = known_schedules::found_again(job, &found.schedule);
            worker.add_known(failures);
        }
    }
    worker.report.resume = Some(saving.command());
    (false, Some(EndReason::Budget))
}
