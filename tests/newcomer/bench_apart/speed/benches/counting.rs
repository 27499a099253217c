#![deny(warnings)]

// Compiles only where raddle's lock is std's own.
static TALLY: std::sync::Mutex<u32> = std::sync::Mutex::new(0);

fn main() {
    for _ in 0..1_000 {
        tally::count(&TALLY);
    }
    println!("{} counted", TALLY.lock().unwrap());
}
