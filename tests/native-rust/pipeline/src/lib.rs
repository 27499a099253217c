//! Stages that pass on what they have worked on.

use crossbeam_channel::{Receiver, Sender, select};

/// Takes numbers until there are no more, and passes on their squares.
pub fn square(input: &Receiver<u64>, output: &Sender<u64>) {
    for number in input {
        output.send(number * number).unwrap();
    }
}

/// The sum of all that comes, from either side.
pub fn sum(left: &Receiver<u64>, right: &Receiver<u64>) -> u64 {
    let (mut sum, mut open) = (0, 2);
    let (mut left, mut right) = (left.clone(), right.clone());
    while open > 0 {
        select! {
            recv(left) -> number => match number {
                Ok(number) => sum += number,
                Err(_) => {
                    open -= 1;
                    left = crossbeam_channel::never();
                }
            },
            recv(right) -> number => match number {
                Ok(number) => sum += number,
                Err(_) => {
                    open -= 1;
                    right = crossbeam_channel::never();
                }
            },
        }
    }
    sum
}

/// The sum until one side has no more: what the other one still has is lost.
pub fn sum_of_the_shorter(left: &Receiver<u64>, right: &Receiver<u64>) -> u64 {
    let mut sum = 0;
    loop {
        let next = select! {
            recv(left) -> number => number,
            recv(right) -> number => number,
        };
        match next {
            Ok(number) => sum += number,
            Err(_) => return sum,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use crossbeam_channel::{bounded, unbounded};

    use super::*;

    #[test]
    fn squares() {
        let (numbers, input) = bounded(2);
        let (output, squares) = bounded(2);
        let stage = thread::spawn(move || square(&input, &output));
        numbers.send(2).unwrap();
        numbers.send(3).unwrap();
        drop(numbers);
        assert_eq!((squares.recv(), squares.recv()), (Ok(4), Ok(9)));
        assert!(squares.recv().is_err());
        stage.join().unwrap();
    }

    #[test]
    fn squares_without_room() {
        let (numbers, input) = bounded(1);
        let (output, squares) = bounded(1);
        let stage = thread::spawn(move || square(&input, &output));
        for number in 0..4 {
            numbers.send(number).unwrap();
        }
        drop(numbers);
        assert_eq!(squares.iter().sum::<u64>(), 14);
        stage.join().unwrap();
    }

    fn from_two(sum: fn(&Receiver<u64>, &Receiver<u64>) -> u64) {
        let (one, left) = unbounded();
        let (other, right) = unbounded();
        thread::scope(|scope| {
            scope.spawn(move || one.send(1).unwrap());
            scope.spawn(move || other.send(2).unwrap());
            assert_eq!(sum(&left, &right), 3);
        });
    }

    #[test]
    fn all_is_summed() {
        from_two(sum);
    }

    #[test]
    fn all_is_summed_from_the_shorter() {
        from_two(sum_of_the_shorter);
    }
}
