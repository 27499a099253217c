//! Relations over at most 64 events, as bit matrices; slow and plain.

/// A set of events.
pub type Set = u64;

/// A set of pairs of events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relation {
    rows: Vec<Set>,
}

/// Iterates over the members of a set.
pub fn members(set: Set) -> impl Iterator<Item = usize> {
    let mut left = set;
    std::iter::from_fn(move || {
        let event = (left != 0).then(|| left.trailing_zeros() as usize);
        left &= left.wrapping_sub(1);
        event
    })
}

impl Relation {
    /// Returns the empty relation over this number of events.
    pub fn empty(events: usize) -> Self {
        assert!(events <= 64, "too large for a naive enumerator");
        Relation {
            rows: vec![0; events],
        }
    }

    /// Returns `[P]`: the events of a set, each with itself.
    pub fn identity(events: usize, set: Set) -> Self {
        let mut relation = Relation::empty(events);
        members(set).for_each(|event| relation.add(event, event));
        relation
    }

    /// Relates `a` to `b`.
    pub fn add(&mut self, a: usize, b: usize) {
        self.rows[a] |= 1 << b;
    }

    /// True when `a` is related to `b`.
    pub fn has(&self, a: usize, b: usize) -> bool {
        self.rows[a] >> b & 1 == 1
    }

    /// Returns the events that `a` is related to.
    pub fn row(&self, a: usize) -> Set {
        self.rows[a]
    }

    /// Returns the pairs of either relation.
    pub fn or(&self, other: &Relation) -> Self {
        let rows = self.rows.iter().zip(&other.rows);
        Relation {
            rows: rows.map(|(mine, others)| mine | others).collect(),
        }
    }

    /// Returns the pairs that satisfy the predicate.
    pub fn where_both(&self, holds: impl Fn(usize, usize) -> bool) -> Self {
        let row = |(a, &row): (usize, &Set)| {
            let kept = members(row).filter(|&b| holds(a, b));
            kept.fold(0, |set, b| set | 1 << b)
        };
        Relation {
            rows: self.rows.iter().enumerate().map(row).collect(),
        }
    }

    /// Returns `self ; next`: the pairs connected by one step of each.
    pub fn then(&self, next: &Relation) -> Self {
        let row = |&row: &Set| members(row).fold(0, |set, middle| set | next.rows[middle]);
        Relation {
            rows: self.rows.iter().map(row).collect(),
        }
    }

    /// Returns `self?`: one step or none.
    pub fn optional(&self) -> Self {
        let mut result = self.clone();
        (0..self.rows.len()).for_each(|event| result.add(event, event));
        result
    }

    /// Returns `self+`: one step or more.
    pub fn repeated(&self) -> Self {
        let mut result = self.clone();
        for middle in 0..result.rows.len() {
            let reached = result.rows[middle];
            for row in &mut result.rows {
                if *row >> middle & 1 == 1 {
                    *row |= reached;
                }
            }
        }
        result
    }

    /// Returns the inverse relation.
    pub fn inverse(&self) -> Self {
        let mut result = Relation::empty(self.rows.len());
        for (a, &row) in self.rows.iter().enumerate() {
            members(row).for_each(|b| result.add(b, a));
        }
        result
    }

    /// True when no event is related to itself.
    pub fn is_irreflexive(&self) -> bool {
        let mut rows = self.rows.iter().enumerate();
        rows.all(|(event, row)| row >> event & 1 == 0)
    }

    /// True when no steps lead from an event back to it.
    pub fn is_acyclic(&self) -> bool {
        self.repeated().is_irreflexive()
    }
}
