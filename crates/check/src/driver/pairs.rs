//! Critical pairs as text, for other processes.

use raddle_report::CriticalPair;

/// Returns a critical pair in one line.
pub(crate) fn to_text(pair: &CriticalPair) -> String {
    let CriticalPair {
        first,
        second,
        why,
        is_about,
    } = pair;
    let second = second.unwrap_or(usize::MAX);
    format!("{first} {second} {} {why}", usize::from(*is_about))
}

/// Parses a critical pair; `None` if there is none.
pub(crate) fn of_text(text: &str) -> Option<CriticalPair> {
    let mut words = text.splitn(4, ' ');
    let mut number = || words.next()?.parse::<usize>().ok();
    let (first, second, is_about) = (number()?, number()?, number()?);
    Some(CriticalPair {
        first,
        second: (second < usize::MAX).then_some(second),
        why: words.next()?.to_owned(),
        is_about: is_about != 0,
    })
}

#[cfg(test)]
mod tests {
    use raddle_report::CriticalPair;

    use super::{of_text, to_text};

    #[test]
    fn a_critical_pair_is_read_as_it_was_written() {
        for (second, is_about) in [(None, true), (Some(7), false), (Some(0), true)] {
            let pair = CriticalPair {
                first: 3,
                second,
                why: "also passes when one locks log before other does".to_owned(),
                is_about,
            };
            assert_eq!(of_text(&to_text(&pair)), Some(pair));
        }
        assert_eq!(of_text(""), None);
    }
}
