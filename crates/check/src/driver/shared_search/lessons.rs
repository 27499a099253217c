//! What the samplers of a stream have learned, as facts of a search.
//!
//! The decisions of `History` come from all streams that hand on. The lengths of threads hardly differ between streams,
//! so they are those of the first stream, and the facts stay few.

use raddle_engine::strategy::Lesson;

/// First words of the facts.
const LENGTHS: &str = "lengths";
const LONGEST: &str = "longest";
const DECISIONS: &str = "decisions";
/// Number of digits of a decision.
const DIGITS: usize = 8;
/// Separates the ordinals of a thread.
const DOT: char = '.';
/// Limits of what is read: more threads than these are no spawn tree, but a damaged text.
const MOST_ORDINAL: u32 = 1 << 16;
const MOST_DEPTH: usize = 1 << 8;

/// Returns the facts of a stream, which is the first one or not.
pub(super) fn to_facts(lessons: Vec<Lesson>, is_first: bool) -> Vec<String> {
    let mut decisions = String::new();
    let mut facts = Vec::new();
    for lesson in lessons {
        match lesson {
            Lesson::Decision(decision) => decisions += &format!("{decision:08x}"),
            Lesson::Lengths { thread, stretches } if is_first => {
                let ordinals: Vec<String> = thread.iter().map(u32::to_string).collect();
                let mut fact = format!("{LENGTHS} {}", ordinals.join(&DOT.to_string()));
                for (sum, executions) in stretches {
                    fact += &format!(" {sum}/{executions}");
                }
                facts.push(fact);
            }
            Lesson::Longest(steps) if is_first => facts.push(format!("{LONGEST} {steps}")),
            Lesson::Lengths { .. } | Lesson::Longest(_) => {}
        }
    }
    if !decisions.is_empty() {
        facts.push(format!("{DECISIONS} {decisions}"));
    }
    facts
}

/// Reads a fact; one of another kind has no lessons.
pub(super) fn of_fact(fact: &str) -> Vec<Lesson> {
    let (word, rest) = fact.split_once(' ').unwrap_or((fact, ""));
    match word {
        LENGTHS => lengths(rest).into_iter().collect(),
        LONGEST => rest.parse().map(Lesson::Longest).into_iter().collect(),
        DECISIONS => {
            let digits = rest.as_bytes().chunks_exact(DIGITS);
            let number = |digits: &[u8]| {
                let text = std::str::from_utf8(digits).ok()?;
                u32::from_str_radix(text, 16).ok()
            };
            digits.filter_map(number).map(Lesson::Decision).collect()
        }
        _ => Vec::new(),
    }
}

fn lengths(text: &str) -> Option<Lesson> {
    let mut words = text.split(' ');
    let ordinals = words.next()?.split(DOT).filter(|word| !word.is_empty());
    let thread: Vec<u32> = ordinals
        .map(|word| word.parse().ok().filter(|&it| it <= MOST_ORDINAL))
        .collect::<Option<_>>()?;
    let stretch = |word: &str| {
        let (sum, executions) = word.split_once('/')?;
        // Sums of the numbers of many streams do not overflow.
        let (sum, executions): (u32, u32) = (sum.parse().ok()?, executions.parse().ok()?);
        (executions > 0).then_some((sum.into(), executions.into()))
    };
    let stretches = words.map(stretch).collect::<Option<Vec<_>>>()?;
    (thread.len() <= MOST_DEPTH).then_some(Lesson::Lengths { thread, stretches })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths_of(thread: &[u32], stretches: &[(u64, u64)]) -> Lesson {
        Lesson::Lengths {
            thread: thread.to_vec(),
            stretches: stretches.to_vec(),
        }
    }

    #[test]
    fn lessons_are_read_as_they_were_written() {
        let lessons = vec![
            lengths_of(&[], &[(6, 2), (3, 1)]),
            Lesson::Decision(7),
            lengths_of(&[2, 0], &[(5, 2)]),
            Lesson::Longest(40),
            Lesson::Decision(u32::MAX),
        ];
        let facts = to_facts(lessons.clone(), true);
        let expected = [
            "lengths  6/2 3/1",
            "lengths 2.0 5/2",
            "longest 40",
            "decisions 00000007ffffffff",
        ];
        assert_eq!(facts, expected);
        let read: Vec<Lesson> = facts.iter().flat_map(|fact| of_fact(fact)).collect();
        let (decisions, others): (Vec<_>, Vec<_>) = lessons
            .into_iter()
            .partition(|lesson| matches!(lesson, Lesson::Decision(_)));
        assert_eq!(read, [others, decisions.clone()].concat());
        // Other streams hand on their decisions only.
        let later = to_facts(read, false);
        assert_eq!(later, expected[3..]);
    }

    #[test]
    fn texts_that_are_no_lessons_teach_nothing() {
        for text in [
            "",
            "lengths",
            "lengths x 1/2",
            "lengths 1 1/0",
            "lengths 1 2",
            "lengths 99999999 1/1",
            "longest x",
            "decisions 123",
            "decisions zzzzzzzz",
            "decisions \u{e4}\u{e4}\u{e4}\u{e4}",
            "coverage covered blocked a.rs:1:1",
        ] {
            assert!(
                of_fact(text).iter().all(|it| *it == lengths_of(&[], &[])),
                "{text}"
            );
        }
    }
}
