//! Random programs of two tasks: the search has the classes and results of all schedules.
//!
//! Each operation polls a future once and drops it, so that no program waits for ever.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tokio::sync::{Mutex, Notify, RwLock, Semaphore, broadcast, mpsc, watch};

use super::counts::classes;

/// Number of programs.
const PROGRAMS: u64 = 60;

/// Operations of a task in one program.
const OPERATIONS: usize = 2;

struct Shared {
    permits: Semaphore,
    lock: Mutex<u8>,
    both: RwLock<u8>,
    notify: Notify,
    sender: mpsc::UnboundedSender<u8>,
    bounded: mpsc::Sender<u8>,
    watched: watch::Sender<u8>,
    news: broadcast::Sender<u8>,
}

struct Own {
    messages: Option<mpsc::UnboundedReceiver<u8>>,
    few: Option<mpsc::Receiver<u8>>,
    watching: watch::Receiver<u8>,
    news: broadcast::Receiver<u8>,
}

/// Polls a future once; returns whether it was ready.
fn once<T>(future: impl Future<Output = T>, of: impl FnOnce(T) -> u8) -> u8 {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => of(output),
        Poll::Pending => 100,
    }
}

/// Performs the operation with this number; returns its result.
async fn perform(operation: u64, shared: &Shared, own: &mut Own) -> u8 {
    match operation {
        0 => once(shared.permits.acquire(), |permit| permit.is_ok().into()),
        1 => match shared.permits.try_acquire() {
            Ok(permit) => {
                // Kept for good, so that later requests wait.
                permit.forget();
                1
            }
            Err(_) => 0,
        },
        2 => {
            shared.permits.add_permits(1);
            0
        }
        3 => shared.permits.available_permits() as u8,
        4 => {
            let mut value = shared.lock.lock().await;
            *value += 1;
            *value
        }
        5 => once(shared.both.write(), |mut value| {
            *value += 1;
            *value
        }),
        6 => once(shared.both.read(), |value| *value),
        7 => {
            shared.notify.notify_one();
            0
        }
        8 => once(shared.notify.notified(), |()| 1),
        9 => shared.sender.send(operation as u8).is_ok().into(),
        10 => match &mut own.messages {
            Some(messages) => messages.try_recv().unwrap_or(101),
            None => u8::from(shared.sender.is_closed()),
        },
        11 => shared.bounded.try_send(1).is_ok().into(),
        12 => match &mut own.few {
            Some(few) => once(few.recv(), |message| message.unwrap_or(102)),
            None => shared.bounded.capacity() as u8,
        },
        13 => shared.watched.send_replace(3),
        14 => once(own.watching.changed(), |changed| changed.is_ok().into()),
        15 => shared.news.send(1).map_or(103, |receivers| receivers as u8),
        _ => own.news.try_recv().unwrap_or(104),
    }
}

/// Runs one program; returns the results of both tasks.
async fn program(operations: [[u64; OPERATIONS]; 2]) -> [[u8; OPERATIONS]; 2] {
    let (sender, messages) = mpsc::unbounded_channel();
    let (bounded, few) = mpsc::channel(1);
    let (watched, watching) = watch::channel(0);
    let (news, newcomer) = broadcast::channel(1);
    let mut main = Own {
        messages: Some(messages),
        few: Some(few),
        watching: watching.clone(),
        news: newcomer,
    };
    let mut other = Own {
        messages: None,
        few: None,
        watching,
        news: news.subscribe(),
    };
    let shared = Arc::new(Shared {
        permits: Semaphore::new(1),
        lock: Mutex::new(0),
        both: RwLock::new(0),
        notify: Notify::new(),
        sender,
        bounded,
        watched,
        news,
    });
    let theirs = Arc::clone(&shared);
    let [first, second] = operations;
    let task = tokio::spawn(async move {
        let mut results = [0; OPERATIONS];
        for (result, operation) in results.iter_mut().zip(second) {
            *result = perform(operation, &theirs, &mut other).await;
        }
        // The drops of what it has are operations too, which this program does not explore.
        std::mem::forget((theirs, other));
        results
    });
    let mut results = [0; OPERATIONS];
    for (result, operation) in results.iter_mut().zip(first) {
        *result = perform(operation, &shared, &mut main).await;
    }
    let both = [results, task.await.unwrap()];
    std::mem::forget((shared, main));
    both
}

#[test]
fn random_programs_have_the_classes_of_all_their_schedules() {
    let mut state = 7_u64;
    let mut draw = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    };
    let (mut most, mut several) = (0, 0);
    for _ in 0..PROGRAMS {
        // Related operations, so that they meet.
        let base = draw(17);
        let operations = [(); 2].map(|()| [(); OPERATIONS].map(|()| (base + draw(4)) % 17));
        let (count, outcomes) = classes(async || program(operations).await);
        most = most.max(count);
        several += u32::from(outcomes.len() > 1);
    }
    assert!(
        most > 4 && several > 20,
        "{most} classes, {several} with several results"
    );
}
