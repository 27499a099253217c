//! Numbers in text.

/// Rounds to two significant digits.
pub fn rounded(number: u64) -> u64 {
    let digits = number.checked_ilog10().unwrap_or(0);
    let unit = 10u64.pow(digits.saturating_sub(1));
    number.saturating_add(unit / 2) / unit * unit
}

/// Formats a number with commas between groups of three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a count with its noun in the singular or plural.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Formats a share as a percentage with two significant digits.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let digits = match percent >= 9.95 {
        true => 0,
        false => 1 + (-percent.max(1e-9).log10().floor()).max(0.0) as usize,
    };
    format!("{percent:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_and_grouped() {
        let text = |number| grouped(rounded(number));
        assert_eq!([0, 7, 99, 101].map(text), ["0", "7", "99", "100"]);
        assert_eq!([1_249, 1_299, 995].map(text), ["1,200", "1,300", "1,000"]);
        assert_eq!(text(u64::MAX), "18,000,000,000,000,000,000");
    }
}
