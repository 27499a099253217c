//! Programs that pass messages, with known numbers of classes.

use std::sync::Mutex as StdMutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use raddle::port::{Port, Sender};
use raddle::sync::{Arc, Semaphore};
use raddle::thread;

use crate::programs::run_threads;

/// Producers and consumers that each call a server once. The server has `slots` slots and selects
/// among the calls it can serve.
pub fn selecting_buffer(producers: usize, consumers: usize, slots: usize) {
    let (deposit, withdraw) = (Port::synchronous(), Port::synchronous());
    let (depositor, withdrawer) = (deposit.sender(), withdraw.sender());
    let server = thread::spawn(move || {
        let mut full = 0;
        for _ in 0..producers + consumers {
            raddle::select! {
                () = deposit.receive(), when full < slots => full += 1,
                () = withdraw.receive(), when full > 0 => full -= 1,
            }
        }
    });
    run_threads(producers + consumers, move |number| {
        if number < producers {
            depositor.send(());
        } else {
            withdrawer.send(());
        }
    });
    server.join().unwrap();
}

/// Readers and writers that send a request to a server before an access and a message after it. The
/// server admits any number of readers, or one writer.
pub fn selecting_readers_and_writers(readers: usize, writers: usize) {
    let (start_read, end_read) = (Port::synchronous(), Port::synchronous());
    let (start_write, end_write) = (Port::synchronous(), Port::synchronous());
    let reading = (start_read.sender(), end_read.sender());
    let writing = (start_write.sender(), end_write.sender());
    let server = thread::spawn(move || {
        let (mut inside, mut written) = (0, false);
        for _ in 0..2 * (readers + writers) {
            raddle::select! {
                () = start_read.receive(), when !written => inside += 1,
                () = start_write.receive(), when !written && inside == 0 => written = true,
                () = end_read.receive() => inside -= 1,
                () = end_write.receive() => written = false,
            }
        }
    });
    run_threads(readers + writers, move |number| {
        let (start, end) = if number < readers { &reading } else { &writing };
        start.send(());
        end.send(());
    });
    server.join().unwrap();
}

/// Processes that request entry from all others, after Ricart and Agrawala. Each is two threads:
/// one enters, and one replies to the others' requests.
pub fn distributed_mutual_exclusion(processes: usize) {
    let (requests, replies) = (ports(processes), ports(processes));
    let (to_request, to_reply) = (senders(&requests), senders(&replies));
    let inside = Arc::new(AtomicUsize::new(0));
    let mut threads = Vec::new();
    for (own, (request, reply)) in requests.into_iter().zip(replies).enumerate() {
        let process = Arc::new(Process {
            own,
            others: (0..processes).filter(|&other| other != own).collect(),
            to_request: to_request.clone(),
            to_reply: to_reply.clone(),
            mutex: Semaphore::new(1),
            state: StdMutex::default(),
        });
        let (same, inside) = (Arc::clone(&process), Arc::clone(&inside));
        threads.push(thread::spawn(move || {
            process.request(&reply);
            assert_eq!(inside.fetch_add(1, SeqCst), 0, "two are inside");
            inside.fetch_sub(1, SeqCst);
            process.leave();
        }));
        threads.push(thread::spawn(move || same.answer(&request)));
    }
    for thread in threads {
        thread.join().unwrap();
    }
}

fn ports<T>(count: usize) -> Vec<Port<T>> {
    (0..count).map(|_| Port::asynchronous()).collect()
}

fn senders<T>(ports: &[Port<T>]) -> Vec<Sender<T>> {
    ports.iter().map(Port::sender).collect()
}

/// The state that the two threads of a process share.
struct Process {
    own: usize,
    others: Vec<usize>,
    to_request: Vec<Sender<(usize, usize)>>,
    to_reply: Vec<Sender<()>>,
    mutex: Semaphore,
    state: StdMutex<State>,
}

#[derive(Default)]
struct State {
    requesting: bool,
    number: usize,
    highest: usize,
    deferred: Vec<usize>,
}

impl Process {
    fn with_state<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        self.mutex.acquire();
        let result = change(&mut self.state.lock().unwrap());
        self.mutex.release();
        result
    }

    /// Requests entry from all others, and waits for their replies.
    fn request(&self, reply: &Port<()>) {
        let number = self.with_state(|state| {
            state.requesting = true;
            state.number = state.highest + 1;
            state.number
        });
        for &other in &self.others {
            self.to_request[other].send((number, self.own));
        }
        for _ in &self.others {
            reply.receive();
        }
    }

    /// Replies to the deferred requests.
    fn leave(&self) {
        let mut deferred = self.with_state(|state| {
            state.requesting = false;
            std::mem::take(&mut state.deferred)
        });
        deferred.sort();
        for other in deferred {
            self.to_reply[other].send(());
        }
    }

    /// Replies to each of the others, now or later.
    fn answer(&self, request: &Port<(usize, usize)>) {
        for _ in &self.others {
            let (number, other) = request.receive();
            let defer = self.with_state(|state| {
                state.highest = state.highest.max(number);
                let defer = state.requesting && (state.number, self.own) < (number, other);
                if defer {
                    state.deferred.push(other);
                }
                defer
            });
            if !defer {
                self.to_reply[other].send(());
            }
        }
    }
}
