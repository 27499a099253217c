//! A driver counts the requests in progress, so that it is not unloaded under them. A request first
//! looks whether the driver is being unloaded, and then counts itself in; in between the driver may
//! find the count at zero and unload. Retells the driver of Qadeer and Wu (PLDI 2004), a well-known
//! benchmark. The twin looks again once it is counted.
//!
//! One preemption, of the request between looking and counting; unloading must then be complete.
//! The busy driver has five threads that make two requests each.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[
    Story {
        name: "driver",
        pattern: "a request looks for a shutdown, then counts itself in",
        buggy: || run(2, 1, look_then_enter),
        correct: || run(2, 1, enter_then_look),
        facts: Facts::new(FailureKind::Panic, 3, 1),
    },
    Story {
        name: "driver_busy",
        pattern: "the same with many requests",
        buggy: || run(5, 2, look_then_enter),
        correct: || run(5, 2, enter_then_look),
        facts: Facts::large(FailureKind::Panic, 6),
    },
];

fn look_then_enter(driver: &Driver) -> bool {
    let stopping = driver.stopping.load(SeqCst);
    if !stopping {
        driver.enter();
    }
    !stopping
}

fn enter_then_look(driver: &Driver) -> bool {
    driver.enter();
    let stopping = driver.stopping.load(SeqCst);
    if stopping {
        driver.leave();
    }
    !stopping
}

struct Driver {
    stopping: AtomicBool,
    /// One for the driver itself, one for each request.
    users: AtomicUsize,
    is_idle: Mutex<bool>,
    idle: Condvar,
    unloaded: AtomicBool,
}

impl Driver {
    fn enter(&self) {
        self.users.fetch_add(1, SeqCst);
    }

    fn leave(&self) {
        if self.users.fetch_sub(1, SeqCst) == 1 {
            *self.is_idle.lock().unwrap() = true;
            self.idle.notify_all();
        }
    }

    fn unload(&self) {
        self.stopping.store(true, SeqCst);
        self.leave();
        let mut is_idle = self.is_idle.lock().unwrap();
        while !*is_idle {
            is_idle = self.idle.wait(is_idle).unwrap();
        }
        self.unloaded.store(true, SeqCst);
    }
}

fn run(users: usize, requests: usize, may_enter: fn(&Driver) -> bool) {
    let driver = Arc::new(Driver {
        stopping: AtomicBool::new(false),
        users: AtomicUsize::new(1),
        is_idle: Mutex::new(false),
        idle: Condvar::new(),
        unloaded: AtomicBool::new(false),
    });
    crowd(users + 1, &driver, move |driver, number| {
        if number == 0 {
            return driver.unload();
        }
        for _ in 0..requests {
            if may_enter(driver) {
                let unloaded = driver.unloaded.load(SeqCst);
                assert!(!unloaded, "a request in a driver that is gone");
                driver.leave();
            }
        }
    });
}
