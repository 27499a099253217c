//! Workers that share a search: no work is lost or run twice, and every worker ends.

use std::sync::Mutex as Notes;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use raddle::{Checker, Strategy, thread};

use super::all;
use super::own_sync::{Arc, Mutex, mpsc};
use super::pool::{EndReason, Load, WorkPool};

/// A tree in which every node is an execution: the children of each.
type Tree = &'static [&'static [usize]];

/// The smallest tree that can be shared.
const PAIR: Tree = &[&[1, 2], &[], &[]];
/// Two levels: one child has children of its own.
const SMALL: Tree = &[&[1, 2], &[], &[3], &[]];

/// The nodes that a worker has run, and those left.
#[derive(Clone, Default, Debug)]
struct Part {
    run: Vec<usize>,
    left: Vec<usize>,
}

struct Worker {
    tree: Tree,
    part: Part,
}

impl Worker {
    /// Worker 0 begins with the whole tree.
    fn new(tree: Tree, number: usize) -> Self {
        let left = if number == 0 { vec![0] } else { Vec::new() };
        let run = Vec::new();
        Worker {
            tree,
            part: Part { run, left },
        }
    }

    /// Runs an execution, if a node is left.
    fn run_one(&mut self) -> bool {
        let Some(node) = self.part.left.pop() else {
            return false;
        };
        self.part.run.push(node);
        self.part.left.extend(self.tree[node]);
        true
    }
}

impl Load<usize, Part> for Worker {
    fn part(&self) -> Part {
        self.part.clone()
    }

    /// Splits off the oldest node; one is kept.
    fn give(&mut self) -> Option<usize> {
        (self.part.left.len() > 1).then(|| self.part.left.remove(0))
    }
}

/// The nodes and all their descendants.
fn behind(tree: Tree, nodes: &[usize]) -> Vec<usize> {
    let mut all = nodes.to_vec();
    let mut next = 0;
    while next < all.len() {
        all.extend(tree[all[next]]);
        next += 1;
    }
    all
}

/// Asserts that the nodes run and the descendants of the rest are the tree, each node once.
fn assert_whole(tree: Tree, parts: &[Part]) {
    let mut nodes = Vec::new();
    for part in parts {
        nodes.extend(&part.run);
        nodes.extend(behind(tree, &part.left));
    }
    nodes.sort_unstable();
    let whole: Vec<_> = (0..tree.len()).collect();
    assert_eq!(nodes, whole, "{parts:?}");
}

/// One worker of the pool, in the way of `Worker::explore`. Begins a checkpoint at each of these numbers
/// of executions.
fn work(
    pool: &WorkPool<usize, Part>,
    number: usize,
    tree: Tree,
    checkpoints: &[usize],
    save: &dyn Fn(Vec<Part>),
) -> Part {
    let mut worker = Worker::new(tree, number);
    loop {
        if pool.ended().is_some() || !pool.may_run(number) {
            return worker.part;
        }
        if !worker.run_one() {
            pool.give_back();
            let part = worker.part.clone();
            match pool.next_item(number, part, save) {
                Some(item) => worker.part.left.push(item),
                None => return worker.part,
            }
            continue;
        }
        if number == 0 && checkpoints.contains(&worker.part.run.len()) {
            pool.begin_checkpoint(|given| Part {
                run: Vec::new(),
                left: given.to_vec(),
            });
        }
        if pool.wants_attention() {
            pool.attend(number, &mut worker, save);
        }
    }
}

/// Runs a pool to its end; returns the parts of all workers and the number of checkpoints.
fn run(size: usize, tree: Tree, checkpoints: &'static [usize]) -> (Vec<Part>, usize) {
    let (parts, checkpoints, end) = limited(None, size, tree, checkpoints);
    assert_eq!(end, Some(EndReason::Exhausted));
    assert!(parts.iter().all(|part| part.left.is_empty()), "{parts:?}");
    (parts, checkpoints)
}

