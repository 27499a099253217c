//! Suggestions for a mistyped or shortened name.

/// Maximum number of suggestions; a longer list would have to be searched.
const MAX_SUGGESTIONS: usize = 3;

/// Returns the names that the user may have meant, most similar first.
pub fn near_names(wanted: &str, names: &[String]) -> Vec<String> {
    let mut near: Vec<(usize, &String)> = names
        .iter()
        .filter_map(|name| Some((distance(wanted, name)?, name)))
        .collect();
    near.sort();
    near.dedup();
    near.into_iter()
        .take(MAX_SUGGESTIONS)
        .map(|(_, name)| name.clone())
        .collect()
}

/// Returns the edit distance of two names, if they are similar.
///
/// The most common mistake is in the modules before the last name: they are missing, or preceded by the name
/// of the crate. Therefore equal last names have the distance 0.
fn distance(wanted: &str, name: &str) -> Option<usize> {
    if last_part(wanted) == last_part(name) {
        return Some(0);
    }
    let edits = strsim::osa_distance(wanted, name)
        .min(strsim::osa_distance(last_part(wanted), last_part(name)));
    if edits <= last_part(wanted).len() / 3 {
        Some(edits)
    } else {
        name.contains(wanted).then_some(edits)
    }
}

fn last_part(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 6] = [
        "queue::tests::push_then_pop",
        "queue::tests::push_then_push",
        "stack::tests::push_then_pop",
        "counter_is_not_lost",
        "counter_is_not_lost_when_shared",
        "counts",
    ];

    fn near(wanted: &str) -> Vec<String> {
        near_names(wanted, &NAMES.map(str::to_owned))
    }

    #[test]
    fn a_spelling_mistake_finds_the_name() {
        assert_eq!(near("counter_is_not_lots"), ["counter_is_not_lost"]);
        assert_eq!(
            near("count"),
            [
                "counts",
                "counter_is_not_lost",
                "counter_is_not_lost_when_shared"
            ]
        );
    }

    #[test]
    fn missing_or_wrong_modules_find_the_name() {
        let both = [
            "queue::tests::push_then_pop",
            "stack::tests::push_then_pop",
            "queue::tests::push_then_push",
        ];
        assert_eq!(near("push_then_pop"), both);
        assert_eq!(near("my_crate::queue::tests::push_then_pop"), both);
    }

    #[test]
    fn a_part_of_the_name_finds_it() {
        assert_eq!(near("shared"), ["counter_is_not_lost_when_shared"]);
    }

    #[test]
    fn a_dissimilar_name_has_no_suggestions() {
        assert!(near("philosophers_dine").is_empty());
        assert!(near_names("counts", &[]).is_empty());
    }

    #[test]
    fn a_name_in_two_targets_is_suggested_once() {
        let names = ["counts", "counts"].map(str::to_owned);
        assert_eq!(near_names("count", &names), ["counts"]);
    }
}
