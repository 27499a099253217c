//! Where does the order of threads decide anything? And what went wrong last night?
//!
//! ```console
//! cargo run -p raddle-examples --bin closing
//! ```
//!
//! A service takes jobs while it is open. The thread that closes it serves what is left. The list of branches shows the
//! two places where interleaving decides. Then a job was lost in production, and the log of that run is all that is
//! known: the check runs every behaviour that may have written this log, until one fails.

use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use raddle::{Checker, Strategy, thread};

struct Service {
    open: AtomicBool,
    jobs: Mutex<u32>,
    served: AtomicU32,
}

impl Service {
    fn submit(&self) -> bool {
        if !self.open.load(SeqCst) {
            return false;
        }
        *self.jobs.lock().unwrap() += 1;
        true
    }

    fn close(&self) {
        self.open.store(false, SeqCst);
        let left = std::mem::take(&mut *self.jobs.lock().unwrap());
        if left > 0 {
            self.served.fetch_add(left, SeqCst);
        }
    }
}

/// Returns the number of jobs that were submitted and not served.
fn lost() -> u32 {
    let service = Service {
        open: AtomicBool::new(true),
        jobs: Mutex::new(0),
        served: AtomicU32::new(0),
    };
    let submitted = AtomicU32::new(0);
    thread::scope(|scope| {
        let client = thread::Builder::new().name("client".to_owned());
        let client = client.spawn_scoped(scope, || {
            if service.submit() {
                submitted.fetch_add(1, SeqCst);
            }
        });
        client.expect("threads are modelled");
        let closer = thread::Builder::new().name("closer".to_owned());
        let closer = closer.spawn_scoped(scope, || service.close());
        closer.expect("threads are modelled");
    });
    submitted.load(SeqCst) - service.served.load(SeqCst)
}

/// What the log of the failed run has: the client took the lock after the closer had.
const LOG: &str = "
    ordered
    client  src/bin/closing.rs:23
    closer  src/bin/closing.rs:32 lock
    client  src/bin/closing.rs:26 lock
";

fn main() {
    println!("Branches:");
    let report = Checker::new()
        .strategy(Strategy::Exhaustive)
        .branches(true)
        .run(|| _ = lost());
    println!("{}", report.branches());

    println!("\nThe log:");
    let report = Checker::new()
        .consistent_with_trace(LOG.parse().expect("the log is well-formed"))
        .run(|| assert_eq!(lost(), 0, "a job was lost"));
    println!("{}", report.summary());
    println!("{}", report.failures[0]);
}
