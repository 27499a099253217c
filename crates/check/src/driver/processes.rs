//! Workers that are processes. A program identified by its addresses has one memory, which holds
//! only one execution at a time.
//!
//! One process runs the search until it has branches to share, then it forks. Each child runs a
//! part of the remaining search, writes its counts and findings to a pipe, and ends. The parent
//! replays a child's finding in order to report it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::str::FromStr;

use raddle_engine::Exploration;
use raddle_engine::frontier::Item;
use raddle_report::{CriticalPair, Failure};

use crate::driver::known_schedules;
use crate::driver::pairs;
use crate::driver::phases::{self, Budget, Phase};
use crate::driver::worker::{self, Worker};
use crate::driver::workers::Job;
use crate::persist::checkpoint::{Part, Saved};
use crate::persist::events;
use crate::program::Library;
use crate::runtime::Places;
use crate::runtime::watchdog;
use crate::settings::options::Strategy;

/// Executions per worker before the search is shared.
const ALONE: u64 = 64;

/// True when processes can split the rest of the phase: all of it is in the search, and no
/// execution is compared with those of other workers.
pub(crate) fn can_share(worker: &Worker<'_, '_>) -> bool {
    let compares = |exploration: &mut Exploration| exploration.compares_classes();
    worker.checker.strategy == Strategy::Exhaustive && !worker.context.with_exploration(compares)
}

/// Runs an exhaustive phase; returns true if the whole check is over.
pub(crate) fn explore<'a>(worker: &mut Worker<'a, '_>, job: Job<'a>, phase: &Phase) -> bool {
    let size = job.checker.workers.get();
    let run = |worker: &mut Worker<'a, '_>, budget: &Budget| {
        worker.explore(job.body, job.place, budget, phase.name)
    };
    let alone = runs(worker).saturating_add(ALONE * size as u64);
    let first = Budget {
        executions: phase.budget.executions.min(alone),
        ..phase.budget
    };
    if run(worker, &first) {
        return true;
    }
    let items = worker.context.with_exploration(|exploration| {
        let search = exploration.world().exhaustive();
        search.map(|search| search.give_all()).unwrap_or_default()
    });
    let left = phase.budget.executions.saturating_sub(runs(worker));
    let mut parts: Vec<Vec<Item>> = (0..size.min(items.len())).map(|_| Vec::new()).collect();
    for (number, item) in items.into_iter().enumerate() {
        parts[number % size].push(item);
    }
    let share = Budget {
        executions: match phase.budget.executions {
            u64::MAX => u64::MAX,
            _ => left / size as u64,
        },
        ..phase.budget
    };
    if parts.len() < 2 || share.executions == 0 {
        parts.into_iter().for_each(|part| worker.take_over(part));
        return run(worker, &phase.budget);
    }
    let mut children: Vec<Child> = Vec::new();
    for part in parts {
        children.push(start(worker, job, part, &share, phase));
    }
    gather(worker, job, children) || run(worker, &phase.budget)
}

/// Returns the number of runs so far.
fn runs(worker: &Worker<'_, '_>) -> u64 {
    let all = |exploration: &mut Exploration| exploration.runs();
    worker.context.with_exploration(all)
}

/// A process that runs a part of the search.
struct Child {
    process: libc::pid_t,
    results: OwnedFd,
    /// The part it was given, which returns to the search if the child dies.
    part: Vec<Item>,
}

/// Forks a child. Does not return in the child.
fn start(
    worker: &Worker<'_, '_>,
    job: Job<'_>,
    part: Vec<Item>,
    budget: &Budget,
    phase: &Phase,
) -> Child {
    let mut ends = [0; 2];
    // SAFETY: `pipe2` writes two descriptors, and the array has two; `OwnedFd` needs a sole owner,
    // which is this function.
    let [results, to] = unsafe {
        let error = libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC);
        assert!(error == 0, "raddle: no pipe for a worker");
        ends.map(|end| OwnedFd::from_raw_fd(end))
    };
    // SAFETY: the child has only this thread and needs no other: programs under test have no OS
    // threads of their own, and the child starts its own watchdog.
    let process = watchdog::hold_while(|| unsafe { libc::fork() });
    assert!(process >= 0, "raddle: no process for a worker");
    if process > 0 {
        return Child {
            process,
            results,
            part,
        };
    }
    drop(results);
    // SAFETY: `prctl` with this option takes no pointers; it makes the child end with its parent.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    watchdog::begin_anew();
    let text = help(worker, job, part, budget, phase);
    let sent = File::from(to).write_all(text.as_bytes());
    // SAFETY: the child has sent its results and owns nothing that must be dropped.
    unsafe { libc::_exit(i32::from(sent.is_err())) }
}

