use raddle::sync::Mutex;
use raddle::{label, thread};

pub fn dinner() {
    let forks = [Mutex::new(()), Mutex::new(())];
    label!("left fork", &forks[0]);
    label!("right fork", &forks[1]);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _left = forks[0].lock().unwrap();
            let _right = forks[1].lock().unwrap();
        });
        scope.spawn(|| {
            let _right = forks[1].lock().unwrap();
            let _left = forks[0].lock().unwrap();
        });
    });
}
