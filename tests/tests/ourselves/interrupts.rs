//! Ctrl-C: it ends the process, but not before every search that listens has been saved.

use std::sync::Mutex as Notes;

use raddle::thread;

use super::all;
use super::listeners::Listeners;
use super::own_sync::{Arc, Mutex};

/// A process, as the system sees it.
#[derive(Default)]
struct Process {
    has_handler: bool,
    /// Whether the signal has come to its handler.
    is_noted: bool,
    is_ended: bool,
    /// Searches that are to be saved, and those that are.
    listening: u32,
    saved: u32,
}

impl Process {
    /// The default action of the signal.
    fn end(&mut self) {
        // What happens to a process that has ended does not happen.
        if self.is_noted && !self.is_ended {
            assert_eq!(self.listening, self.saved, "somebody was not saved");
        }
        self.is_ended = true;
    }
}

/// A search that listens, is interrupted or comes to its end, and is saved or needs not to be.
fn search(listeners: &Listeners, process: &Mutex<Process>) -> bool {
    listeners.join(|| process.lock().unwrap().has_handler = true);
    process.lock().unwrap().listening += 1;
    let is_interrupted = listeners.came();
    process.lock().unwrap().saved += 1;
    listeners.leave(
        || process.lock().unwrap().has_handler = false,
        |_| process.lock().unwrap().end(),
    );
    is_interrupted
}

#[test]
fn a_signal_ends_the_process_after_everybody_was_saved() {
    let seen = Notes::new([false; 3]);
    all(|| {
        let (listeners, process) = (Arc::new(Listeners::new()), Arc::new(Mutex::default()));
        let searches = [0, 1].map(|_| {
            let (listeners, process) = (Arc::clone(&listeners), Arc::clone(&process));
            thread::spawn(move || search(&listeners, &process))
        });
        // The signal, whenever it comes.
        let was_noted = {
            let mut process = process.lock().unwrap();
            match process.has_handler {
                true => {
                    process.is_noted = true;
                    listeners.note(2);
                }
                false => process.end(),
            }
            process.is_noted
        };
        let interrupted = searches.map(|search| search.join().unwrap());
        assert!(process.lock().unwrap().is_ended, "a signal was lost");
        let interrupted = interrupted.iter().filter(|&&it| it).count();
        if was_noted {
            seen.lock().unwrap()[interrupted] = true;
        }
    });
    // None of them, one or both see it in time.
    assert_eq!(seen.into_inner().unwrap(), [true; 3]);
}
