use raddle::thread;

pub fn recursion() {
    fn sum(numbers: &[u64]) -> u64 {
        let frame = std::hint::black_box([1; 64]);
        match numbers {
            [] => 0,
            [first, ..] => first * frame[0] + sum(numbers),
        }
    }
    thread::spawn(|| sum(&[1, 2, 3])).join().unwrap();
}
