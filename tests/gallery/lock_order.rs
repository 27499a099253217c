use raddle::sync::Mutex;
use raddle::thread;

pub fn one_after_the_other() {
    let (first, second) = (Mutex::new(()), Mutex::new(()));
    thread::scope(|scope| {
        let one = scope.spawn(|| {
            let _first = first.lock().unwrap();
            let _second = second.lock().unwrap();
        });
        one.join().unwrap();
        let _second = second.lock().unwrap();
        let _first = first.lock().unwrap();
    });
}