/// Runs a pool with this budget of executions. Items left in the pool are a part of their own.
fn limited(
    executions: Option<u64>,
    size: usize,
    tree: Tree,
    checkpoints: &'static [usize],
) -> (Vec<Part>, usize, Option<EndReason>) {
    let pool = Arc::new(WorkPool::<usize, Part>::new(size, executions));
    // Another checkpoint may complete before this one is written.
    let saved = Arc::new(Mutex::new(Vec::new()));
    let start = |number| {
        let (pool, saved) = (Arc::clone(&pool), Arc::clone(&saved));
        move || {
            let save = |parts: Vec<Part>| {
                assert_whole(tree, &parts);
                let run: usize = parts.iter().map(|part| part.run.len()).sum();
                saved.lock().unwrap().push(run);
            };
            work(&pool, number, tree, checkpoints, &save)
        }
    };
    let others: Vec<_> = (1..size)
        .map(|number| thread::spawn(start(number)))
        .collect();
    let mut parts = vec![start(0)()];
    parts.extend(others.into_iter().map(|other| other.join().unwrap()));
    parts.push(Part {
        run: Vec::new(),
        left: pool.untaken(),
    });
    assert_whole(tree, &parts);
    let saved = saved.lock().unwrap();
    assert!(
        saved.is_sorted(),
        "an older one after a newer one: {saved:?}"
    );
    (parts, saved.len(), pool.ended())
}

#[test]
fn two_workers_run_everything_once() {
    let helped = AtomicU64::new(0);
    let report = all(|| {
        let (parts, _) = run(2, SMALL, &[]);
        helped.fetch_add(u64::from(!parts[1].run.is_empty()), Relaxed);
    });
    // Both happen: the other worker comes too late, and it gets work.
    let helped = helped.into_inner();
    assert!(0 < helped && helped < report.executions, "{report}");
}

#[test]
fn a_checkpoint_has_every_part_once_and_no_older_one_takes_its_place() {
    let saved = AtomicU64::new(0);
    all(|| {
        let (_, checkpoints) = run(2, PAIR, &[1, 2]);
        saved.fetch_max(checkpoints as u64, Relaxed);
    });
    assert_eq!(saved.into_inner(), 2);
}

#[test]
fn three_workers_with_few_preemptions() {
    let checker = Checker::new()
        .strategy(Strategy::Exhaustive)
        .preemptions(1)
        .workers(1);
    let report = checker.run(|| {
        run(3, PAIR, &[1]);
    });
    assert!(report.failures.is_empty(), "{report}");
    assert!(report.executions > 100, "{report}");
}

#[test]
fn a_budget_is_used_up_and_not_more() {
    let cases: [(u64, &[usize]); 2] = [(1, &[1]), (2, &[])];
    for (budget, checkpoints) in cases {
        all(|| {
            let (parts, _, end) = limited(Some(budget), 2, PAIR, checkpoints);
            let run: usize = parts.iter().map(|part| part.run.len()).sum();
            assert_eq!(run as u64, budget);
            assert_eq!(end, Some(EndReason::Budget));
        });
    }
}

/// A worker that splits off an item and waits until the other worker has run it.
fn give_and_wait(with_checkpoint: bool) {
    let pool = Arc::new(WorkPool::<usize, Part>::new(2, None));
    let (sender, receiver) = mpsc::channel();
    let other = {
        let pool = Arc::clone(&pool);
        thread::spawn(move || {
            while let Some(item) = pool.next_item(1, Part::default(), drop) {
                sender.send(item).unwrap();
            }
        })
    };
    let mut worker = Worker::new(PAIR, 0);
    worker.run_one();
    while !pool.wants_attention() {
        thread::yield_now();
    }
    pool.attend(0, &mut worker, drop);
    if with_checkpoint {
        pool.begin_checkpoint(|given| Part {
            run: Vec::new(),
            left: given.to_vec(),
        });
        pool.attend(0, &mut worker, drop);
    }
    assert_eq!(receiver.recv(), Ok(1));
    pool.end(EndReason::Budget, 0);
    other.join().unwrap();
}

#[test]
fn what_is_given_away_is_taken_at_once() {
    all(|| give_and_wait(false));
}

#[test]
fn what_was_given_away_before_a_checkpoint_is_taken_after_it() {
    all(|| give_and_wait(true));
}

#[test]
fn the_first_to_fail_is_known_and_every_worker_stops() {
    let first = Notes::new([false; 2]);
    all(|| {
        let pool = Arc::new(WorkPool::<usize, Part>::new(3, None));
        let waits = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.next_item(2, Part::default(), |_| unreachable!()))
        };
        let fails = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.end(EndReason::Failure, 1))
        };
        let is_first = pool.end(EndReason::Failure, 0);
        assert_ne!(is_first, fails.join().unwrap());
        assert_eq!(waits.join().unwrap(), None);
        assert_eq!(pool.ended(), Some(EndReason::Failure));
        let winner = pool.first_to_fail().expect("a worker has failed");
        assert_eq!(winner, usize::from(!is_first));
        first.lock().unwrap()[winner] = true;
    });
    assert_eq!(first.into_inner().unwrap(), [true; 2]);
}
