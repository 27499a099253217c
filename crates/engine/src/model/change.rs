//! Changes of single operations: the program runs as if one of its lines were different.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use super::operation::Operation;
use crate::object::{self, condvar, parker, semaphore};

/// A change of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Change {
    /// A stronger ordering, which also raises the failure ordering of an update as far as it allows.
    Stronger(Ordering),
    /// Another ordering of an access or a fence; of a compare-exchange, when it succeeds.
    Ordering(Ordering),
    /// Another ordering of a compare-exchange that fails.
    Failure(Ordering),
    /// A notification of one waiter instead of all.
    NotifyOne,
    /// No operation: of a fence, a notification, or the return of a permit.
    Omit,
}

impl Change {
    /// Returns the changed operation; `None` if there is none. An operation that the change does not fit stays as it
    /// is.
    pub(crate) fn apply(self, mut operation: Operation) -> Option<Operation> {
        match (self, &mut operation) {
            (Change::Stronger(ordering), _) => return Some(operation.with(ordering)),
            (
                Change::Ordering(new),
                Operation::Load { ordering, .. }
                | Operation::Store { ordering, .. }
                | Operation::Update { ordering, .. }
                | Operation::Fence { ordering },
            ) => *ordering = new,
            (Change::Failure(new), Operation::Update { failure, .. }) => *failure = new,
            (Change::NotifyOne, Operation::Call { call, .. }) if is_notify_all(call) => {
                *call = condvar::Call::NotifyOne.into();
            }
            (Change::Omit, operation) if may_be_omitted(operation) => return None,
            _ => {}
        }
        Some(operation)
    }

    /// Returns the changes by which an operation does less, the smallest first.
    pub fn weaker(operation: &Operation) -> Vec<Change> {
        let orderings = match operation {
            Operation::Load { ordering, .. } => weaker_load(*ordering),
            Operation::Store { ordering, .. } => match ordering {
                SeqCst => &[Release, Relaxed][..],
                Release => &[Relaxed],
                _ => &[],
            },
            Operation::Update { ordering, .. } => match ordering {
                SeqCst => &[AcqRel, Acquire, Release, Relaxed][..],
                AcqRel => &[Acquire, Release, Relaxed],
                Acquire | Release => &[Relaxed],
                _ => &[],
            },
            Operation::Fence { ordering } => match ordering {
                SeqCst => &[AcqRel, Acquire, Release][..],
                AcqRel => &[Acquire, Release],
                _ => &[],
            },
            _ => &[],
        };
        let mut changes: Vec<_> = orderings.iter().copied().map(Change::Ordering).collect();
        if let Some(failure) = operation.ordering_of_failure() {
            changes.extend(weaker_load(failure).iter().copied().map(Change::Failure));
        }
        if matches!(operation, Operation::Call { call, .. } if is_notify_all(call)) {
            changes.push(Change::NotifyOne);
        }
        if may_be_omitted(operation) {
            changes.push(Change::Omit);
        }
        changes
    }
}

fn weaker_load(ordering: Ordering) -> &'static [Ordering] {
    match ordering {
        SeqCst => &[Acquire, Relaxed],
        Acquire => &[Relaxed],
        _ => &[],
    }
}

fn is_notify_all(call: &object::Call) -> bool {
    *call == condvar::Call::NotifyAll.into()
}

/// True for an operation that returns nothing and waits for nothing.
fn may_be_omitted(operation: &Operation) -> bool {
    match operation {
        Operation::Fence { .. } => true,
        Operation::Call { call, .. } => [
            condvar::Call::NotifyOne.into(),
            condvar::Call::NotifyAll.into(),
            parker::Call::Unpark.into(),
            semaphore::Call::Release.into(),
        ]
        .contains(call),
        _ => false,
    }
}

const FAILURE: &str = "failure=";

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Stronger(ordering) | Change::Ordering(ordering) => write!(f, "{ordering:?}"),
            Change::Failure(ordering) => write!(f, "{FAILURE}{ordering:?}"),
            Change::NotifyOne => f.write_str("notify-one"),
            Change::Omit => f.write_str("omit"),
        }
    }
}

