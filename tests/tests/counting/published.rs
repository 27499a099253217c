//! The programs of Lei and Carver, "Reachability Testing of Concurrent Programs" (TR GMU-CS-2005-1),
//! written anew, and the numbers of sequences they report.

use raddle::FailureKind;
use raddle::monitor::Discipline;
use raddle::sync::BinarySemaphore;
use raddle_tests::messages::{
    distributed_mutual_exclusion, selecting_buffer, selecting_readers_and_writers,
};
use raddle_tests::programs::{
    baton, buffer_in_a_monitor, buffer_with_semaphores, dining, run_threads,
};
use raddle_tests::published::{
    philosophers_with_semaphores, readers_and_writers_continuing, readers_and_writers_urgent,
};
use raddle_tests::{classes, exhaust};

#[test]
fn bounded_buffer_with_semaphores() {
    assert_eq!(classes(buffer_with_semaphores), 324);
}

#[test]
fn readers_and_writers_with_semaphores() {
    assert_eq!(classes(baton), 21_744);
}

#[test]
fn philosophers_with_semaphores_may_starve() {
    for count in 3..=9 {
        let report = exhaust(move || philosophers_with_semaphores(count));
        assert_eq!(report.classes(), (1 << count) - 1, "{count} philosophers");
        assert_eq!(report.failures.len(), 1);
        assert_eq!(report.failures[0].kind, FailureKind::Deadlock);
    }
}

/// The report's Fig. 4: two threads that each take and give back a binary semaphore.
#[test]
fn a_binary_semaphore_alternates() {
    let count = classes(|| {
        let semaphore = BinarySemaphore::new(true);
        run_threads(2, move |_| {
            semaphore.acquire();
            semaphore.release();
        });
    });
    assert_eq!(count, 2);
    // Giving back waits for the permit to be gone: the two releases must enclose the acquire.
    let count = classes(|| {
        let semaphore = BinarySemaphore::new(false);
        run_threads(3, move |number| match number {
            0 => semaphore.acquire(),
            _ => semaphore.release(),
        });
    });
    assert_eq!(count, 2, "either release may come first");
}

#[test]
fn bounded_buffer_in_a_monitor() {
    let count = |discipline| classes(move || buffer_in_a_monitor(discipline));
    assert_eq!(count(Discipline::SignalUrgent), 720);
    assert_eq!(count(Discipline::SignalContinue), 12_096);
}

#[test]
fn readers_and_writers_in_an_urgent_monitor() {
    assert_eq!(classes(readers_and_writers_urgent), 13_320);
}

#[test]
fn readers_and_writers_in_a_continuing_monitor() {
    assert_eq!(classes(readers_and_writers_continuing), 61_716);
}

#[test]
fn philosophers_in_an_urgent_monitor() {
    for (count, published) in [(3, 30), (4, 624), (5, 19_330)] {
        assert_eq!(
            classes(move || dining(count)),
            published,
            "{count} philosophers"
        );
    }
}

/// Three producers, three consumers, two slots, and a server that selects.
#[test]
fn bounded_buffer_with_a_selecting_server() {
    assert_eq!(classes(|| selecting_buffer(3, 3, 2)), 144);
}

/// Three readers, two writers, and a server that selects.
#[test]
fn readers_and_writers_with_a_selecting_server() {
    assert_eq!(classes(|| selecting_readers_and_writers(3, 2)), 768);
}

/// Three processes, by messages.
#[test]
fn mutual_exclusion_by_messages() {
    assert_eq!(classes(|| distributed_mutual_exclusion(3)), 4_032);
}
