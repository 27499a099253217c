//! `cargo raddle orderings`: the weakest memory orderings under which the tests still pass.
//!
//! Operations are weakened one after the other, each as far as every test that reaches it still passes with every
//! behaviour run, together with the changes made before. A weaker ordering only adds behaviours, so no operation can be
//! weakened further at the end. Another order of the operations may lead to another such result.

use std::collections::BTreeSet;

use console::style;

use crate::arguments::subcommands::OrderingsArguments;
use crate::commands::error::Error;
use crate::commands::mutants::{self, Court};
use crate::commands::verdict::Verdict;
use crate::output;
use crate::output::patch::patch;
use crate::output::plural::counted;
use crate::run::interrupts;
use crate::run::mutant::{self, Judgement, Mutant};

pub fn run(
    cargo: &crate::toolchain::cargo::Cargo,
    options: &OrderingsArguments,
) -> Result<Verdict, Error> {
    let built = mutants::build(cargo, &options.tests)?;
    let court = Court::open(&built, &options.tests)?;
    let concerns = |mutant: &Mutant| {
        mutant.change != "notify-one" && (mutant.change != "omit" || mutant.label() == "fence")
    };
    let mutants: BTreeSet<_> = court.mutants()?.into_iter().filter(concerns).collect();
    let slots = slots(&mutants);
    eprintln!(
        "weakening {}",
        counted(slots.len(), "ordering", "orderings")
    );
    let search = Search { court: &court };
    let mut found = search.weaken(slots.iter());
    let mut other = search.weaken(slots.iter().rev());
    if interrupts::is_requested() {
        return Ok(Verdict::Interrupted);
    }
    found.chosen.sort();
    other.chosen.sort();
    if let Some(why) = search.problem_of(&found.chosen) {
        return Err(Error::NotTogether { why });
    }
    let mut gaps = 0;
    for slot in &slots {
        let chosen = found.chosen.iter().find(|it| slot.contains(it));
        let place = slot[0].place();
        let part = if slot[0].change.starts_with("failure=") {
            " (when it fails)"
        } else {
            ""
        };
        match chosen {
            Some(mutant) => {
                println!("{}   {mutant}{}", style("weaker").green(), saving(mutant));
                if is_gap(mutant) {
                    gaps += 1;
                    println!("           {}", style(GAP).yellow());
                }
            }
            None => println!("as it is {place}: {}{part}", slot[0].operation),
        }
        for (mutant, why) in &found.left {
            if slot.contains(mutant) {
                println!("           not {}: {why}", shown(&mutant.change));
            }
        }
    }
    if found.chosen != other.chosen {
        println!("\nanother combination that cannot be weakened further:");
        for mutant in &other.chosen {
            println!("  {mutant}");
        }
    }
    let changes: Vec<_> = found.chosen.iter().collect();
    let patch = patch(&built.workspace.root, &changes);
    for mutant in &patch.by_hand {
        println!("\nby hand, because the source does not name the ordering at the call: {mutant}");
    }
    match &options.patch {
        Some(file) => {
            std::fs::write(file, &patch.text).map_err(output::error::Error::cannot_write(file))?;
            eprintln!("wrote {}", file.display());
        }
        None if !patch.text.is_empty() => print!("\n{}", patch.text),
        None => {}
    }
    eprintln!(
        "{} can be weaker, together, as far as these tests tell",
        counted(found.chosen.len(), "ordering", "orderings")
    );
    if gaps > 0 {
        eprintln!("{} of them may be gaps in the tests", gaps);
    }
    Ok(Verdict::Passed)
}

/// The remark about an ordering that the source has and no test needs.
const GAP: &str =
    "a gap in the tests, if other threads rely on it: no test notices when it is lost";

/// True when a change takes an acquire or a release away that the source asks for by itself. `SeqCst` is no sign: it is what
/// people write who have not chosen.
fn is_gap(mutant: &Mutant) -> bool {
    let (old, new) = orderings_of(mutant);
    let asked = ["Acquire", "Release", "AcqRel"];
    asked.contains(&old) && new != old
}

/// Returns the ordering that a change weakens, and the one that it becomes.
fn orderings_of(mutant: &Mutant) -> (&str, &str) {
    let (_, orderings) = mutant.operation.split_once(' ').unwrap_or_default();
    let mut orderings = orderings.split(", ");
    let success = orderings.next().unwrap_or_default();
    match mutant.change.strip_prefix("failure=") {
        Some(new) => (orderings.next().unwrap_or(success), new),
        None => (success, &mutant.change),
    }
}

