//! An order that is only assumed. *Connection*, an example of alternatives: one thread resets a
//! connection, another makes it after long work and meets the user of it at a barrier; the reset
//! may come late. *Deferred init*: a worker starts before what it needs is there, and usually takes
//! longer to get going. *File swapped*: a file is checked and then opened, and another program
//! exchanges it in between and puts it back.
//!
//! Connection needs no preemption, only an unusual order. Deferred init: main is interrupted before
//! it has set what is needed (one). File swapped: the check must be over (one), and the opening
//! must come before the file is put back (two).

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[
    Story {
        name: "connection",
        pattern: "a late reset, which a barrier between two others does not order",
        buggy: || connection(|_| ()),
        correct: || connection(|reset| _ = reset.wait()),
        facts: Facts::new(FailureKind::Panic, 3, 0),
    },
    Story {
        name: "deferred_init",
        pattern: "a thread is started before what it needs is set",
        buggy: || init(true),
        correct: || init(false),
        facts: Facts::new(FailureKind::Panic, 1, 1),
    },
    Story {
        name: "file_swapped",
        pattern: "a file is checked by its name and opened by its name",
        buggy: || {
            open(|folder| {
                let checked = folder.load(SeqCst);
                (checked, folder.load(SeqCst))
            })
        },
        correct: || {
            open(|folder| {
                let opened = folder.load(SeqCst);
                (opened, opened)
            })
        },
        facts: Facts::new(FailureKind::Panic, 2, 2),
    },
];

struct Service {
    connection: AtomicUsize,
    work: AtomicUsize,
    /// Where who resets and who makes a connection meet, if they do.
    reset: Barrier,
    made: Barrier,
}

fn connection(meet: fn(&Barrier)) {
    let service = Arc::new(Service {
        connection: AtomicUsize::new(0),
        work: AtomicUsize::new(0),
        reset: Barrier::new(2),
        made: Barrier::new(2),
    });
    crowd(3, &service, move |service, number| match number {
        0 => {
            service.made.wait();
            let connection = service.connection.load(SeqCst);
            assert_ne!(connection, 0, "there is no connection");
        }
        1 => {
            for _ in 0..3 {
                service.work.fetch_add(1, SeqCst);
            }
            meet(&service.reset);
            service.connection.store(7, SeqCst);
            service.made.wait();
        }
        _ => {
            service.connection.store(0, SeqCst);
            meet(&service.reset);
        }
    });
}

fn init(late: bool) {
    let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let set = |settings: &AtomicUsize| settings.store(1, SeqCst);
    if !late {
        set(&shared.0);
    }
    let worker = Arc::clone(&shared);
    let thread = thread::spawn(move || {
        let (settings, warm_up) = &*worker;
        for _ in 0..4 {
            warm_up.fetch_add(1, SeqCst);
        }
        assert_eq!(settings.load(SeqCst), 1, "there are no settings");
    });
    shared.1.fetch_add(1, SeqCst);
    if late {
        set(&shared.0);
    }
    join([thread]);
}

/// What was checked and what was opened.
fn open(open: fn(&AtomicUsize) -> (usize, usize)) {
    const HARMLESS: usize = 1;
    const SECRET: usize = 2;
    crowd(
        2,
        &Arc::new(AtomicUsize::new(HARMLESS)),
        move |folder, number| {
            if number == 0 {
                for file in [SECRET, HARMLESS, SECRET, HARMLESS] {
                    folder.store(file, SeqCst);
                }
            } else {
                let (checked, opened) = open(folder);
                assert!(
                    checked != HARMLESS || opened != SECRET,
                    "a secret was opened"
                );
            }
        },
    );
}
