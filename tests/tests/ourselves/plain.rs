//! What raddle has for use outside a check, on a lock and a condition variable: it does exactly what the
//! engine's own primitives do, in all schedules.

use std::collections::BTreeSet;
use std::sync::Mutex as Notes;

use raddle::sync::Mutex;
use raddle::thread;

use super::own_sync::Arc;
use super::{all, monitor, port, semaphore};

/// What a program may end with.
fn outcomes<T: Ord + Send>(body: impl Fn() -> T + Send + Sync) -> BTreeSet<T> {
    let seen = Notes::new(BTreeSet::new());
    all(|| {
        let outcome = body();
        seen.lock().unwrap().insert(outcome);
    });
    seen.into_inner().unwrap()
}

/// The steps of a program, in their order.
#[derive(Clone, Default)]
struct Steps(Arc<Mutex<String>>);

impl Steps {
    fn add(&self, step: char) {
        self.0.lock().unwrap().push(step);
    }

    fn get(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

/// A program with the plain types of a module, and with the controlled ones.
macro_rules! both {
    ($plain:ident, $controlled:path, $body:expr) => {{
        let plain = {
            #[allow(unused_imports)]
            use $plain::*;
            outcomes($body)
        };
        let controlled = {
            #[allow(unused_imports)]
            use $controlled::*;
            outcomes($body)
        };
        assert_eq!(plain, controlled);
        plain
    }};
}

mod controlled_semaphores {
    pub use raddle::sync::{BinarySemaphore, Semaphore};
}

#[test]
fn a_semaphore_lets_in_as_many_as_it_has_permits() {
    let seen = both!(semaphore, controlled_semaphores, || {
        let (semaphore, steps) = (Arc::new(Semaphore::new(1)), Steps::default());
        let threads = ['a', 'b'].map(|name| {
            let (semaphore, steps) = (Arc::clone(&semaphore), steps.clone());
            thread::spawn(move || {
                semaphore.acquire();
                steps.add(name);
                steps.add(name);
                semaphore.release();
            })
        });
        let got = semaphore.try_acquire();
        if got {
            steps.add('m');
            semaphore.release();
        }
        for thread in threads {
            thread.join().unwrap();
        }
        steps.get()
    });
    let possible = [
        "aabb", "aambb", "aabbm", "bbaa", "bbmaa", "bbaam", "maabb", "mbbaa",
    ];
    assert_eq!(seen, possible.map(str::to_owned).into());
}

#[test]
fn a_binary_semaphore_is_given_back_once() {
    let seen = both!(semaphore, controlled_semaphores, || {
        let (semaphore, steps) = (Arc::new(BinarySemaphore::new(false)), Steps::default());
        let givers = ['a', 'b'].map(|name| {
            let (semaphore, steps) = (Arc::clone(&semaphore), steps.clone());
            thread::spawn(move || {
                semaphore.release();
                steps.add(name);
            })
        });
        semaphore.acquire();
        semaphore.acquire();
        steps.add('m');
        for giver in givers {
            giver.join().unwrap();
        }
        steps.get()
    });
    let possible = ["abm", "amb", "bam", "bma", "mab", "mba"];
    assert_eq!(seen, possible.map(str::to_owned).into());
}

mod controlled_monitors {
    pub use raddle::monitor::{Discipline, Monitor};
}

#[test]
fn a_monitor_passes_its_turns_as_its_discipline_says() {
    let program = |urgent: bool| {
        both!(monitor, controlled_monitors, || {
            let discipline = match urgent {
                true => Discipline::SignalUrgent,
                false => Discipline::SignalContinue,
            };
            let monitor = Arc::new(Monitor::new(discipline, (false, String::new())));
            let ready = monitor.condition();
            let waiter = {
                let monitor = Arc::clone(&monitor);
                thread::spawn(move || {
                    let mut inside = monitor.enter();
                    while !inside.0 {
                        inside.wait(ready);
                    }
                    inside.1.push('w');
                })
            };
            let newcomer = {
                let monitor = Arc::clone(&monitor);
                thread::spawn(move || monitor.enter().1.push('n'))
            };
            let mut inside = monitor.enter();
            inside.0 = true;
            inside.1.push('s');
            inside.signal(ready);
            inside.1.push('S');
            drop(inside);
            waiter.join().unwrap();
            newcomer.join().unwrap();
            monitor.enter().1.clone()
        })
    };
    let continues = ["sSwn", "sSnw", "nsSw"];
    assert_eq!(program(false), continues.map(str::to_owned).into());
    // If it waits when it is signalled, it goes first; the signaller is next, before the newcomer.
    let urgent = ["sSwn", "sSnw", "nsSw", "swSn", "nswS"];
    assert_eq!(program(true), urgent.map(str::to_owned).into());
}

mod controlled_ports {
    pub use raddle::port::Port;
}

#[test]
fn ports_pass_every_message_once() {
    for kind in ["asynchronous", "synchronous", "bounded"] {
        let seen = both!(port, controlled_ports, || {
            let port = match kind {
                "asynchronous" => Port::asynchronous(),
                "synchronous" => Port::synchronous(),
                _ => Port::bounded(1),
            };
            let senders = ['a', 'b'].map(|name| {
                let sender = port.sender();
                thread::spawn(move || sender.send(name))
            });
            let received = [port.receive(), port.receive()];
            for sender in senders {
                sender.join().unwrap();
            }
            received
        });
        assert_eq!(seen, [['a', 'b'], ['b', 'a']].into(), "{kind}");
    }
}

/// One thread sends `a` and then `b`, and says when it is done with each: `1`, `2`. The other one says that it
/// begins, `-`, and what it receives.
#[test]
fn ports_make_senders_wait() {
    let program = |kind: &'static str| {
        both!(port, controlled_ports, || {
            let port = match kind {
                "asynchronous" => Port::asynchronous(),
                "synchronous" => Port::synchronous(),
                _ => Port::bounded(1),
            };
            let steps = Steps::default();
            let thread = {
                let (sender, steps) = (port.sender(), steps.clone());
                thread::spawn(move || {
                    for (message, step) in [('a', '1'), ('b', '2')] {
                        sender.send(message);
                        steps.add(step);
                    }
                })
            };
            steps.add('-');
            for _ in 0..2 {
                let message = port.receive();
                steps.add(message);
            }
            thread.join().unwrap();
            steps.get()
        })
    };
    let set = |steps: &[&str]| steps.iter().map(|&steps| steps.to_owned()).collect();
    // `b` is sent after `1` was said.
    let mut steps: Vec<_> = vec![
        "12-ab", "1-2ab", "1-a2b", "1-ab2", "-12ab", "-1a2b", "-1ab2",
    ];
    steps.extend(["-a12b", "-a1b2"]);
    let asynchronous: BTreeSet<String> = set(&steps);
    assert_eq!(program("asynchronous"), asynchronous);
    // There is room for `b` when `a` has been received.
    let bounded: BTreeSet<String> = set(&steps[1..]);
    assert_eq!(program("bounded"), bounded);
    // Who is done was received, and `b` is received after `a` was said.
    let synchronous: BTreeSet<String> = set(&["-1a2b", "-1ab2", "-a12b", "-a1b2"]);
    assert_eq!(program("synchronous"), synchronous);
}
