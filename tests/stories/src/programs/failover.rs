//! A primary looks whether it still is the primary and then writes. Meanwhile a monitor may have
//! given it up, and the standby may have taken over and be writing too: two heads. The twin writes
//! under a lock and looks again inside.
//!
//! One preemption, of the primary while it writes; the monitor and then the standby must go on
//! there.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[Story {
    name: "failover",
    pattern: "looks whether it is in charge, then acts although it no longer is",
    buggy: || {
        run(|cluster, me| {
            if cluster.is_in_charge(me) {
                cluster.write();
            }
        })
    },
    correct: || {
        run(|cluster, me| {
            let _held = cluster.lock.lock().unwrap();
            if cluster.is_in_charge(me) {
                cluster.write();
            }
        })
    },
    facts: Facts::new(FailureKind::Panic, 3, 1),
}];

#[derive(Default)]
struct Cluster {
    lock: Mutex<()>,
    given_up: AtomicBool,
    primary: AtomicUsize,
    writing: AtomicUsize,
    missed: AtomicUsize,
}

impl Cluster {
    fn is_in_charge(&self, me: usize) -> bool {
        self.primary.load(SeqCst) == me
    }

    fn write(&self) {
        let others = self.writing.fetch_add(1, SeqCst);
        assert_eq!(others, 0, "two heads");
        self.writing.fetch_sub(1, SeqCst);
    }
}

fn run(write: fn(&Cluster, usize)) {
    crowd(3, &Arc::new(Cluster::default()), move |cluster, number| {
        match number {
            // The monitor gives the primary up after two missed signs of life.
            2 => {
                for _ in 0..2 {
                    cluster.missed.fetch_add(1, SeqCst);
                }
                cluster.given_up.store(true, SeqCst);
            }
            1 => {
                if cluster.given_up.load(SeqCst) {
                    cluster.primary.store(1, SeqCst);
                    write(cluster, 1);
                }
            }
            _ => write(cluster, 0),
        }
    });
}
