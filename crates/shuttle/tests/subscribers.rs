//! Events of `tracing` that a test emits, and the subscribers of its tasks.

use std::sync::atomic::{AtomicUsize as StdAtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use shuttle::{current, thread};

/// Held by each test: `tracing` caches for the whole process which events any subscriber wants.
static ALONE: StdMutex<()> = StdMutex::new(());

/// Counts events and spans.
struct Counter(Arc<[StdAtomicUsize; 2]>);

impl tracing::Subscriber for Counter {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        self.0[1].fetch_add(1, SeqCst);
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, _: &tracing::Event<'_>) {
        self.0[0].fetch_add(1, SeqCst);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

/// With the feature, some events of shuttle's: here two creations and two accesses to the state in each of three
/// executions, and the end of the test. No spans.
#[test]
fn events_of_tracing_need_a_feature() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let counts = Arc::new([StdAtomicUsize::new(0), StdAtomicUsize::new(0)]);
    tracing::subscriber::with_default(Counter(Arc::clone(&counts)), || {
        let test = || {
            current::me();
            thread::spawn(|| ()).join().unwrap();
        };
        shuttle::check_random_with_seed(test, 7, 3);
    });
    let [events, spans] = [0, 1].map(|index| counts[index].load(SeqCst));
    let expected = match cfg!(feature = "tracing") {
        true => 3 * 4 + 1,
        false => 0,
    };
    assert_eq!((events, spans), (expected, 0));
}

/// A thread that has another default subscriber while it yields gives it to the main thread too, whose events are then
/// missing from the subscriber of the test.
#[test]
fn tasks_share_the_default_subscriber() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    const EXECUTIONS: usize = 100;
    let counts = [0; 2].map(|_| Arc::new([StdAtomicUsize::new(0), StdAtomicUsize::new(0)]));
    let [mine, theirs] = counts
        .clone()
        .map(|counts| tracing::Dispatch::new(Counter(counts)));
    tracing::dispatcher::with_default(&mine, || {
        let test = move || {
            let theirs = theirs.clone();
            let thread = thread::spawn(move || {
                // Random schedules do not switch at the first operation of a thread.
                thread::yield_now();
                tracing::dispatcher::with_default(&theirs, thread::yield_now);
            });
            thread::yield_now();
            drop(tracing::error_span!("of the main thread"));
            thread.join().unwrap();
        };
        shuttle::check_random_with_seed(test, 7, EXECUTIONS);
    });
    let [mine, theirs] = counts.map(|counts| counts[1].load(SeqCst));
    assert_eq!(mine + theirs, EXECUTIONS);
    assert!(theirs > 0);
}
