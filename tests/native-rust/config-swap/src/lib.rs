//! Settings that are replaced as a whole while everybody reads them.

use std::sync::Arc;

use arc_swap::ArcSwap;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    pub level: u32,
    pub limit: u32,
}

#[derive(Default)]
pub struct Current {
    settings: ArcSwap<Settings>,
}

impl Current {
    pub fn get(&self) -> Arc<Settings> {
        self.settings.load_full()
    }

    pub fn change(&self, change: impl Fn(&mut Settings)) {
        self.settings.rcu(|old| {
            let mut new = Settings::clone(old);
            change(&mut new);
            new
        });
    }

    /// Replaces what it has not seen, too.
    pub fn change_by_store(&self, change: impl Fn(&mut Settings)) {
        let mut new = Settings::clone(&self.settings.load());
        change(&mut new);
        self.settings.store(Arc::new(new));
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn settings_are_read_as_a_whole() {
        let current = Current::default();
        thread::scope(|scope| {
            scope.spawn(|| current.change(|new| (new.level, new.limit) = (1, 1)));
            let settings = current.get();
            assert_eq!(settings.level, settings.limit);
        });
    }

    type Change<'a> = &'a dyn Fn(&mut Settings);

    fn both_changes(change: fn(&Current, Change)) {
        let current = Current::default();
        thread::scope(|scope| {
            scope.spawn(|| change(&current, &|new| new.level = 1));
            change(&current, &|new| new.limit = 1);
        });
        let expected = Settings { level: 1, limit: 1 };
        assert_eq!(*current.get(), expected, "a change was lost");
    }

    #[test]
    fn both_changes_are_kept() {
        both_changes(|current, change| current.change(change));
    }

    #[test]
    fn both_changes_are_kept_by_store() {
        both_changes(|current, change| current.change_by_store(change));
    }
}
