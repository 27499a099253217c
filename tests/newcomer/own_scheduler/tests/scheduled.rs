#![deny(warnings)]

use own_scheduler::Visits;
use raddle::scheduler::{Capabilities, Choice, Randomness, Thread, ThreadId, View};
use raddle::{Checker, Guarantee, Scheduler, thread};

fn two_visits() {
    let visits = Visits::default();
    thread::scope(|scope| {
        scope.spawn(|| visits.add_one());
        visits.add_one();
    });
    assert_eq!(visits.total(), 2, "a visit was lost");
}

/// Every enabled thread performs one operation in turn.
struct RoundRobin;

impl Scheduler for RoundRobin {
    fn choose(&mut self, view: &View<'_>) -> Choice {
        let last = view.events().last().map(|event| event.thread());
        let later = view.enabled().find(|thread| Some(thread.id()) > last);
        later
            .or(view.enabled().next())
            .expect("a thread is enabled")
            .run()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default().randomness(Randomness::None)
    }
}

/// Random priorities, and now and then the thread that runs gets a lower one.
struct Priorities {
    random: u64,
    by_thread: Vec<u64>,
}

impl Priorities {
    fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

impl Scheduler for Priorities {
    fn begin(&mut self) -> bool {
        self.by_thread.clear();
        true
    }

    fn choose(&mut self, view: &View<'_>) -> Choice {
        while self.by_thread.len() < view.thread_count() {
            let priority = self.draw();
            self.by_thread.push(priority);
        }
        let priority = |thread: &Thread<'_>| self.by_thread[thread.id().index()];
        let next = view
            .enabled()
            .max_by_key(priority)
            .expect("a thread is enabled");
        if self.draw() % 8 == 0 {
            self.by_thread[next.id().index()] >>= 1;
        }
        next.with_outcome((self.draw() % u64::from(next.outcomes())) as u32)
    }
}

/// Runs main, and nothing else.
struct Stubborn;

impl Scheduler for Stubborn {
    fn choose(&mut self, _view: &View<'_>) -> Choice {
        Choice {
            thread: ThreadId::MAIN,
            outcome: 0,
        }
    }
}

#[test]
fn round_robin() {
    Checker::new()
        .scheduler(|_, _| RoundRobin)
        .max_executions(10)
        .run(two_visits)
        .assert_ok();
}

#[test]
fn priorities() {
    let report = Checker::new()
        .scheduler(|seed, _| Priorities {
            random: seed | 1,
            by_thread: Vec::new(),
        })
        .seed(3)
        .workers(2)
        .max_executions(1_000)
        .keep_going(true)
        .run(two_visits);
    assert_eq!(report.executions, 1_000);
    assert_eq!(report.failures.len(), 1);
    assert_eq!(report.guarantee(), Guarantee::Sampled);
}

#[test]
fn stubborn() {
    Checker::new()
        .scheduler(|_, _| Stubborn)
        .run(two_visits)
        .assert_ok();
}
