//! Orders of operations near a change against all schedules, on random scripts that run on the bare engine: every order
//! of the operations near the change is run, whatever is around them.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::Ordering::SeqCst;

use fastrand::Rng;
use raddle_engine::object::{Call, Object, mutex};
use raddle_engine::strategy::{Dispatcher, Enumerate, Impact, NearOrders};
use raddle_engine::{
    ClassEntry, Ending, LocationId, ObjectId, Operation, SiteId, Step, Strategy, World,
};
use raddle_tests::suite::{Suite, Verdict};

/// An operation of a script on the thing of a number.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Statement {
    Load(usize),
    Store(usize),
    Lock(usize),
    Unlock(usize),
}

impl Statement {
    fn thing(self) -> usize {
        match self {
            Statement::Load(thing) | Statement::Store(thing) => thing,
            Statement::Lock(thing) | Statement::Unlock(thing) => LOCATIONS + thing,
        }
    }
}

const LOCATIONS: usize = 3;
const LOCKS: usize = 2;
/// Maximum schedules of a script: with more of them it is skipped.
const MOST_EXECUTIONS: usize = 4_000;

/// Threads, and the statements that are near the change.
#[derive(Clone, Debug)]
struct Script {
    threads: Vec<Vec<Statement>>,
    near: HashSet<(usize, usize)>,
}

impl Script {
    /// With one lock, no thread is blocked for ever.
    fn random(rng: &mut Rng, locks: usize) -> Self {
        let threads = (0..rng.usize(2..=3)).map(|_| {
            let access = |rng: &mut Rng| match rng.bool() {
                true => Statement::Load(rng.usize(..LOCATIONS)),
                false => Statement::Store(rng.usize(..LOCATIONS)),
            };
            let mut statements: Vec<_> = (0..rng.usize(1..=3)).map(|_| access(rng)).collect();
            let mut around = 0..=statements.len();
            for _ in 0..rng.usize(..=locks) {
                let lock = rng.usize(..locks);
                if statements.contains(&Statement::Lock(lock)) {
                    continue;
                }
                let first = rng.usize(around.clone());
                let last = rng.usize(first..=*around.end());
                statements.insert(last, Statement::Unlock(lock));
                statements.insert(first, Statement::Lock(lock));
                around = first + 1..=last + 1;
            }
            statements
        });
        Script {
            threads: threads.collect(),
            near: HashSet::new(),
        }
    }

    fn all(rng: &mut Rng) -> Self {
        let mut script = Script::random(rng, LOCKS);
        script.near = script.places().collect();
        script
    }

    fn some(rng: &mut Rng) -> Self {
        let mut script = Script::random(rng, 1);
        script.near = script.places().filter(|_| rng.u8(..4) == 0).collect();
        script
    }

    fn places(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let threads = self.threads.iter().enumerate();
        threads.flat_map(|(thread, statements)| (0..statements.len()).map(move |at| (thread, at)))
    }

    /// Returns the things that a statement near the change uses, and another thread.
    fn near_things(&self) -> BTreeSet<usize> {
        let thing = |(thread, at): (usize, usize)| self.threads[thread][at].thing();
        let users = |wanted: usize| {
            let uses = self.places().filter(|&place| thing(place) == wanted);
            uses.map(|(thread, _)| thread).collect::<BTreeSet<_>>()
        };
        let near = self.near.iter().map(|&place| thing(place));
        near.filter(|&thing| users(thing).len() > 1).collect()
    }

    /// Returns the part of a class that concerns these things.
    fn project(&self, class: Vec<ClassEntry>, things: &BTreeSet<usize>) -> Vec<ClassEntry> {
        let is_near = |entry: &ClassEntry| {
            let (path, index) = &entry.event;
            let [thread] = path.steps() else { return false };
            let statements = &self.threads[*thread as usize - 1];
            // The first event is the beginning of the thread.
            let statement = (*index as usize)
                .checked_sub(1)
                .and_then(|at| statements.get(at));
            statement.is_some_and(|statement| things.contains(&statement.thing()))
        };
        class.into_iter().filter(is_near).collect()
    }
}

