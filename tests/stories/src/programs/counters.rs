//! Counters that are read and then written. The first story is the smallest there is. In the second
//! two threads count to three each, and the result may be as small as two; in the third a reader
//! takes the sum and the number of samples at different times.
//!
//! Lost update: one preemption, between read and write. Down to two: one thread reads 0; the other
//! counts twice; the first writes 1; the other reads 1; the first counts to the end; the other
//! writes 2. The last switch is from a thread that has ended, the four before are preemptions.
//! Average: one, of a writer between its sections.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[
    Story {
        name: "lost_update",
        pattern: "reads a counter, then writes it",
        buggy: || assert_eq!(count(2, 1, in_two_steps), 2, "an update was lost"),
        correct: || assert_eq!(count(2, 1, at_once), 2, "an update was lost"),
        facts: Facts::new(FailureKind::Panic, 2, 1),
    },
    Story {
        name: "down_to_two",
        pattern: "a stale write undoes almost everything that others have counted",
        buggy: || {
            assert!(
                count(2, 3, in_two_steps) > 2,
                "all but two updates were lost"
            )
        },
        correct: || assert!(count(2, 3, at_once) > 2, "all but two updates were lost"),
        facts: Facts::new(FailureKind::Panic, 2, 4),
    },
    Story {
        name: "average",
        pattern: "a sum and a count that belong together have a lock each",
        buggy: || average(sample_apart),
        correct: || average(sample_together),
        facts: Facts::new(FailureKind::Panic, 3, 1),
    },
];

fn in_two_steps(counter: &AtomicUsize) {
    let seen = counter.load(SeqCst);
    counter.store(seen + 1, SeqCst);
}

fn at_once(counter: &AtomicUsize) {
    counter.fetch_add(1, SeqCst);
}

fn count(threads: usize, times: usize, add: fn(&AtomicUsize)) -> usize {
    let counter = Arc::new(AtomicUsize::new(0));
    crowd(threads, &counter, move |counter, _| {
        for _ in 0..times {
            add(counter);
        }
    });
    counter.load(SeqCst)
}

#[derive(Default)]
struct Samples {
    sum: Mutex<usize>,
    count: Mutex<usize>,
}

/// All samples are 4, and so is their average.
const SAMPLE: usize = 4;

fn sample_apart(samples: &Samples) {
    *samples.sum.lock().unwrap() += SAMPLE;
    *samples.count.lock().unwrap() += 1;
}

fn sample_together(samples: &Samples) {
    let mut sum = samples.sum.lock().unwrap();
    let mut count = samples.count.lock().unwrap();
    *sum += SAMPLE;
    *count += 1;
}

fn average(sample: fn(&Samples)) {
    let samples = Arc::new(Samples::default());
    crowd(3, &samples, move |samples, number| {
        if number < 2 {
            sample(samples);
        } else {
            let sum = samples.sum.lock().unwrap();
            let count = samples.count.lock().unwrap();
            let taken = (*sum, *count);
            drop((sum, count));
            assert_eq!(taken.0, taken.1 * SAMPLE, "the average is not the samples'");
        }
    });
}
