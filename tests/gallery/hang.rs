pub fn takes_a_lock_of_std_twice() {
    let ours = raddle::sync::Mutex::new(0);
    let theirs = std::sync::Mutex::new(0);
    *ours.lock().unwrap() += 1;
    let _held = theirs.lock().unwrap();
    *theirs.lock().unwrap() += 1;
}