impl FromStr for Change {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ordering = |name: &str| {
            let all = [Relaxed, Acquire, Release, AcqRel, SeqCst];
            let known = all
                .into_iter()
                .find(|ordering| format!("{ordering:?}") == name);
            known.ok_or_else(|| {
                format!("`{text}` is no change: an ordering, failure=ORDERING, notify-one or omit")
            })
        };
        match text {
            "notify-one" => Ok(Change::NotifyOne),
            "omit" => Ok(Change::Omit),
            _ => match text.strip_prefix(FAILURE) {
                Some(name) => ordering(name).map(Change::Failure),
                None => ordering(text).map(Change::Ordering),
            },
        }
    }
}

/// A change of the operations at a site that have this label.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangedSite<S> {
    /// The site.
    pub site: S,
    /// [Label](Operation::label) of the operation; any if empty.
    pub label: String,
    /// The change.
    pub change: Change,
}

impl<S> ChangedSite<S> {
    /// Returns the same change of another site.
    pub fn at<T>(&self, site: T) -> ChangedSite<T> {
        ChangedSite {
            site,
            label: self.label.clone(),
            change: self.change,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::{LocationId, ObjectId};
    use crate::model::operation::{Update, UpdateKind};

    fn exchange(ordering: Ordering, failure: Ordering) -> Operation {
        let kind = UpdateKind::CompareExchange {
            expected: 0,
            new: 1,
            weak: false,
        };
        Operation::Update {
            location: LocationId::new(0),
            ordering,
            failure,
            update: Update { kind, bits: 8 },
        }
    }

    #[test]
    fn every_change_is_weaker_and_has_a_text() {
        let location = LocationId::new(0);
        let call = |call| Operation::Call {
            object: ObjectId::new(0),
            call,
        };
        let cases = [
            (
                Operation::Load {
                    location,
                    ordering: SeqCst,
                },
                "Acquire Relaxed",
            ),
            (
                Operation::Load {
                    location,
                    ordering: Relaxed,
                },
                "",
            ),
            (
                exchange(AcqRel, Acquire),
                "Acquire Release Relaxed failure=Relaxed",
            ),
            (exchange(Relaxed, Relaxed), ""),
            (
                Operation::Fence { ordering: SeqCst },
                "AcqRel Acquire Release omit",
            ),
            (Operation::Fence { ordering: Release }, "omit"),
            (call(condvar::Call::NotifyAll.into()), "notify-one omit"),
            (call(condvar::Call::NotifyOne.into()), "omit"),
            (call(parker::Call::Unpark.into()), "omit"),
            (call(parker::Call::Park { timeout: false }.into()), ""),
        ];
        for (operation, expected) in cases {
            let changes = Change::weaker(&operation);
            let texts: Vec<_> = changes.iter().map(ToString::to_string).collect();
            assert_eq!(texts.join(" "), expected, "{operation:?}");
            for (change, text) in changes.iter().zip(texts) {
                assert_eq!(text.parse(), Ok(*change));
                assert_ne!(
                    change.apply(operation),
                    Some(operation),
                    "{change} of {operation:?}"
                );
            }
        }
    }

    #[test]
    fn a_change_of_success_leaves_failure_alone() {
        let changed = Change::Ordering(Release)
            .apply(exchange(SeqCst, SeqCst))
            .unwrap();
        assert_eq!(
            (changed.ordering(), changed.ordering_of_failure()),
            (Some(Release), Some(SeqCst))
        );
        let changed = Change::Failure(Relaxed)
            .apply(exchange(SeqCst, SeqCst))
            .unwrap();
        assert_eq!(
            (changed.ordering(), changed.ordering_of_failure()),
            (Some(SeqCst), Some(Relaxed))
        );
        assert_eq!(
            Change::Omit.apply(exchange(SeqCst, SeqCst)),
            Some(exchange(SeqCst, SeqCst))
        );
        assert!("weaker".parse::<Change>().is_err());
    }
}