/// Runs a part of the search in the child and returns its results.
fn help(
    worker: &Worker<'_, '_>,
    job: Job<'_>,
    part: Vec<Item>,
    budget: &Budget,
    phase: &Phase,
) -> String {
    let checker = job.checker;
    let search = match phase.preemptions {
        Some(preemptions) => phases::exhaustive(checker).bounded(preemptions).idle(),
        None => phases::exhaustive(checker).idle(),
    };
    let exploration = Exploration::new(search, checker.limits());
    let context = checker.context(exploration, job.fatal.clone());
    let places = worker.context.places();
    context.share_places(&places);
    let mut helper = Worker::new(checker, context, job.fatal, job.deadline);
    helper.take_over(part);
    let watch = watchdog::watch(&helper.context, checker.watchdog, job.deadline);
    helper.explore(job.body, job.place, budget, phase.name);
    drop(watch);
    let report = &helper.report;
    let part = helper.context.with_exploration(|exploration| {
        let counted = exploration.counted();
        let search = exploration.world().exhaustive();
        let (left, reach) = match search {
            Some(search) => (search.give_all(), search.reach()),
            None => Default::default(),
        };
        let items = left.iter();
        let items = items.map(|item| item.to_text(|site| places.to_text(site)));
        Part {
            reach,
            items: items.collect(),
            ..worker::part(&counted, report)
        }
    });
    let saved = Saved {
        runs: part.runs,
        executions: part.executions,
        discarded: part.discarded,
        cut_short: part.cut_short,
        cuts: part.cuts,
        reach: part.reach,
        failures: part.failures,
        items: part.items,
        ..Saved::default()
    };
    let warnings = report.warnings.iter();
    let warnings = warnings.map(|it| format!("{WARNING} {}\n", it.schedule.to_token()));
    let whys = report.failures.iter().map(|failure| {
        let pair = failure.critical.as_ref();
        format!("{WHY} {}\n", pair.map(pairs::to_text).unwrap_or_default())
    });
    warnings.chain(whys).collect::<String>() + &saved.to_string()
}

/// Prefixes of lines: the schedule of a warning, and the critical pair of a failure in order.
const WARNING: &str = "warning";
const WHY: &str = "why";

/// The results of a child.
struct ChildResults {
    saved: Saved,
    warnings: Vec<String>,
    pairs: Vec<Option<CriticalPair>>,
}

impl FromStr for ChildResults {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut warnings, mut pairs, mut rest) = (Vec::new(), Vec::new(), text);
        while let Some((line, after)) = rest.split_once('\n') {
            if let Some(token) = line.strip_prefix(WARNING) {
                warnings.push(token.trim().to_owned());
            } else if let Some(pair) = line.strip_prefix(WHY) {
                pairs.push(pairs::of_text(pair.trim()));
            } else {
                break;
            }
            rest = after;
        }
        Ok(ChildResults {
            saved: rest.parse()?,
            warnings,
            pairs,
        })
    }
}

/// Parses the results of a child and returns the number of remaining search items.
pub fn read_results(text: &str) -> Result<usize, String> {
    let results: ChildResults = text.parse()?;
    Ok(results.saved.read_items(&Places::new(&Library))?.len())
}

