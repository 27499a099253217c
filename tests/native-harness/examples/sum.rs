//! A program with an argument: how many threads add one.

fn main() {
    let threads = std::env::args().nth(1).expect("a number");
    let threads = threads.parse().expect("a number");
    assert_eq!(endings::count(threads), threads, "one is lost");
}
