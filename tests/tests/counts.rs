//! Numbers of classes that are known from the literature or by counting on paper.

use raddle::FailureKind;
use raddle_tests::programs::{mutex_counter, philosophers, racy_counter};
use raddle_tests::{classes, exhaust};

#[test]
fn mutex_counter_has_one_class_for_each_order_of_the_lock() {
    assert_eq!(classes(|| mutex_counter(2, 1)), 2);
    assert_eq!(classes(|| mutex_counter(3, 1)), 6);
    assert_eq!(classes(|| mutex_counter(4, 1)), 24);
    assert_eq!(classes(|| mutex_counter(3, 2)), 90);
}

fn racy(threads: usize, increments: usize) -> u64 {
    classes(move || {
        racy_counter(threads, increments);
    })
}

#[test]
fn racy_counter_has_as_many_classes_as_there_are_traces() {
    assert_eq!(racy(2, 1), 4);
    assert_eq!(racy(2, 2), 34);
    assert_eq!(racy(3, 1), 36);
    assert_eq!(racy(3, 2), 7_134);
}

#[test]
fn philosophers_have_two_to_the_n_minus_one() {
    for count in 2..=9 {
        let report = exhaust(move || philosophers(count));
        assert_eq!(report.classes(), (1 << count) - 1, "{count} philosophers");
        assert_eq!(report.failures.len(), 1, "one deadlock for {count} philosophers");
        assert_eq!(report.failures[0].kind, FailureKind::Deadlock);
    }
}
