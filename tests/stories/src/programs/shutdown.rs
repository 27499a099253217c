//! Ways to end badly. *Poison pills*: each of two producers sends the only consumer a pill when it
//! has nothing more; the consumer goes home at the first one. *Early goodbye*: a receiver has all
//! that it was told to wait for and ends while a producer still sends. *Stop without notice*: a
//! flag is set without the lock, and a worker that has just looked at it waits for ever.
//!
//! The first two need no preemption, only an unusual order. Stop without notice: one, of the worker
//! between the look and the wait.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[
    Story {
        name: "poison_pills",
        pattern: "the first of several senders that end ends the receiver",
        buggy: || pills(1),
        correct: || pills(2),
        facts: Facts::new(FailureKind::Panic, 3, 0),
    },
    Story {
        name: "early_goodbye",
        pattern: "a receiver leaves while others still send",
        buggy: || {
            goodbye(|receiver| {
                receiver.recv().unwrap();
            })
        },
        correct: || goodbye(|receiver| receiver.iter().for_each(drop)),
        facts: Facts::new(FailureKind::Panic, 3, 0),
    },
    Story {
        name: "stop_without_notice",
        pattern: "a stop flag is set without the lock that guards the wait",
        buggy: || {
            stop(|worker| {
                worker.stop.store(true, SeqCst);
                worker.changed.notify_all();
            })
        },
        correct: || {
            stop(|worker| {
                let _held = worker.lock.lock().unwrap();
                worker.stop.store(true, SeqCst);
                worker.changed.notify_all();
            })
        },
        facts: Facts::new(FailureKind::LostWakeup, 3, 1),
    },
];

/// Producers send two jobs each, then a pill; the consumer ends after `enough` pills.
fn pills(enough: usize) {
    let (sender, receiver) = mpsc::channel();
    let producer = |sender: mpsc::Sender<Option<usize>>| {
        thread::spawn(move || {
            for job in 0..2 {
                sender.send(Some(job)).unwrap();
            }
            sender.send(None).unwrap();
        })
    };
    let producers = [producer(sender.clone()), producer(sender)];
    let consumer = thread::spawn(move || {
        let (mut jobs, mut pills) = (0, 0);
        while pills < enough {
            match receiver.recv().unwrap() {
                Some(_) => jobs += 1,
                None => pills += 1,
            }
        }
        assert_eq!(jobs, 4, "some jobs were not done");
        receiver
    });
    join(producers);
    drop(consumer.join().unwrap());
}

fn goodbye(receive: fn(&mpsc::Receiver<usize>)) {
    let (sender, receiver) = mpsc::channel();
    let start = |sender: mpsc::Sender<usize>, number| {
        thread::spawn(move || sender.send(number).expect("somebody listens"))
    };
    let senders = [start(sender.clone(), 1), start(sender, 2)];
    let receiver = thread::spawn(move || receive(&receiver));
    join(senders);
    join([receiver]);
}

#[derive(Default)]
struct Worker {
    stop: AtomicBool,
    lock: Mutex<()>,
    changed: Condvar,
}

fn stop(stop: fn(&Worker)) {
    crowd(3, &Arc::new(Worker::default()), move |worker, number| {
        if number == 0 {
            return stop(worker);
        }
        let mut guard = worker.lock.lock().unwrap();
        while !worker.stop.load(SeqCst) {
            guard = worker.changed.wait(guard).unwrap();
        }
    });
}
