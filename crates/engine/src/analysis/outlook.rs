//! Saturation: the rate at which the last executions have found new classes or requirements.
//!
//! The number of classes or requirements found after 1, 2, 4, 8 and so on executions is a curve
//! that rises steeply at first and flattens. The last half of the executions shows its present
//! slope, which is about the slope for as many executions again. A flat curve means that *these*
//! executions find little more, not that little is left: an event that is rare for one strategy
//! need not be rare for another. Stopping at saturation is from Sherman, Dwyer and Elbaum (2009),
//! continuing with another strategy from Hong (2015).

/// One point of the curve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Growth {
    /// Number of executions, including those of known classes, which are not counted elsewhere.
    pub runs: u64,
    /// Number of classes or requirements found.
    pub found: u64,
}

/// Slope of a curve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trend {
    /// At least one in twenty executions finds something new.
    Growing,
    /// Fewer than one in twenty executions do, and at least one in a hundred.
    Slowing,
    /// Fewer than one in a hundred executions do.
    Saturated,
}

/// Result of the last executions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outlook {
    /// Number of recent executions considered.
    pub recent: u64,
    /// Number of new classes or requirements that they found.
    pub new: u64,
    /// Slope of the curve there.
    pub trend: Trend,
}

/// Minimum number of recent executions for a conclusion: with fewer, a share of one in a hundred
/// cannot be observed.
const FEW: u64 = 100;
const GROWING: u64 = 20;
const SATURATED: u64 = 100;

impl Outlook {
    /// Evaluates a curve; `None` if it is too short.
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
        // 1,000 is not twice 512, so the last point is compared with 256.
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
