//! Plans simpler than one that fails.

use crate::base::outcome::Outcome;
use crate::model::choice::Planned;

/// A maximal run of steps of one thread.
type Piece = Vec<Planned>;

fn pieces(plan: &[Planned]) -> Vec<Piece> {
    let same = |one: &Planned, other: &Planned| one.thread == other.thread;
    plan.chunk_by(same).map(<[Planned]>::to_vec).collect()
}

/// The ways to remove a context switch.
#[derive(Clone, Copy)]
enum Way {
    /// The thread runs on up to its next switch.
    RunsOn,
    /// The thread waits and continues later.
    Waits,
    /// The thread runs to its end.
    RunsToEnd,
}

/// Returns every plan in which one thread runs on where others came in between, or waits and
/// continues later.
fn moves(pieces: Vec<Piece>) -> impl Iterator<Item = Vec<Planned>> {
    let ways = [Way::RunsOn, Way::Waits, Way::RunsToEnd];
    let ways = (0..pieces.len()).flat_map(move |first| ways.map(|way| (first, way)));
    ways.filter_map(move |(first, way)| {
        let thread = &pieces[first][0].thread;
        let own = |piece: &Piece| piece[0].thread == *thread;
        let again = pieces[first + 1..].iter().position(own)?;
        let second = first + 1 + again;
        let mut moved = pieces.clone();
        match way {
            Way::RunsOn => {
                let piece = moved.remove(second);
                moved.insert(first + 1, piece);
            }
            Way::Waits => {
                let piece = moved.remove(first);
                moved.insert(second - 1, piece);
            }
            Way::RunsToEnd => {
                let rest = moved.split_off(first + 1);
                let (own, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(own);
                moved.extend(own.into_iter().chain(others));
            }
        }
        Some(moved.concat())
    })
}

/// Returns plans with one context switch less: one thread runs on where another came in between, or
/// waits and continues later.
pub fn closer(plan: &[Planned]) -> impl Iterator<Item = Vec<Planned>> {
    moves(pieces(plan))
}

/// Returns plans with two context switches less.
pub fn twice_closer(plan: &[Planned]) -> impl Iterator<Item = Vec<Planned>> {
    closer(plan).flat_map(|plan| moves(pieces(&plan)))
}

/// Returns plans with fewer spurious events: none at all, then all but one.
pub fn calmer(plan: &[Planned]) -> impl Iterator<Item = Vec<Planned>> {
    let chances: Vec<usize> = (0..plan.len())
        .filter(|&at| !plan[at].outcome.is_first())
        .collect();
    let without = |which: &[usize]| {
        let mut calm = plan.to_vec();
        which
            .iter()
            .for_each(|&at| calm[at].outcome = Outcome::FIRST);
        calm
    };
    let all = (chances.len() > 1).then(|| without(&chances));
    let each = chances.iter().map(|&at| without(&[at]));
    all.into_iter().chain(each).collect::<Vec<_>>().into_iter()
}

/// Returns plans in which a thread runs only when no other can.
pub fn later(plan: &[Planned]) -> impl Iterator<Item = Vec<Planned>> {
    let mut threads: Vec<_> = plan.iter().map(|step| &step.thread).collect();
    threads.sort_unstable();
    threads.dedup();
    threads.into_iter().map(|thread| {
        let others = plan.iter().filter(|step| step.thread != *thread);
        others.cloned().collect()
    })
}
