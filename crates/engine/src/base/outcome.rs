//! Outcomes of operations, and their encoding as numbers.
//!
//! The outcomes of an operation are numbered from 0, and schedules contain these numbers. The
//! meaning of a number depends on the operation:
//!
//! | operation | outcome |
//! | --- | --- |
//! | load | number of writes between the source and the coherence-last write |
//! | store, hang-up | number of writes after it in coherence order |
//! | update | twice the number of a load, plus 1 if it fails spuriously |
//! | is-finished | 1 if the end of the thread does not happen before the question |
//! | choice | the chosen alternative |
//! | chance, condition-variable wait, question for the leader | 1 for yes |
//! | notify-one | position of the notified thread among the waiting ones |
//! | receive | position of the message among those that can be received |
//! | barrier wait | number of the group among the possible ones |
//!
//! All other operations have one outcome. A [`Resolution`] is an outcome without the part that
//! follows from the source.

/// Outcome of an operation in a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Outcome(u32);

/// The part of an event's outcome that its source does not determine: spurious failure of an update,
/// chosen alternative, notified thread, answer of a question. Two events with the same source and the
/// same resolution are the same in all executions of a class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Resolution(u32);

/// Defines the constructors and number forms of both types.
macro_rules! numbered {
    ($($type:ident),*) => {
        $(impl $type {
            /// The first, which is always possible: the coherence-last write, the first alternative, no
            /// spurious failure.
            pub const FIRST: Self = $type(0);

            /// Returns the one with this number.
            #[inline]
            pub const fn nth(number: u32) -> Self {
                $type(number)
            }

            /// Returns the number, for schedules and other text forms.
            #[inline]
            pub const fn number(self) -> u32 {
                self.0
            }

            /// True for the first.
            #[inline]
            pub const fn is_first(self) -> bool {
                self.0 == 0
            }

            /// Returns the outcome of a question, a chance, or a wait that may end spuriously.
            #[inline]
            pub fn of_answer(yes: bool) -> Self {
                $type(u32::from(yes))
            }

            /// True for the answer yes of a question, a chance, or a wait that may end spuriously.
            #[inline]
            pub const fn is_yes(self) -> bool {
                self.0 == 1
            }
        })*
    };
}

numbered! { Outcome, Resolution }

impl Outcome {
    /// Returns the outcome of a load or a store with this number of later writes in coherence
    /// order.
    #[inline]
    pub(crate) fn of_access(back: u32) -> Self {
        Outcome(back)
    }

    /// Returns the outcome of an update that reads the write with this number of later ones in
    /// coherence order.
    #[inline]
    pub(crate) fn of_update(back: u32, resolution: Resolution) -> Self {
        Outcome(back << 1 | resolution.0 & 1)
    }

    /// Returns the number of later writes in coherence order, of a load or a store.
    #[inline]
    pub(crate) const fn back(self) -> u32 {
        self.0
    }

    /// Returns the number of later writes in coherence order, of an update.
    #[inline]
    pub(crate) const fn back_of_update(self) -> u32 {
        self.0 >> 1
    }

    /// True for an update that fails although it read the expected value.
    #[inline]
    pub const fn fails_spuriously(self) -> bool {
        self.0 & 1 == 1
    }

    /// Returns the outcome of the same update if it reads the coherence-last write.
    #[inline]
    pub(crate) fn at_last(self) -> Self {
        Outcome::of_update(0, self.resolution_of_update())
    }

    /// Returns the number of outcomes of an update that may read this number of writes.
    #[inline]
    pub(crate) fn count_of_update(reach: u32) -> u32 {
        reach << 1
    }

    /// True when the end of the thread that an is-finished asks about happens before the question,
    /// if the thread has ended.
    #[inline]
    pub(crate) const fn sees_end(self) -> bool {
        self.0 == 0
    }

    /// Returns the chosen alternative.
    #[inline]
    pub const fn alternative(self) -> u32 {
        self.0
    }

    /// Returns the position of the notified waiter.
    #[inline]
    pub(crate) const fn waiter(self) -> usize {
        self.0 as usize
    }

    /// Returns the position of the received message.
    #[inline]
    pub(crate) const fn message(self) -> usize {
        self.0 as usize
    }

    /// Returns the number of the group at a barrier.
    #[inline]
    pub(crate) const fn group(self) -> u32 {
        self.0
    }

    /// Returns the resolution of an operation other than an update that has one.
    #[inline]
    pub(crate) const fn resolution(self) -> Resolution {
        Resolution(self.0)
    }

    /// Returns the resolution of an update.
    #[inline]
    pub(crate) const fn resolution_of_update(self) -> Resolution {
        Resolution(self.0 & 1)
    }
}

impl Resolution {
    /// True for an update that fails although it read the expected value.
    #[inline]
    pub const fn fails_spuriously(self) -> bool {
        self.0 & 1 == 1
    }

    /// Returns the outcome of an operation whose outcome is its resolution.
    #[inline]
    pub(crate) const fn outcome(self) -> Outcome {
        Outcome(self.0)
    }

    /// Returns the other answer of a question.
    pub(crate) fn opposite(self) -> Resolution {
        Resolution::of_answer(!self.is_yes())
    }

    /// Returns the outcome of a question with this answer, out of this number of possible answers.
    /// A question with one possible answer has the first outcome, for either answer.
    pub(crate) fn answer_of(self, count: u32) -> Outcome {
        match count {
            1 => Outcome::FIRST,
            _ => self.outcome(),
        }
    }

    /// Returns all resolutions of this number but the first.
    #[inline]
    pub(crate) fn others(count: u32) -> impl Iterator<Item = Resolution> {
        (1..count).map(Resolution)
    }

    /// Returns all resolutions of this number.
    #[inline]
    pub(crate) fn all(count: u32) -> impl Iterator<Item = Resolution> {
        (0..count).map(Resolution)
    }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, Resolution};

    #[test]
    fn an_update_has_a_position_and_a_resolution() {
        for number in 0..64 {
            let outcome = Outcome::nth(number);
            let (back, resolution) = (outcome.back_of_update(), outcome.resolution_of_update());
            assert_eq!(Outcome::of_update(back, resolution), outcome);
            assert_eq!(outcome.fails_spuriously(), number % 2 == 1);
            assert_eq!(resolution.fails_spuriously(), number % 2 == 1);
        }
        // The first outcome reads the coherence-last write and does not fail spuriously.
        assert_eq!(Outcome::FIRST.back_of_update(), 0);
        assert!(!Outcome::FIRST.fails_spuriously());
    }

    #[test]
    fn the_numbers_of_saved_schedules_stay() {
        let failed = Resolution::of_answer(true);
        assert_eq!(Outcome::of_access(3).number(), 3);
        assert_eq!(Outcome::of_update(3, Resolution::FIRST).number(), 6);
        assert_eq!(Outcome::of_update(3, failed).number(), 7);
        assert_eq!(Outcome::of_answer(true).number(), 1);
        assert_eq!(Outcome::of_answer(false).number(), 0);
        assert_eq!(failed.outcome(), Outcome::of_answer(true));
    }

    #[test]
    fn an_outcome_is_one_word() {
        assert_eq!(size_of::<Outcome>(), 4);
        assert_eq!(size_of::<Resolution>(), 4);
    }
}