/// Groups changes by the ordering that they change, of each the weakest first.
fn slots(mutants: &BTreeSet<Mutant>) -> Vec<Vec<Mutant>> {
    let mut slots: Vec<Vec<Mutant>> = Vec::new();
    for mutant in mutants {
        let is_failure = |it: &Mutant| it.change.starts_with("failure=");
        let same = |other: &&mut Vec<Mutant>| {
            let first = &other[0];
            (first.place(), &first.operation, is_failure(first))
                == (mutant.place(), &mutant.operation, is_failure(mutant))
        };
        match slots.iter_mut().find(same) {
            Some(slot) => slot.push(mutant.clone()),
            None => slots.push(vec![mutant.clone()]),
        }
    }
    for slot in &mut slots {
        slot.sort_by_key(strength);
    }
    slots
}

fn strength(mutant: &Mutant) -> usize {
    let name = mutant.change.trim_start_matches("failure=");
    let names = ["omit", "Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"];
    names
        .iter()
        .position(|it| *it == name)
        .unwrap_or(names.len())
}

fn shown(change: &str) -> &str {
    match change {
        "omit" => "left out",
        change => change.trim_start_matches("failure="),
    }
}

/// Changes that can be made together, and others with the reason why not.
#[derive(Default)]
struct Found {
    chosen: Vec<Mutant>,
    left: Vec<(Mutant, String)>,
}

struct Search<'a> {
    court: &'a Court<'a>,
}

impl Search<'_> {
    fn weaken<'m>(&self, slots: impl Iterator<Item = &'m Vec<Mutant>>) -> Found {
        let mut found = Found::default();
        for slot in slots {
            for mutant in slot {
                if interrupts::is_requested() {
                    return found;
                }
                match self.problem(mutant, &found.chosen) {
                    None => {
                        found.chosen.push(mutant.clone());
                        break;
                    }
                    Some(why) => found.left.push((mutant.clone(), why)),
                }
            }
        }
        found
    }

    /// Returns the reason why a change cannot be made after those that were chosen.
    fn problem(&self, mutant: &Mutant, chosen: &[Mutant]) -> Option<String> {
        let judges = &self.court.judges;
        let reaching: Vec<_> = self.court.judges_of(mutant).collect();
        let is_whole = |test: &usize| judges.iter().any(|it| it.test == *test && it.is_exhaustive);
        if !reaching.iter().all(is_whole) {
            return Some("a test that reaches it does not run every behaviour".to_owned());
        }
        let changes: Vec<_> = chosen.iter().chain([mutant]).collect();
        self.verdict(&changes, reaching)
    }

    /// Returns the reason why changes cannot be made together, by all tests: with weaker orderings, a test may come to
    /// operations that it did not reach before, and one that samples may have missed them. Such a test need only pass.
    fn problem_of(&self, chosen: &[Mutant]) -> Option<String> {
        let changes: Vec<_> = chosen.iter().collect();
        if changes.is_empty() {
            return None;
        }
        let tests = |is_exhaustive: bool| {
            let judges = self.court.judges.iter();
            let judges = judges.filter(move |judge| judge.is_exhaustive == is_exhaustive);
            judges.map(|judge| judge.test)
        };
        let problem = self.verdict(&changes, tests(true));
        problem.or_else(|| match self.judge(&changes, tests(false)) {
            Judgement::Killed { headline, .. } => Some(headline),
            _ => None,
        })
    }

    fn judge(&self, changes: &[&Mutant], tests: impl IntoIterator<Item = usize>) -> Judgement {
        mutant::judge(&self.court.runner(), usize::MAX, changes, tests)
    }

    fn verdict(
        &self,
        changes: &[&Mutant],
        tests: impl IntoIterator<Item = usize>,
    ) -> Option<String> {
        match self.judge(changes, tests) {
            Judgement::Killed { headline, .. } => Some(headline),
            Judgement::Undecided { why, .. } | Judgement::TimedOut { why, .. } => {
                Some(format!("undecided: {why}"))
            }
            Judgement::Survived {
                is_exhaustive: false,
                ..
            } => Some("undecided: not every behaviour was run".to_owned()),
            Judgement::Survived { load_buffering, .. } => (!load_buffering.is_empty()).then(|| {
                format!(
                    "undecided: load buffering, which the memory model does not have, could use {}",
                    load_buffering.join(", ")
                )
            }),
        }
    }
}

