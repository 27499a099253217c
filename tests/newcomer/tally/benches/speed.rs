//! A bench in the package itself: it measures the controlled types, which is not what is wanted.

fn main() {
    raddle::check(|| tally::Tally::new().add_one());
}
