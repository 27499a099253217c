//! Local states of a thread that differ only in the time, for native programs that compute the end of a wait
//! from the clock.
//!
//! Each word of a later state must be equal, or be a time that is later by as much as a reading of the clock was later
//! than the same reading of the earlier round. Two such states do not show that a loop waits: it may compare the
//! time with a deadline that is anywhere in memory. So the loop is asked: from then on each of its
//! waits that times out lasts [a month](LONG) longer. A wait may always last longer than its limit, so such an execution exists. A
//! loop that gives up does so then. The rounds are those of a loop that waits if
//!
//! - every time that differs was read a month after the first such states, in both of them;
//! - all readings of the last round were a month later than those of the round before;
//! - the round has the operations and replies of the first one, in which no wait was prolonged.
//!
//! Whether a wait is prolonged depends on the thread alone, and not on the strategy: a replay reads the same
//! times.

use std::time::Duration;

use super::super::clock::NATIVE_START;

/// Time that is added to the limit of a wait: 30.4 days, longer than a program would wait for a deadline. No
/// round number, so that no counter changes by as much.
pub(super) const LONG: Duration = Duration::new(2_629_746, 7_919_017);
/// Time after which no wait is prolonged: 30 years after its beginning an execution is in 2031, and times in
/// seconds have 31 bits.
const LATEST: Duration = Duration::from_secs(30 * 31_556_952);
/// Maximum readings of the clock in one round.
const MAX_READINGS: u32 = 16;
/// Number of readings that are kept: those of three rounds.
const KEPT: usize = 3 * MAX_READINGS as usize;
/// Maximum events of a thread between a reading and its use in a round.
const RECENT: u32 = 64;
/// Time that is added to the limit of a wait of a thread that has waited and then read the clock before, so that every
/// fraction of a second changes by another number than a counter would.
const BRIEF: Duration = Duration::from_nanos(97_003);
/// Minimum change of a lone fraction of a second, in its unit; a counter may change by less.
const LEAST_CHANGE: u128 = 90;
/// Maximum rounds with prolonged waits that may be others than the calm ones. A thread that is notified, or wakes up
/// spuriously, has such rounds.
const MAX_OTHER: u32 = 4;
/// Nanoseconds of a second.
const SECOND: u128 = 1_000_000_000;
/// Nanoseconds of the units in which programs count: seconds to nanoseconds.
const UNITS: [u128; 4] = [SECOND, 1_000_000, 1_000, 1];
/// Units of the fractions of a second in `timespec` and `timeval`.
const FRACTIONS: [u128; 2] = [1, 1_000];

/// Number of a thread's readings and of its events.
#[derive(Clone, Copy)]
struct Moment {
    readings: u32,
    events: u32,
}

/// The readings of the clock by one thread.
#[derive(Default)]
pub(super) struct Times {
    /// The last readings, in a ring.
    readings: Vec<Duration>,
    count: u32,
    /// Number of events at the last reading.
    last: u32,
    /// The last wait that timed out.
    waited: Option<Moment>,
    /// The first prolonged wait since the thread has changed anything.
    prolonged: Option<Moment>,
    /// Number of events when a state was found that differs only in the time.
    waits: Option<u32>,
    /// Events of a round whose readings preceded all prolonged waits.
    calm: Option<(u32, u32)>,
    /// Number of times that a round with prolonged waits was found to be another than the calm one.
    other_rounds: u32,
}

/// Comparison of two states that differ at most in the time.
pub(super) enum Rounds {
    /// They differ in more.
    Differ,
    /// They do not show yet that the thread waits.
    Alike,
    /// The thread waits, if its last round has the operations of this one.
    Repeat { calm: (u32, u32) },
}

