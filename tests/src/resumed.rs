//! Searches that are interrupted again and again.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use raddle::{Checker, Level, Strategy};
use raddle_engine::SiteId;
use raddle_engine::frontier::Item;

use crate::compare::Classes;

/// A file that is removed when this is dropped.
pub struct Scratch(pub PathBuf);

impl Scratch {
    /// Creates the path of a new file in the folder for temporary files, with a unique name.
    pub fn new(name: &str) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let (process, number) = (std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let name = format!("raddle-{name}-{process}-{number}");
        Scratch(std::env::temp_dir().join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The file may not exist.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Returns every class of a program, by a search that is saved and resumed after this number of
/// executions. Panics if a class is found twice, or if the counts are not those of one search.
pub fn in_pieces(checker: &Checker, executions: u64, program: impl Fn() + Send + Sync) -> Classes {
    let file = Scratch::new("pieces");
    let mut classes = Classes::new();
    loop {
        let checker = checker
            .clone()
            .strategy(Strategy::Exhaustive)
            .keep_going(true)
            .shorten(false)
            .lock_order(Level::Allow)
            .checkpoint(&file.0)
            .checkpoint_every_executions(u64::MAX)
            .resume(true)
            .max_executions(executions);
        let report = raddle::__private::run_observed(checker, &program, &mut |execution| {
            assert!(classes.insert(execution.class()), "a class was run twice");
        });
        assert_eq!(report.executions, classes.len() as u64, "{report}");
        assert_eq!(report.classes(), report.executions, "{report}");
        assert_eq!(report.resume.is_some(), file.0.exists(), "{report}");
        if report.exhausted {
            assert!(!file.0.exists(), "what has come to its end is not kept");
            return classes;
        }
        assert!(report.resume.is_some(), "{report}");
        read_and_write(&std::fs::read_to_string(&file.0).unwrap());
    }
}

/// Panics unless items are the same after writing and reading them.
fn read_and_write(text: &str) {
    let items: Vec<&str> = text.split_inclusive("\nend\n").collect();
    let (_checksum, items) = items.split_last().expect("there is a last line");
    for item in items {
        let text = &item[item.find("item ").expect("an item")..];
        let places = RefCell::new(Vec::new());
        let item = Item::read(&mut text.lines(), |place| {
            places.borrow_mut().push(place.to_owned());
            SiteId::new(places.borrow().len() - 1)
        });
        let place = |site: SiteId| places.borrow().get(site.index()).cloned();
        assert_eq!(item.expect("an item").to_text(place), text);
    }
}
