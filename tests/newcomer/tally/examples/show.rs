//! Names `raddle::check`, which exists only with the feature `check`.

fn main() {
    raddle::check(|| assert_eq!(tally::Tally::new().total(), 0));
    println!("checked");
}