impl Times {
    /// Forgets the rounds; the time goes on.
    pub(super) fn forget_rounds(&mut self) {
        (self.waited, self.prolonged) = (None, None);
        (self.waits, self.calm, self.other_rounds) = (None, None, 0);
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.forget_rounds();
        self.readings.clear();
        (self.count, self.last) = (0, 0);
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// True when the thread has read the clock not long before.
    pub(super) fn is_recent(&self, events: u32) -> bool {
        self.count > 0 && events.saturating_sub(self.last) < RECENT
    }

    /// Records a reading.
    pub(super) fn record(&mut self, time: Duration, events: u32) {
        let place = self.count as usize % KEPT;
        match self.readings.get_mut(place) {
            Some(reading) => *reading = time,
            None => self.readings.push(time),
        }
        self.count += 1;
        self.last = events;
    }

    /// Returns the time by which a wait that times out is prolonged.
    pub(super) fn prolongs(&mut self, events: u32, quiet_since: u32) -> Duration {
        let now = Moment {
            readings: self.count,
            events,
        };
        let (waits, waited) = (self.waits.take(), self.waited.replace(now));
        if waits.is_none_or(|since| since < quiet_since) {
            let repeats = |last: &Moment| {
                last.events >= quiet_since && last.readings < self.count && self.is_recent(events)
            };
            return waited.filter(repeats).map_or(Duration::ZERO, |_| BRIEF);
        }
        let before = self.prolonged.filter(|first| first.events >= quiet_since);
        self.prolonged = before.or(Some(now));
        LONG
    }

    /// Records that the last round has other operations than the calm one: it was notified, or the loop depends
    /// on how long its waits last.
    pub(super) fn begin_again(&mut self) {
        let other_rounds = self.other_rounds + 1;
        self.forget_rounds();
        self.other_rounds = other_rounds;
    }

    fn reading(&self, number: u32) -> Duration {
        self.readings[number as usize % KEPT]
    }

    /// Returns by how much readings before a state were later than those before an earlier state, when the
    /// thread had performed `before` readings: the last ones first, of up to two rounds.
    fn shifts(&self, before: u32) -> impl Iterator<Item = Shift> {
        let round = self.count - before;
        let most = (2 * round).min(before);
        (1..=most).map(move |back| {
            let time = self.reading(self.count - back);
            Shift {
                base: before - back,
                time: time.saturating_sub(self.reading(before - back)),
                is_recent: back <= round,
            }
        })
    }

    /// Compares the state of a thread with an earlier one, when it had performed `before` readings and `since` events.
    pub(super) fn compare(
        &mut self,
        (old, new): (&[u8], &[u8]),
        before: u32,
        (since, events): (u32, u32),
        quiet_since: u32,
    ) -> Rounds {
        let round = self.count - before;
        if round > MAX_READINGS || before < round || since < quiet_since || events - since > RECENT
        {
            return Rounds::Differ;
        }
        let shifts: Vec<_> = self.shifts(before).collect();
        if !differ_in_time(old, new, &shifts) {
            return Rounds::Differ;
        }
        let now = self.reading(self.count - 1);
        let passes = |shift: &Shift| !shift.is_recent || !shift.time.is_zero();
        let is_other = self.other_rounds > MAX_OTHER;
        if is_other || now > LATEST || !shifts.iter().all(passes) {
            return Rounds::Alike;
        }
        self.waits = Some(events);
        let prolonged = self.prolonged.filter(|first| first.events >= quiet_since);
        match prolonged.filter(|first| first.readings < self.count) {
            None => self.calm = Some((since, events)),
            Some(first) => {
                let calm = self.calm.filter(|calm| calm.0 >= quiet_since);
                let is_later = |shift: &Shift| shift.base >= first.readings && shift.time >= LONG;
                let later: Vec<_> = shifts.iter().copied().filter(is_later).collect();
                let is_asked = shifts
                    .iter()
                    .all(|shift| !shift.is_recent || is_later(shift));
                if let Some(calm) = calm
                    && is_asked
                    && differ_in_time(old, new, &later)
                {
                    return Rounds::Repeat { calm };
                }
            }
        }
        Rounds::Alike
    }
}

/// Difference between the same readings of two rounds.
#[derive(Clone, Copy)]
struct Shift {
    /// Number of the earlier reading.
    base: u32,
    time: Duration,
    /// True for a reading of the last round.
    is_recent: bool,
}

/// True when the states are equal but for times that are later by one of the shifts.
fn differ_in_time(old: &[u8], new: &[u8], shifts: &[Shift]) -> bool {
    let (old, old_rest) = old.as_chunks::<8>();
    let (new, new_rest) = new.as_chunks::<8>();
    if old.len() != new.len() || old_rest != new_rest {
        return false;
    }
    let mut follows_seconds = false;
    old.iter().zip(new).all(|(old, new)| {
        let words = (u64::from_le_bytes(*old), u64::from_le_bytes(*new));
        let is_later = |shift: &Shift| is_word_later(words, shift.time, follows_seconds);
        let may_differ = words.0 == words.1 || shifts.iter().any(is_later);
        follows_seconds = (1..=4).contains(&(words.0 / NATIVE_START.as_secs()));
        may_differ
    })
}

/// True when a word is a time that is later by `shift`, or has two such halves.
fn is_word_later((old, new): (u64, u64), shift: Duration, follows_seconds: bool) -> bool {
    let half = |word: u64, upper| {
        if upper {
            word >> 32
        } else {
            word & 0xffff_ffff
        }
    };
    let is_half_later = |upper| {
        let (old, new) = (half(old, upper), half(new, upper));
        old == new || is_number_later(old, new, shift, follows_seconds && !upper)
    };
    is_number_later(old, new, shift, follows_seconds)
        || is_float_later(f64::from_bits(old), f64::from_bits(new), shift)
        || (is_half_later(false) && is_half_later(true))
}

fn is_number_later(old: u64, new: u64, shift: Duration, follows_seconds: bool) -> bool {
    let (old, new, shift) = (u128::from(old), u128::from(new), shift.as_nanos());
    // Times may be rounded down to their unit or to a larger one.
    let changes = |unit: u128| {
        let larger = UNITS.into_iter().filter(move |&other| other >= unit);
        larger.flat_map(move |other| {
            let units = other / unit;
            [shift / other * units, shift.div_ceil(other) * units]
        })
    };
    let is_time = |unit: u128| {
        let least = NATIVE_START.as_nanos() / unit;
        old >= least && new > old && changes(unit).any(|change| change == new - old)
    };
    let is_fraction = |unit: u128| {
        let all = SECOND / unit;
        if old >= all || new >= all {
            return false;
        }
        let change = (new + all - old) % all;
        let is_likely = follows_seconds || (change >= LEAST_CHANGE && all - change >= LEAST_CHANGE);
        is_likely && changes(unit).any(|wanted| wanted % all == change)
    };
    UNITS.into_iter().any(is_time) || FRACTIONS.into_iter().any(is_fraction)
}

/// As for numbers, for seconds, milliseconds or microseconds.
fn is_float_later(old: f64, new: f64, shift: Duration) -> bool {
    [1.0, 1e3, 1e6].into_iter().any(|scale| {
        let change = shift.as_secs_f64() * scale;
        old >= NATIVE_START.as_secs_f64() * scale
            && (new - old - change).abs() <= 4.0 * f64::EPSILON * new
    })
}
