//! Time limits: a whole number and a unit.

use std::fmt;
use std::str::FromStr;

/// Milliseconds in each unit.
const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

/// A valid time limit. It keeps the text, because it is passed on in an environment variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget(String);

/// Why a text is not a time limit.
#[derive(Debug, PartialEq)]
pub enum BudgetError {
    Malformed,
    Zero,
    TooLong,
}

impl FromStr for Budget {
    type Err = BudgetError;

    fn from_str(text: &str) -> Result<Self, BudgetError> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let scale = UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .map(|(_, scale)| scale);
        let scale = scale.filter(|_| digits > 0).ok_or(BudgetError::Malformed)?;
        // All characters are digits, so parsing fails only on overflow.
        let number: u64 = number.parse().map_err(|_| BudgetError::TooLong)?;
        match number.checked_mul(*scale) {
            Some(0) => Err(BudgetError::Zero),
            Some(_) => Ok(Self(text.to_owned())),
            None => Err(BudgetError::TooLong),
        }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Display for BudgetError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Malformed => "write a whole number and a unit: 500ms, 30s, 2m or 1h",
            Self::Zero => "the shortest limit is 1ms",
            Self::TooLong => "the number is too large",
        })
    }
}

impl std::error::Error for BudgetError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<String, BudgetError> {
        text.parse::<Budget>().map(|budget| budget.to_string())
    }

    #[test]
    fn a_whole_number_and_a_unit_keeps_its_text() {
        for text in ["1ms", "500ms", "30s", "007s", "2m", "1h"] {
            assert_eq!(parse(text).as_deref(), Ok(text));
        }
    }

    #[test]
    fn anything_else_is_malformed() {
        for text in [
            "", "s", "30", "30 s", " 30s", "30S", "1.5s", "-1s", "+1s", "1d", "1m30s", "٣s",
        ] {
            assert_eq!(parse(text), Err(BudgetError::Malformed), "{text:?}");
        }
    }

    #[test]
    fn zero_is_refused_in_every_unit() {
        for text in ["0ms", "0s", "00m", "0h"] {
            assert_eq!(parse(text), Err(BudgetError::Zero), "{text:?}");
        }
    }

    #[test]
    fn overflow_is_too_long() {
        let most = u64::MAX;
        assert_eq!(parse(&format!("{most}ms")), Ok(format!("{most}ms")));
        for text in [format!("{most}0ms"), format!("{most}s"), format!("{most}h")] {
            assert_eq!(parse(&text), Err(BudgetError::TooLong), "{text:?}");
        }
    }
}
