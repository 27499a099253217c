//! Formulas of linear temporal logic over labelled events, with past operators.

use std::fmt;
use std::ops::{BitAnd, BitOr, Not};

/// A property of the order of labelled events: a formula of linear temporal logic.
///
/// A position of the logic is a labelled event; operations without a label are no positions. An execution that ends is a
/// finite word: at its end, `always` is true, and `eventually` and `until` are false unless they were fulfilled.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Property(pub(super) Formula);

/// A formula.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Formula {
    Constant(bool),
    /// The event at this position has this label; with a `*` at the end, a label that begins like this.
    Event(String),
    Not(Box<Formula>),
    And(Box<Formula>, Box<Formula>),
    Or(Box<Formula>, Box<Formula>),
    Always(Box<Formula>),
    Eventually(Box<Formula>),
    Until(Box<Formula>, Box<Formula>),
    Once(Box<Formula>),
    Since(Box<Formula>, Box<Formula>),
    Previously(Box<Formula>),
}

impl Formula {
    /// True when the formula looks at later positions.
    pub(super) fn has_future(&self) -> bool {
        match self {
            Formula::Always(_) | Formula::Eventually(_) | Formula::Until(..) => true,
            Formula::Constant(_) | Formula::Event(_) => false,
            Formula::Not(inner) | Formula::Once(inner) | Formula::Previously(inner) => {
                inner.has_future()
            }
            Formula::And(left, right) | Formula::Or(left, right) | Formula::Since(left, right) => {
                left.has_future() || right.has_future()
            }
        }
    }

    fn collect_patterns<'a>(&'a self, into: &mut Vec<&'a str>) {
        match self {
            Formula::Constant(_) => {}
            Formula::Event(pattern) => into.push(pattern),
            Formula::Not(inner)
            | Formula::Always(inner)
            | Formula::Eventually(inner)
            | Formula::Once(inner)
            | Formula::Previously(inner) => inner.collect_patterns(into),
            Formula::And(left, right)
            | Formula::Or(left, right)
            | Formula::Until(left, right)
            | Formula::Since(left, right) => {
                left.collect_patterns(into);
                right.collect_patterns(into);
            }
        }
    }
}

/// True when a label fits a pattern: it is equal to it, or begins with what stands before a final `*`.
pub fn fits(pattern: &str, label: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => label.starts_with(start),
        None => label == pattern,
    }
}

impl Property {
    /// The event at this position has this label. With a `*` at its end, any label that begins with the text before it
    /// fits.
    pub fn event(label: impl Into<String>) -> Self {
        Property(Formula::Event(label.into()))
    }

    /// True at every position.
    pub fn constant(value: bool) -> Self {
        Property(Formula::Constant(value))
    }

    /// True at this and at every later position.
    pub fn always(property: Property) -> Self {
        Property(Formula::Always(Box::new(property.0)))
    }

    /// True at this or at some later position.
    pub fn eventually(property: Property) -> Self {
        Property(Formula::Eventually(Box::new(property.0)))
    }

    /// Every event `request` is followed by an event `response`: `always(request implies eventually(response))`.
    pub fn responds(request: Property, response: Property) -> Self {
        Property::always(request.implies(Property::eventually(response)))
    }

    /// True if `property` was true at this or at some earlier position.
    ///
    /// # Panics
    ///
    /// If `property` has `always`, `eventually` or `until` in it: past operators look at the past only.
    #[track_caller]
    pub fn once(property: Property) -> Self {
        Property(Formula::Once(property.of_past("once")))
    }

    /// True if `property` was true at the position before; false at the first position.
    ///
    /// # Panics
    ///
    /// As [`once`](Self::once).
    #[track_caller]
    pub fn previously(property: Property) -> Self {
        Property(Formula::Previously(property.of_past("previously")))
    }

    /// `other` becomes true at this or some later position, and this is true at all positions before it.
    pub fn until(self, other: Property) -> Self {
        Property(Formula::Until(Box::new(self.0), Box::new(other.0)))
    }

    /// `other` was true at this or some earlier position, and this has been true at all positions after it.
    ///
    /// # Panics
    ///
    /// As [`once`](Self::once).
    #[track_caller]
    pub fn since(self, other: Property) -> Self {
        Property(Formula::Since(
            self.of_past("since"),
            other.of_past("since"),
        ))
    }

    /// If this is true here, so is `other`.
    pub fn implies(self, other: Property) -> Self {
        !self | other
    }

    /// Returns the labels and patterns of its events.
    pub fn labels(&self) -> Vec<&str> {
        let mut labels = Vec::new();
        self.0.collect_patterns(&mut labels);
        labels.sort_unstable();
        labels.dedup();
        labels
    }

    #[track_caller]
    fn of_past(self, operator: &str) -> Box<Formula> {
        assert!(
            !self.0.has_future(),
            "raddle: `{operator}` of `{self}`: a past operator takes no `always`, `eventually` or `until`; put the \
             past operator inside of the future one"
        );
        Box::new(self.0)
    }
}

impl Not for Property {
    type Output = Property;

    fn not(self) -> Property {
        Property(Formula::Not(Box::new(self.0)))
    }
}

impl BitAnd for Property {
    type Output = Property;

    fn bitand(self, other: Property) -> Property {
        Property(Formula::And(Box::new(self.0), Box::new(other.0)))
    }
}

impl BitOr for Property {
    type Output = Property;

    fn bitor(self, other: Property) -> Property {
        Property(Formula::Or(Box::new(self.0), Box::new(other.0)))
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(f, false)
    }
}

impl Formula {
    /// Writes the formula; a conjunction or disjunction `inside` of another formula has parentheses.
    fn write(&self, f: &mut fmt::Formatter<'_>, inside: bool) -> fmt::Result {
        let infix = |f: &mut fmt::Formatter<'_>, sign: &str, left: &Formula, right: &Formula| {
            f.write_str(if inside { "(" } else { "" })?;
            left.write(f, true)?;
            write!(f, " {sign} ")?;
            right.write(f, true)?;
            f.write_str(if inside { ")" } else { "" })
        };
        let prefix = |f: &mut fmt::Formatter<'_>, name: &str, of: &[&Formula]| {
            write!(f, "{name}(")?;
            for (number, one) in of.iter().enumerate() {
                f.write_str(if number > 0 { ", " } else { "" })?;
                one.write(f, false)?;
            }
            f.write_str(")")
        };
        match self {
            Formula::Constant(value) => write!(f, "{value}"),
            Formula::Event(pattern) => write!(f, "{pattern:?}"),
            Formula::Not(inner) => {
                f.write_str("!")?;
                inner.write(f, true)
            }
            Formula::And(left, right) => infix(f, "&", left, right),
            Formula::Or(left, right) => infix(f, "|", left, right),
            Formula::Always(inner) => prefix(f, "always", &[&**inner]),
            Formula::Eventually(inner) => prefix(f, "eventually", &[&**inner]),
            Formula::Once(inner) => prefix(f, "once", &[&**inner]),
            Formula::Previously(inner) => prefix(f, "previously", &[&**inner]),
            Formula::Until(left, right) => prefix(f, "until", &[&**left, &**right]),
            Formula::Since(left, right) => prefix(f, "since", &[&**left, &**right]),
        }
    }
}
