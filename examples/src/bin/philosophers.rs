//! Philosophers who all take the fork on their left first, until none gets a second one.
//!
//! ```console
//! cargo run -p raddle-examples --bin philosophers
//! ```
//!
//! `raddle::label!` gives things names for the report, here the forks.

use raddle::sync::Mutex;
use raddle::{Checker, Strategy, label, thread};

const SEATS: usize = 3;

/// Takes two forks in this order and eats.
fn eat(forks: &[Mutex<()>], first: usize, second: usize) {
    let _first = forks[first].lock().unwrap();
    let _second = forks[second].lock().unwrap();
}

fn dinner(take_left_first: impl Fn(usize) -> bool + Sync) {
    let forks: Vec<_> = (0..SEATS).map(|_| Mutex::new(())).collect();
    for (number, fork) in forks.iter().enumerate() {
        label!("fork {number}", fork);
    }
    let (forks, take_left_first) = (&forks, &take_left_first);
    thread::scope(|scope| {
        for seat in 0..SEATS {
            let (left, right) = (seat, (seat + 1) % SEATS);
            let name = ["ann", "bob", "cid"][seat].to_owned();
            thread::Builder::new()
                .name(name)
                .spawn_scoped(scope, move || match take_left_first(seat) {
                    true => eat(forks, left, right),
                    false => eat(forks, right, left),
                })
                .unwrap();
        }
    });
}

fn main() {
    let checker = || Checker::new().strategy(Strategy::Exhaustive);
    println!("All take the left fork first:");
    let report = checker()
        .named("philosophers")
        .keep_going(true)
        .run(|| dinner(|_| true));
    println!("{report}");

    println!("One of them takes the right fork first:");
    let report = checker().run(|| dinner(|seat| seat > 0));
    report.assert_ok();
}