/// Waits for all children; returns true if the check is over.
fn gather(worker: &mut Worker<'_, '_>, job: Job<'_>, mut children: Vec<Child>) -> bool {
    let mut is_over = false;
    let mut was_passed_on = false;
    while !children.is_empty() {
        let index = wait_for_one(&children, &mut was_passed_on);
        let Child {
            process,
            results,
            part,
        } = children.swap_remove(index);
        let mut text = String::new();
        let read = File::from(results).read_to_string(&mut text);
        let status = end_of(process);
        if is_over {
            worker.take_over(part);
            continue;
        }
        let results = read.map_err(|error| error.to_string());
        match results.and_then(|_| text.parse::<ChildResults>()) {
            Ok(results) => is_over = absorb(worker, job, results),
            Err(_) => give_up(&children, status),
        }
        if is_over {
            kill(&children);
        }
    }
    is_over
}

/// Interval of the looks at an interrupt, which only the parent receives, in milliseconds.
const LOOK_EVERY: libc::c_int = 50;

/// Waits until one of the children has written results and returns its index. An interrupt is passed on to
/// the children, once.
fn wait_for_one(children: &[Child], was_passed_on: &mut bool) -> usize {
    let mut asked: Vec<libc::pollfd> = children
        .iter()
        .map(|child| libc::pollfd {
            fd: child.results.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    loop {
        // SAFETY: `poll` needs a list of this length: the pointer and the length are those of one
        // vector.
        unsafe { libc::poll(asked.as_mut_ptr(), asked.len() as libc::nfds_t, LOOK_EVERY) };
        if events::is_interrupted() && !std::mem::replace(was_passed_on, true) {
            send(children, libc::SIGINT);
        }
        if let Some(index) = asked.iter().position(|one| one.revents != 0) {
            return index;
        }
    }
}

fn end_of(process: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: `waitpid` needs a place for the status, which is a variable. The process is a child
    // of this one, and only this call waits for it.
    while unsafe { libc::waitpid(process, &mut status, 0) } < 0
        && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
    {}
    status
}

fn kill(children: &[Child]) {
    send(children, libc::SIGKILL);
}

/// Sends a signal to all of them.
fn send(children: &[Child], signal: libc::c_int) {
    for child in children {
        // SAFETY: `kill` must not hit another process: a child keeps its number until it has been
        // waited for.
        unsafe { libc::kill(child.process, signal) };
    }
}

/// Ends the process after a child that died and has already printed its report.
fn give_up(others: &[Child], status: i32) -> ! {
    kill(others);
    let code = match libc::WIFEXITED(status) {
        true => libc::WEXITSTATUS(status).max(1),
        false => {
            let signal = libc::WTERMSIG(status);
            eprintln!("raddle: a worker was ended by signal {signal}");
            1
        }
    };
    // SAFETY: `_exit` has no precondition; no destructor is needed.
    unsafe { libc::_exit(code) }
}

/// Merges the results of a child; returns true if the check is over.
fn absorb(worker: &mut Worker<'_, '_>, job: Job<'_>, results: ChildResults) -> bool {
    let ChildResults {
        saved,
        warnings,
        pairs,
    } = results;
    let before = runs(worker);
    let places = worker.context.places();
    let left = saved.read_items(&places).unwrap_or_else(|problem| {
        panic!("raddle: the results of a worker cannot be read: {problem}")
    });
    worker.context.with_exploration(|exploration| {
        let tally = saved.tally();
        exploration.absorb(tally);
    });
    worker.take_over(left);
    worker.context.with_exploration(|exploration| {
        if let Some(search) = exploration.world().exhaustive() {
            search.reached(saved.reach);
        }
    });
    let failures = saved.failures.iter().zip(pairs);
    let failures = failures.filter_map(|((execution, token), pair)| {
        let (failures, _) = known_schedules::found_again(job, token);
        let mut failure = failures.into_iter().next()?;
        failure.execution = before + execution;
        failure.critical = pair;
        Some(failure)
    });
    let failures: Vec<Failure> = failures.collect();
    let is_over = !failures.is_empty() && !job.checker.keep_going;
    worker.add_known(failures);
    for warning in warnings
        .iter()
        .flat_map(|token| known_schedules::found_again(job, token).1)
    {
        let known = &mut worker.report.warnings;
        if known.iter().all(|one| one.gist() != warning.gist()) {
            known.push(warning);
        }
    }
    is_over
}
