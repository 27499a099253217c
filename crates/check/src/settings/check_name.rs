//! The name of the running check, by which schedules belong to it.

use std::cell::RefCell;
use std::collections::HashMap;

use raddle_engine::CheckName;

use crate::program::RunningBinary;
use crate::settings::checker::Checker;

thread_local! {
    /// Number of checks of each name that this thread has run. The harness gives each test a thread, or
    /// runs one after the other.
    static COUNTS: RefCell<HashMap<String, u32>> = RefCell::default();
}

/// A running check.
pub(crate) struct RunningCheck {
    /// `None` if neither the check nor its test has a name.
    pub(crate) name: Option<CheckName>,
    /// True when the name is that of the check, and not of the test.
    is_own: bool,
    /// True when it is part of a test, whose name may be unknown, and not of another program.
    in_test: bool,
}

/// Relation of a schedule to a check.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Belongs {
    /// The schedule is of this check, or its check is unknown.
    Here,
    /// The schedule is of another check, perhaps of the same test.
    Elsewhere,
    /// The schedule is of another test.
    AnotherTest,
}

impl RunningCheck {
    /// Counts the check that starts now; called once for each check.
    pub(crate) fn starting(checker: &Checker) -> Self {
        let harness = std::thread::current();
        let test = harness.name().filter(|&name| name != "main");
        let own = checker.named.as_deref();
        let name = own.or(test).map(|name| CheckName {
            test: name.to_owned(),
            number: COUNTS.with_borrow_mut(|counts| {
                let count = counts.entry(name.to_owned()).or_default();
                *count += 1;
                *count
            }),
        });
        RunningCheck {
            name,
            is_own: own.is_some() && test.is_some() && own != test,
            in_test: test.is_some() || RunningBinary::find().is_test,
        }
    }

    pub(crate) fn belongs(&self, schedule: Option<&CheckName>) -> Belongs {
        match (&self.name, schedule) {
            (_, None) => Belongs::Here,
            (None, _) if self.in_test => Belongs::Here,
            (None, _) => Belongs::Elsewhere,
            (Some(here), Some(there)) if here == there => Belongs::Here,
            (Some(here), Some(there)) if here.test == there.test => Belongs::Elsewhere,
            _ if self.is_own || !self.in_test => Belongs::Elsewhere,
            _ => Belongs::AnotherTest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(test: &str, number: u32) -> CheckName {
        CheckName {
            test: test.to_owned(),
            number,
        }
    }

    #[test]
    fn checks_of_one_name_are_counted() {
        let start = || RunningCheck::starting(&Checker::new().named("a"));
        assert_eq!(start().name, Some(check("a", 1)));
        assert_eq!(start().name, Some(check("a", 2)));
        let test = RunningCheck::starting(&Checker::new()).name.unwrap();
        assert!(test.test.ends_with("checks_of_one_name_are_counted"));
    }

    #[test]
    fn a_schedule_is_for_one_check() {
        let running = |is_own| RunningCheck {
            name: Some(check("a", 2)),
            is_own,
            in_test: true,
        };
        let belongs = |is_own, test, number| running(is_own).belongs(Some(&check(test, number)));
        assert_eq!(belongs(false, "a", 2), Belongs::Here);
        assert_eq!(belongs(false, "a", 1), Belongs::Elsewhere);
        assert_eq!(belongs(false, "b", 2), Belongs::AnotherTest);
        assert_eq!(belongs(true, "b", 2), Belongs::Elsewhere);
        assert_eq!(running(false).belongs(None), Belongs::Here);
        let unnamed = |in_test| RunningCheck {
            name: None,
            is_own: false,
            in_test,
        };
        let named = check("a", 1);
        assert_eq!(unnamed(true).belongs(Some(&named)), Belongs::Here);
        assert_eq!(unnamed(false).belongs(Some(&named)), Belongs::Elsewhere);
        assert_eq!(unnamed(false).belongs(None), Belongs::Here);
    }
}
