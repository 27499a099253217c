//! Sessions that are shared: the last one who lets go says so, and those who look at how many there are may be
//! too early.

use std::sync::{Arc, Mutex, Weak};

/// What happened, in order.
pub type Log = Arc<Mutex<Vec<&'static str>>>;

/// Records in the log that its last handle was dropped.
pub struct Session {
    log: Log,
}

impl Session {
    pub fn open(log: &Log) -> Arc<Self> {
        Arc::new(Session {
            log: Arc::clone(log),
        })
    }

    pub fn work(&self) {
        self.log.lock().unwrap().push("worked");
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.log.lock().unwrap().push("closed");
    }
}

/// A session with a name, which goes first.
pub struct Named {
    pub name: Arc<String>,
    pub session: Session,
}

/// A session that lives as long as its users.
#[derive(Default)]
pub struct Cache {
    session: Mutex<Weak<Session>>,
}

impl Cache {
    /// The session, which is opened if there is none.
    pub fn get(&self, log: &Log) -> Arc<Session> {
        let mut session = self.session.lock().unwrap();
        session.upgrade().unwrap_or_else(|| {
            let new = Session::open(log);
            *session = Arc::downgrade(&new);
            new
        })
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn closed(log: &Log) -> usize {
        let log = log.lock().unwrap();
        log.iter().filter(|what| **what == "closed").count()
    }

    #[test]
    fn the_last_one_closes() {
        let log = Log::default();
        let session = Session::open(&log);
        let other = Arc::clone(&session);
        let worker = thread::spawn(move || other.work());
        session.work();
        drop(session);
        worker.join().unwrap();
        assert_eq!(*log.lock().unwrap(), ["worked", "worked", "closed"]);
    }

    #[test]
    fn whoever_works_last_closes() {
        let log = Log::default();
        let session = Session::open(&log);
        let other = Arc::clone(&session);
        let worker = thread::spawn(move || drop(other));
        session.work();
        drop(session);
        let closed_by_then = closed(&log);
        worker.join().unwrap();
        assert_eq!(closed_by_then, 1, "the other still had it");
    }

    #[test]
    fn the_last_one_closes_what_is_inside() {
        let log = Log::default();
        let named = Arc::new(Named {
            name: Arc::default(),
            session: Session {
                log: Arc::clone(&log),
            },
        });
        let other = Arc::clone(&named);
        let worker = thread::spawn(move || drop(other));
        drop(named);
        worker.join().unwrap();
        assert_eq!(closed(&log), 1);
    }

    #[test]
    fn the_last_one_closes_whoever_leaves_first() {
        let log = Log::default();
        let (ticket, session) = (Arc::new(()), Session::open(&log));
        let others = (Arc::clone(&ticket), Arc::clone(&session));
        let worker = thread::spawn(move || {
            drop(others.0);
            drop(others.1);
        });
        drop(session);
        drop(ticket);
        worker.join().unwrap();
        assert_eq!(closed(&log), 1);
    }

    #[test]
    fn one_of_two_gets_the_value() {
        let value = Arc::new(5);
        let other = Arc::clone(&value);
        let worker = thread::spawn(move || Arc::into_inner(other).is_some());
        let mine = Arc::into_inner(value).is_some();
        let theirs = worker.join().unwrap();
        assert!(mine != theirs);
    }

    #[test]
    fn one_of_two_gets_the_value_by_trying() {
        let value = Arc::new(5);
        let other = Arc::clone(&value);
        let worker = thread::spawn(move || Arc::try_unwrap(other).is_ok());
        let mine = Arc::try_unwrap(value).is_ok();
        let theirs = worker.join().unwrap();
        assert!(mine != theirs, "both have tried while there were two");
    }

    #[test]
    fn after_joining_there_is_one() {
        let value = Arc::new(5);
        let other = Arc::clone(&value);
        thread::spawn(move || drop(other)).join().unwrap();
        assert_eq!(Arc::try_unwrap(value), Ok(5));
    }

    #[test]
    fn before_joining_there_may_be_one() {
        let value = Arc::new(5);
        let other = Arc::clone(&value);
        let worker = thread::spawn(move || drop(other));
        assert_eq!(Arc::strong_count(&value), 2, "the other was faster");
        worker.join().unwrap();
    }

    #[test]
    fn two_users_have_a_session() {
        let log = Log::default();
        let cache = Cache::default();
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| cache.get(&log).work());
            }
        });
        let opened = closed(&log);
        assert!(opened == 1 || opened == 2);
    }

    #[test]
    fn two_users_have_one_session() {
        let log = Log::default();
        let cache = Cache::default();
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| cache.get(&log).work());
            }
        });
        assert_eq!(
            closed(&log),
            1,
            "the first was closed before the second came"
        );
    }
}
