#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom_below::Signal;

/// A value that is handed over.
struct Parcel(UnsafeCell<u32>);

unsafe impl Send for Parcel {}
unsafe impl Sync for Parcel {}

#[test]
fn a_signal_is_seen() {
    loom::model(|| {
        let signal = Arc::new(Signal::new());
        let other = Arc::clone(&signal);
        let setter = loom::thread::spawn(move || other.set());
        setter.join().unwrap();
        assert!(signal.is_set());
    });
}

#[test]
fn a_parcel_is_handed_over() {
    loom::model(|| {
        let shared = Arc::new((Signal::new(), Parcel(UnsafeCell::new(0))));
        let other = Arc::clone(&shared);
        let sender = loom::thread::spawn(move || {
            other.1.0.with_mut(|value| unsafe { *value = 7 });
            other.0.set();
        });
        if shared.0.is_set() {
            shared.1.0.with(|value| assert_eq!(unsafe { *value }, 7));
        }
        sender.join().unwrap();
    });
}
