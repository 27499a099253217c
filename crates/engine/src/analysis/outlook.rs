//! Whether to go on: how much the last executions have found that was new.
//!
//! Whatever is counted, classes or requirements, the count after 1, 2, 4, 8 and so on executions is a
//! curve that rises steeply at first and flattens. The executions since the count was taken at half of
//! the way or before say how steep it is now, and that is about how steep it will be for as many
//! executions again. A curve that is flat says that *these* executions find little more, not that there
//! is little more: what is rare for one strategy need not be for another. To stop when a curve is flat
//! is from Sherman, Dwyer and Elbaum (2009), to go on with another strategy from Hong (2015).

/// How much had been found after some executions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Growth {
    /// So many executions, those included that counted nowhere because their class was known.
    pub runs: u64,
    /// So much.
    pub found: u64,
}

/// Where a curve is going.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trend {
    /// At least one in twenty executions finds something new.
    Growing,
    /// Fewer do.
    Slowing,
    /// Fewer than one in a hundred does.
    Saturated,
}

/// What the last executions have found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outlook {
    /// So many executions were the last,
    pub recent: u64,
    /// and found so much that is new.
    pub new: u64,
    /// Where that goes.
    pub trend: Trend,
}

/// Fewer executions than this say nothing.
const FEW: u64 = 100;
const GROWING: u64 = 20;
const SATURATED: u64 = 100;

impl Outlook {
    /// Reads a curve; `None` if it is too short to say anything.
    pub fn of(growth: &[Growth]) -> Option<Self> {
        let last = growth.last()?;
        let half = growth.iter().rev().find(|it| it.runs <= last.runs / 2)?;
        let (recent, new) = (last.runs - half.runs, last.found - half.found);
        if recent < FEW {
            return None;
        }
        let trend = if new * GROWING >= recent {
            Trend::Growing
        } else if new * SATURATED >= recent {
            Trend::Slowing
        } else {
            Trend::Saturated
        };
        Some(Outlook { recent, new, trend })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outlook(points: &[(u64, u64)]) -> Option<Outlook> {
        let point = |&(runs, found): &(u64, u64)| Growth { runs, found };
        Outlook::of(&points.iter().map(point).collect::<Vec<_>>())
    }

    #[test]
    fn the_last_half_says_where_it_goes() {
        let said = |points: &[(u64, u64)]| {
            outlook(points).map(|Outlook { recent, new, trend }| (recent, new, trend))
        };
        // 1,000 is not twice 512, so that the last is compared with 256.
        let before = [(64, 60), (128, 100), (256, 110), (512, 111)];
        let at = |runs, found| said(&[&before[..], &[(runs, found)]].concat());
        assert_eq!(
            at(1000, 117),
            Some((744, 7, Trend::Saturated)),
            "below 7.44"
        );
        assert_eq!(at(1000, 118), Some((744, 8, Trend::Slowing)));
        assert_eq!(at(1000, 147), Some((744, 37, Trend::Slowing)), "below 37.2");
        assert_eq!(at(1000, 148), Some((744, 38, Trend::Growing)));
        assert_eq!(at(1024, 111), Some((512, 0, Trend::Saturated)));
    }

    #[test]
    fn few_executions_say_nothing() {
        assert_eq!(outlook(&[]), None);
        assert_eq!(outlook(&[(1, 1)]), None);
        assert_eq!(outlook(&[(64, 2), (128, 2), (163, 2)]), None);
        assert_eq!(
            outlook(&[(64, 2), (128, 2), (164, 2)]).map(|it| it.recent),
            Some(100)
        );
    }
}
