//! Plans a little different from one that fails, each with less in it.

use crate::model::choice::Planned;

/// What one thread does without another coming in between.
type Piece = Vec<Planned>;

fn pieces(plan: &[Planned]) -> Vec<Piece> {
    let same = |one: &Planned, other: &Planned| one.thread == other.thread;
    plan.chunk_by(same).map(<[Planned]>::to_vec).collect()
}

/// How a thread may be kept from being interrupted.
#[derive(Clone, Copy)]
enum Way {
    /// It runs on up to its next interruption.
    RunsOn,
    /// It waits until it runs on.
    Waits,
    /// It runs on to its end.
    RunsToEnd,
}

/// Each way to let one thread run on where others came in between, or to make it wait until it runs
/// on.
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

/// Plans with one interruption less: each lets one thread run on where another came in between, or
/// makes it wait until it runs on.
pub fn closer(plan: &[Planned]) -> impl Iterator<Item = Vec<Planned>> {
    moves(pieces(plan))
}

/// Plans with two interruptions less.
pub fn twice_closer(plan: &[Planned]) -> impl Iterator<Item = Vec<Planned>> {
    closer(plan).flat_map(|plan| moves(pieces(&plan)))
}

/// Plans in which less happens that nobody asked for: nothing of the kind, then all but one.
pub fn calmer(plan: &[Planned]) -> impl Iterator<Item = Vec<Planned>> {
    let chances: Vec<usize> = (0..plan.len()).filter(|&at| plan[at].outcome > 0).collect();
    let without = |which: &[usize]| {
        let mut calm = plan.to_vec();
        which.iter().for_each(|&at| calm[at].outcome = 0);
        calm
    };
    let all = (chances.len() > 1).then(|| without(&chances));
    let each = chances.iter().map(|&at| without(&[at]));
    all.into_iter().chain(each).collect::<Vec<_>>().into_iter()
}

/// Plans in which a whole thread goes on only when nobody else can.
pub fn later(plan: &[Planned]) -> impl Iterator<Item = Vec<Planned>> {
    let mut threads: Vec<_> = plan.iter().map(|step| &step.thread).collect();
    threads.sort_unstable();
    threads.dedup();
    threads.into_iter().map(|thread| {
        let others = plan.iter().filter(|step| step.thread != *thread);
        others.cloned().collect()
    })
}
