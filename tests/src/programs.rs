//! Small programs with known numbers of classes.

use raddle::monitor::{Discipline, Monitor};
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::thread;

/// Starts `count` threads with numbers from 0 and waits for all of them.
pub fn run_threads(count: usize, body: impl Fn(usize) + Send + Sync + 'static) {
    let body = Arc::new(body);
    let threads: Vec<_> = (0..count)
        .map(|number| {
            let body = Arc::clone(&body);
            thread::spawn(move || body(number))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

/// Each thread takes the lock and counts, so many times.
pub fn mutex_counter(threads: usize, increments: usize) {
    let counter = Arc::new(Mutex::new(0));
    let shared = Arc::clone(&counter);
    run_threads(threads, move |_| {
        for _ in 0..increments {
            *shared.lock().unwrap() += 1;
        }
    });
}

/// Each thread loads and stores without a lock, so many times; main loads the result.
pub fn racy_counter(threads: usize, increments: usize) -> usize {
    let counter = Arc::new(AtomicUsize::new(0));
    let shared = Arc::clone(&counter);
    run_threads(threads, move |_| {
        for _ in 0..increments {
            let value = shared.load(SeqCst);
            shared.store(value + 1, SeqCst);
        }
    });
    counter.load(SeqCst)
}

/// Philosophers who all take the left fork first, and so may starve.
pub fn philosophers(count: usize) {
    let forks: Arc<Vec<_>> = Arc::new((0..count).map(|_| Mutex::new(())).collect());
    run_threads(count, move |seat| {
        let _left = forks[seat].lock().unwrap();
        let _right = forks[(seat + 1) % count].lock().unwrap();
    });
}

/// Philosophers in a monitor where the signaller makes way, who neither starve nor deadlock: a
/// hungry one whose neighbours do not starve either may declare itself starving, and then comes
/// before them.
pub fn dining(count: usize) {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        Thinking,
        Hungry,
        Eating,
        Starving,
    }
    use State::{Eating, Hungry, Starving, Thinking};
    /// Whether the philosopher may eat now.
    fn test(states: &mut [State], seat: usize) -> bool {
        let count = states.len();
        let neighbours = [
            states[(seat + count - 1) % count],
            states[(seat + 1) % count],
        ];
        let none = |excluded: &[State]| !neighbours.iter().any(|state| excluded.contains(state));
        if none(&[Eating, Starving]) && matches!(states[seat], Hungry | Starving) {
            states[seat] = Eating;
            return true;
        }
        if states[seat] == Hungry && none(&[Starving]) {
            states[seat] = Starving;
        }
        false
    }
    let table = Monitor::new(Discipline::SignalUrgent, vec![Thinking; count]);
    let chairs: Vec<_> = (0..count).map(|_| table.condition()).collect();
    run_threads(count, move |seat| {
        let mut states = table.enter();
        states[seat] = Hungry;
        if !test(&mut states, seat) {
            states.wait(chairs[seat]);
        }
        drop(states);
        let mut states = table.enter();
        states[seat] = Thinking;
        for neighbour in [(seat + count - 1) % count, (seat + 1) % count] {
            if test(&mut states, neighbour) {
                states.signal(chairs[neighbour]);
            }
        }
    });
}
