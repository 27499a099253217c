use std::sync::Arc;

#[raddle::test]
fn nothing_is_lost() {
    let counter = Arc::new(since::Counter::default());
    let other = Arc::clone(&counter);
    let thread = raddle::thread::spawn(move || other.add());
    counter.add();
    thread.join().unwrap();
    assert_eq!(counter.get(), 2, "an update was lost");
}
