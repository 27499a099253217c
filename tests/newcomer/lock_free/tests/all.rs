use lock_free::{Epochs, Hazard, Mcs, Queue, Sequence, Stack};
use raddle::sync::Arc;
use raddle::thread;

/// Runs the first in a thread of its own, and the second here.
fn beside<T: Send + Sync + 'static, A: Send + 'static, B>(
    shared: &Arc<T>,
    one: fn(&T) -> A,
    other: fn(&T) -> B,
) -> (A, B) {
    let mine = Arc::clone(shared);
    let thread = thread::spawn(move || one(&mine));
    let result = other(shared);
    (thread.join().unwrap(), result)
}

#[raddle::test]
fn stack() {
    let stack = Arc::new(Stack::default());
    let (one, other) = beside(
        &stack,
        |stack| {
            stack.push(1, 10);
            stack.pop()
        },
        |stack| {
            stack.push(2, 20);
            stack.pop()
        },
    );
    let mut popped = [one.unwrap(), other.unwrap()];
    popped.sort_unstable();
    assert_eq!((popped, stack.pop()), ([10, 20], None));
}

#[raddle::test]
fn queue() {
    let queue = Arc::new(Queue::new());
    let (pushed, popped) = beside(
        &queue,
        |queue| [1, 2, 3].map(|value| queue.push(value)),
        |queue| [(); 2].map(|()| queue.pop()),
    );
    let rest = std::iter::from_fn(|| queue.pop());
    let all: Vec<_> = popped.into_iter().flatten().chain(rest).collect();
    let expected = (1..=3).zip(pushed).filter(|(_, is_in)| *is_in);
    assert_eq!(all, expected.map(|(value, _)| value).collect::<Vec<u32>>());
}

#[raddle::test]
fn two_producers() {
    let queue = Arc::new(Queue::new());
    let (one, other) = beside(&queue, |queue| queue.push(1), |queue| queue.push(2));
    let mut all: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
    all.sort_unstable();
    let expected: Vec<u32> = [(1, one), (2, other)].into_iter().filter(|it| it.1).map(|it| it.0).collect();
    assert_eq!(all, expected);
}

#[raddle::test]
fn two_consumers() {
    let queue = Arc::new(Queue::new());
    assert!(queue.push(1) && queue.push(2));
    let (one, other) = beside(&queue, Queue::pop, Queue::pop);
    let rest = std::iter::from_fn(|| queue.pop());
    let mut all: Vec<_> = one.into_iter().chain(other).chain(rest).collect();
    all.sort_unstable();
    assert_eq!(all, [1, 2]);
}

#[raddle::test]
fn sequence() {
    let sequence = Arc::new(Sequence::default());
    let write = |sequence: &Sequence| [1, 2].map(|round| sequence.write(round));
    let (_, seen) = beside(&sequence, write, Sequence::read);
    assert!(seen.is_none_or(|(left, right)| left == right));
}

#[raddle::test]
fn mcs() {
    let lock = Arc::new(Mcs::default());
    let twice = |lock: &Mcs| {
        lock.add(1);
        lock.add(1);
    };
    beside(&lock, twice, |lock| lock.add(2));
}

#[raddle::test]
fn hazard() {
    let hazard = Arc::new(Hazard::new());
    let (_, seen) = beside(&hazard, Hazard::replace, Hazard::read);
    assert!(matches!(seen, None | Some(10 | 20)));
}

#[raddle::test]
fn epochs() {
    let epochs = Arc::new(Epochs::new());
    let (_, seen) = beside(&epochs, Epochs::replace, |epochs| [epochs.read(), epochs.read()]);
    assert!(seen.iter().all(|value| [10, 20].contains(value)));
}
