//! A test with a `main` of its own.

fn main() {
    assert_eq!(endings::count(2), 2, "one is lost");
}