/// Runs the script under the strategy; gives every execution's class to `seen`. `None` if there are too many, and the
/// number of executions otherwise.
fn explore(
    script: &Script,
    strategy: impl Strategy + 'static,
    mut seen: impl FnMut(Vec<ClassEntry>),
) -> Option<usize> {
    let main = SiteId::new(0);
    let mut world = World::new(Dispatcher::other(strategy), 10_000);
    let mut executions = 0;
    while world.begin(main) {
        executions += 1;
        if executions > MOST_EXECUTIONS {
            return None;
        }
        let locations: Vec<LocationId> = (0..LOCATIONS).map(|_| world.add_location(0)).collect();
        let lock = |_| world.add_object(Object::Mutex(mutex::Mutex::default()));
        let locks: Vec<ObjectId> = (0..LOCKS).map(lock).collect();
        let mut positions = vec![0; script.threads.len() + 1];
        let mut step = world.advance();
        while let Step::Run(thread) = step {
            let index = thread.index();
            let position = positions[index];
            positions[index] += 1;
            let (operation, site) = match index {
                0 if position < script.threads.len() => (Operation::Spawn, main),
                0 => (Operation::End, main),
                _ => match script.threads[index - 1].get(position) {
                    None => (Operation::End, main),
                    Some(&statement) => {
                        let call = |lock: usize, call: mutex::Call| Operation::Call {
                            object: locks[lock],
                            call: Call::Mutex(call),
                        };
                        let operation = match statement {
                            Statement::Load(location) => Operation::Load {
                                location: locations[location],
                                ordering: SeqCst,
                            },
                            Statement::Store(location) => Operation::Store {
                                location: locations[location],
                                ordering: SeqCst,
                                value: Some(index as u64),
                            },
                            Statement::Lock(lock) => call(lock, mutex::Call::Lock),
                            Statement::Unlock(lock) => call(lock, UNLOCK),
                        };
                        (operation, site_of(index - 1, position))
                    }
                },
            };
            step = world.request(thread, operation, site);
        }
        let (execution, ending) = world.finish();
        assert!(
            matches!(ending, Ending::Complete | Ending::Deadlock),
            "{ending:?}\n{script:?}"
        );
        seen(execution.class());
    }
    Some(executions)
}

const UNLOCK: mutex::Call = mutex::Call::Unlock { poison: false };
const MOST_STATEMENTS: usize = 100;

fn site_of(thread: usize, at: usize) -> SiteId {
    SiteId::new(1 + thread * MOST_STATEMENTS + at)
}

/// Compares the orders of what is near the change; `None` if there are too many schedules.
fn compare(script: &Script) -> Option<(usize, usize)> {
    let things = script.near_things();
    let mut all = HashSet::new();
    explore(script, Enumerate::private_first(), |class| {
        all.insert(script.project(class, &things));
    })?;
    let near: HashSet<_> = script
        .near
        .iter()
        .map(|&(thread, at)| site_of(thread, at))
        .collect();
    let impact = Impact::new(move |site| near.contains(&site));
    let mut found = HashSet::new();
    let executions = explore(script, NearOrders::new(impact, 1), |class| {
        found.insert(script.project(class, &things));
    });
    let executions = executions.expect("there are no more orders than schedules");
    let missing: Vec<_> = all.difference(&found).collect();
    assert!(
        missing.is_empty() && found.is_subset(&all),
        "{} orders, {} missing after {executions} executions\n{script:?}\n{missing:?}",
        all.len(),
        missing.len()
    );
    Some((all.len(), executions))
}

fn compared(programs: u64, random: fn(&mut Rng) -> Script) -> (usize, usize) {
    let (mut orders, mut executions) = (0, 0);
    Suite::new(programs, 1).run(random, |script, _| {
        let Some(counts) = compare(script) else {
            return Verdict::Skipped;
        };
        orders += counts.0;
        executions += counts.1;
        Verdict::Agreed
    });
    println!("{orders} orders in {executions} executions");
    (orders, executions)
}

/// If all is near, these are all classes.
#[test]
fn every_class_is_run_where_all_is_near_the_change() {
    let (orders, executions) = compared(200, Script::all);
    assert!(
        executions < 3 * orders,
        "{executions} executions for {orders} classes"
    );
}

/// Also where threads come to these operations with a lock that is not near the change.
#[test]
fn every_order_near_the_change_is_run() {
    let (orders, executions) = compared(200, Script::some);
    assert!(
        executions < 3 * orders,
        "{executions} executions for {orders} orders"
    );
}
