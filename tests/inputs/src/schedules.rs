//! Schedules, as text and as tokens, and alternatives.

use raddle_engine::alternatives::Alternative;
use raddle_engine::schedule::{Schedule, seal_token};

/// Reads the text of a schedule, or a token.
pub fn schedule(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match text.parse::<Schedule>() {
        Ok(schedule) => assert_kept(&schedule),
        Err(problem) => crate::assert_told(&problem),
    }
}

/// Reads a token whose checksum is right, so that what stands in it is looked at.
pub fn token(data: &[u8]) {
    match Schedule::from_token(&seal_token(data)) {
        Ok(schedule) => assert_kept(&schedule),
        Err(problem) => crate::assert_told(&problem),
    }
}

/// Both forms of a schedule say the same.
fn assert_kept(schedule: &Schedule) {
    let (text, token) = (schedule.to_string(), schedule.to_token());
    assert_eq!(text.parse().as_ref(), Ok(schedule), "{text:?}");
    assert_eq!(
        Schedule::from_token(&token).as_ref(),
        Ok(schedule),
        "{token}"
    );
}

/// Reads an alternative.
pub fn alternative(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match text.parse::<Alternative>() {
        Ok(alternative) => assert_eq!(alternative.to_string().parse(), Ok(alternative)),
        Err(problem) => crate::assert_told(&problem),
    }
}