/// Returns what a weaker ordering saves, by the usual code of compilers.
fn saving(mutant: &Mutant) -> String {
    let label = mutant.label();
    let (old, new) = orderings_of(mutant);
    let loses = |half: &str| {
        let has_half = |ordering: &str| [half, "AcqRel", "SeqCst"].contains(&ordering);
        has_half(old) && !has_half(new)
    };
    let x86 = match label {
        "store" if old == "SeqCst" => "an `xchg`",
        "fence" if old == "SeqCst" => "an `mfence`",
        _ => "nothing",
    };
    let arm = match (label, new) {
        _ if mutant.change.starts_with("failure=") => "nothing with LSE",
        ("load", "Relaxed") => "`ldar` becomes `ldr`",
        ("load", _) => "`ldar` becomes `ldapr`",
        ("store", "Relaxed") => "`stlr` becomes `str`",
        ("store", _) => "nothing",
        ("fence", "omit") => "a `dmb`",
        ("fence", "Acquire") => "`dmb ish` becomes `dmb ishld`",
        ("fence", _) => "nothing",
        _ => match (loses("Acquire"), loses("Release")) {
            (true, true) => "the acquire and the release",
            (true, false) => "the acquire",
            (false, true) => "the release",
            (false, false) => "nothing",
        },
    };
    format!("\n           saves on x86-64: {x86}; on AArch64: {arm}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(operation: &str, change: &str) -> Mutant {
        Mutant {
            file: "src/lib.rs".to_owned(),
            line: 1,
            column: 1,
            operation: operation.to_owned(),
            change: change.to_owned(),
        }
    }

    /// The code of gcc and clang: x86-64 needs a fence for `SeqCst` only, of stores and of fences; AArch64 has acquiring and
    /// releasing forms of each access, and a barrier for reads only.
    #[test]
    fn what_is_saved_is_the_difference_of_the_usual_code() {
        for (operation, to, x86, arm) in [
            (
                "load SeqCst",
                "Acquire",
                "nothing",
                "`ldar` becomes `ldapr`",
            ),
            ("load SeqCst", "Relaxed", "nothing", "`ldar` becomes `ldr`"),
            ("store SeqCst", "Release", "an `xchg`", "nothing"),
            (
                "store SeqCst",
                "Relaxed",
                "an `xchg`",
                "`stlr` becomes `str`",
            ),
            (
                "store Release",
                "Relaxed",
                "nothing",
                "`stlr` becomes `str`",
            ),
            ("swap SeqCst", "AcqRel", "nothing", "nothing"),
            ("swap SeqCst", "Acquire", "nothing", "the release"),
            ("swap AcqRel", "Release", "nothing", "the acquire"),
            (
                "swap AcqRel",
                "Relaxed",
                "nothing",
                "the acquire and the release",
            ),
            ("swap Acquire", "Relaxed", "nothing", "the acquire"),
            ("swap Release", "Relaxed", "nothing", "the release"),
            ("fence SeqCst", "AcqRel", "an `mfence`", "nothing"),
            (
                "fence AcqRel",
                "Acquire",
                "nothing",
                "`dmb ish` becomes `dmb ishld`",
            ),
            ("fence SeqCst", "omit", "an `mfence`", "a `dmb`"),
            (
                "compare-exchange SeqCst, SeqCst",
                "failure=Relaxed",
                "nothing",
                "nothing with LSE",
            ),
        ] {
            let expected = format!("\n           saves on x86-64: {x86}; on AArch64: {arm}");
            assert_eq!(
                saving(&change(operation, to)),
                expected,
                "{operation} -> {to}"
            );
        }
    }

    #[test]
    fn an_ordering_that_was_chosen_may_be_needed() {
        assert!(is_gap(&change("store Release", "Relaxed")));
        assert!(is_gap(&change("swap AcqRel", "Acquire")));
        assert!(is_gap(&change(
            "compare-exchange SeqCst, Acquire",
            "failure=Relaxed"
        )));
        assert!(is_gap(&change("fence Acquire", "omit")));
        assert!(!is_gap(&change("store SeqCst", "Relaxed")));
        assert!(!is_gap(&change(
            "compare-exchange AcqRel, SeqCst",
            "failure=Relaxed"
        )));
    }
}
