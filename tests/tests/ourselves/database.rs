//! The file of what checks remember: only an unusable file is put aside, and nothing else is lost.

use std::sync::Mutex as Notes;

use raddle::thread;

use super::all;
use super::aside::{Aside, Folder, set_aside};
use super::own_sync::{Arc, Mutex, MutexGuard};

/// A folder with one name in it. Every method is one step, as it is for the system.
#[derive(Default)]
struct Modelled {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    files: Vec<File>,
    /// Which of them has the name.
    current: Option<usize>,
    aside: Vec<usize>,
}

#[derive(Default)]
struct File {
    is_broken: bool,
    is_locked: bool,
    content: Vec<char>,
}

/// A lock of a file, whatever its name is by now.
struct Turn<'a> {
    folder: &'a Modelled,
    file: usize,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.folder.state().files[self.file].is_locked = false;
    }
}

/// The folder as one of those sees it that use it.
struct View<'a>(&'a Modelled);

impl<'a> Folder for View<'a> {
    type Identity = usize;
    type Turn = Turn<'a>;
    type Name = ();

    fn current(&self) -> Option<usize> {
        self.0.state().current
    }

    /// To open it and to lock it are two steps.
    fn take_turn(&self) -> Option<Turn<'a>> {
        let file = self.0.state().current?;
        self.0.lock(file)
    }

    fn move_away(&self) -> Option<()> {
        let mut state = self.0.state();
        let moved = state.current.take();
        state.aside.extend(moved);
        moved.map(|_| ())
    }
}

impl Modelled {
    /// A folder with a broken file.
    fn broken() -> Self {
        let folder = Modelled::default();
        let mut state = folder.state();
        state.files.push(File {
            is_broken: true,
            ..File::default()
        });
        state.current = Some(0);
        drop(state);
        folder
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The file that has the name, new if there is none.
    fn open(&self) -> usize {
        let mut state = self.state();
        if let Some(file) = state.current {
            return file;
        }
        state.files.push(File::default());
        let file = state.files.len() - 1;
        *state.current.insert(file)
    }

    fn lock(&self, file: usize) -> Option<Turn<'_>> {
        let mut state = self.state();
        let file_state = &mut state.files[file];
        let is_free = !std::mem::replace(&mut file_state.is_locked, true);
        is_free.then(|| Turn { folder: self, file })
    }

    /// Adds to the file that was opened; `false` if it is broken.
    fn write(&self, turn: &Turn<'_>, text: char) -> bool {
        let mut state = self.state();
        let file = &mut state.files[turn.file];
        if !file.is_broken {
            file.content.push(text);
        }
        !file.is_broken
    }
}

/// What came of attempts to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Outcome {
    written: bool,
    set_aside: usize,
}

/// As `RunsFile::with` and its callers do it: up to `attempts` attempts, until the text is written.
fn write(folder: &Modelled, text: char, attempts: u32) -> Outcome {
    let mut outcome = Outcome::default();
    for _ in 0..attempts {
        let file = folder.open();
        let Some(turn) = folder.lock(file) else {
            continue;
        };
        outcome.written = folder.write(&turn, text);
        drop(turn);
        if outcome.written {
            break;
        }
        match set_aside(&View(folder), &file) {
            Aside::Moved(()) => outcome.set_aside += 1,
            Aside::Stays => unreachable!("it can be moved"),
            Aside::NotOurs => {}
        }
    }
    outcome
}

#[test]
fn only_the_broken_file_is_put_aside_and_nothing_else_is_lost() {
    let seen = Notes::new(Vec::new());
    all(|| {
        let folder = Arc::new(Modelled::broken());
        let other = {
            let folder = Arc::clone(&folder);
            thread::spawn(move || write(&folder, 'a', 2))
        };
        let outcomes = [write(&folder, 'b', 1), other.join().unwrap()];
        let state = folder.state();
        // The outcomes count every file that was put aside, and only the broken one was.
        let set_aside = outcomes.iter().map(|outcome| outcome.set_aside).sum();
        assert_eq!(state.aside, vec![0; set_aside]);
        // What was written is where others find it.
        let found = state.current.map(|file| state.files[file].content.clone());
        let mut found = found.unwrap_or_default();
        found.sort_unstable();
        let written = "ab".chars().zip([outcomes[1], outcomes[0]]);
        let written = written.filter(|(_, outcome)| outcome.written);
        assert!(written.map(|(text, _)| text).eq(found));
        let mut seen = seen.lock().unwrap();
        if !seen.contains(&outcomes) {
            seen.push(outcomes);
        }
    });
    // One of them puts it aside, and the other one finds the new file, or comes too late for everything.
    let seen = seen.into_inner().unwrap();
    let has = |set_aside: [usize; 2], written: [bool; 2]| {
        seen.iter().any(|outcomes| {
            outcomes.map(|it| it.set_aside) == set_aside && outcomes.map(|it| it.written) == written
        })
    };
    assert!(has([0, 1], [true, true]) && has([0, 1], [false, true]) && has([1, 0], [false, true]));
}
