//! Several mistakes in one text: a running program makes the one that a variable names.
//!
//! A mistake within an expression becomes a choice between two expressions, of which each is code of its own. A choice ends
//! the life of temporary values, so that an expression is left alone if another value than its result could be a guard:
//! the program without a mistake would be another one.

use std::ops::Range;

use syn::{Expr, ExprMethodCall};

use super::Mistake;
use super::syntax::takes_result;
use super::text::{Edit, edited};

/// The variable with the number of the mistake to make.
pub const CHOSEN: &str = "CARGO_RADDLE_MISTAKE";

/// Methods whose result is no guard, of atomics and of numbers.
const OF_VALUES: [&str; 24] = [
    "load",
    "store",
    "swap",
    "fetch_add",
    "fetch_sub",
    "fetch_and",
    "fetch_or",
    "fetch_xor",
    "fetch_nand",
    "fetch_max",
    "fetch_min",
    "compare_exchange",
    "compare_exchange_weak",
    "len",
    "is_empty",
    "is_null",
    "is_ok",
    "is_err",
    "is_some",
    "is_none",
    "wrapping_add",
    "wrapping_sub",
    "count_ones",
    "trailing_zeros",
];

/// True when a choice may take the place of the expression.
pub fn may_switch(expression: &Expr) -> bool {
    match expression {
        Expr::MethodCall(call) if takes_result(call) => match &*call.receiver {
            Expr::MethodCall(inner) => is_call_of_values(inner),
            other => is_value(other),
        },
        Expr::MethodCall(call) => is_call_of_values(call),
        Expr::Call(call) => is_value(&call.func) && call.args.iter().all(is_value),
        Expr::Binary(_) => is_value(expression),
        _ => false,
    }
}

/// True for a call whose receiver and arguments are no guards; its result may be one.
fn is_call_of_values(call: &ExprMethodCall) -> bool {
    is_value(&call.receiver) && call.args.iter().all(is_value)
}

/// True when neither the value nor what it is computed from can be a guard that is not in a variable.
fn is_value(expression: &Expr) -> bool {
    match expression {
        Expr::Path(_) | Expr::Lit(_) => true,
        Expr::Field(it) => is_value(&it.base),
        Expr::Unary(it) => is_value(&it.expr),
        Expr::Paren(it) => is_value(&it.expr),
        Expr::Reference(it) => is_value(&it.expr),
        Expr::Cast(it) => is_value(&it.expr),
        Expr::Index(it) => is_value(&it.expr) && is_value(&it.index),
        Expr::Binary(it) => is_value(&it.left) && is_value(&it.right),
        Expr::MethodCall(it) => {
            OF_VALUES.iter().any(|name| it.method == name) && is_call_of_values(it)
        }
        _ => false,
    }
}

/// A mistake that is made at run time, with its number.
pub struct Switch<'a> {
    pub number: usize,
    pub mistake: &'a Mistake,
    pub range: Range<usize>,
}

/// Returns the edits that put these choices into a text. No line of it moves.
pub fn edits(text: &str, switches: &[Switch<'_>]) -> Vec<Edit> {
    outermost(switches.iter().collect())
        .into_iter()
        .map(|(range, within)| Edit {
            text: choice(text, &range, &within),
            range,
        })
        .collect()
}

type Group<'a, 'b> = (Range<usize>, Vec<&'b Switch<'a>>);

/// Groups choices by the outermost expressions: of two expressions, one contains the other or they have nothing in common.
fn outermost<'a, 'b>(mut switches: Vec<&'b Switch<'a>>) -> Vec<Group<'a, 'b>> {
    switches.sort_by_key(|it| (it.range.start, std::cmp::Reverse(it.range.end), it.number));
    let mut groups: Vec<Group<'a, 'b>> = Vec::new();
    for switch in switches {
        match groups.last_mut() {
            Some((range, within)) if switch.range.end <= range.end => within.push(switch),
            _ => groups.push((switch.range.clone(), vec![switch])),
        }
    }
    groups
}

/// Returns the choice between an expression and what mistakes make of it.
fn choice(text: &str, range: &Range<usize>, switches: &[&Switch<'_>]) -> String {
    let moved = |edit: &Edit| Edit {
        range: edit.range.start - range.start..edit.range.end - range.start,
        text: edit.text.clone(),
    };
    let whole = &text[range.clone()];
    let (own, inner): (Vec<&Switch<'_>>, Vec<&Switch<'_>>) =
        switches.iter().partition(|it| it.range == *range);
    let mut chosen = String::from("(");
    for switch in own {
        let edits: Vec<_> = switch.mistake.edits.iter().map(moved).collect();
        let changed = edited(whole, &edits).replace(['\n', '\r'], " ");
        let number = switch.number;
        chosen += &format!(
            "if {{static ON: ::std::sync::OnceLock<bool>=::std::sync::OnceLock::new();\
             *ON.get_or_init(||::std::env::var_os(\"{CHOSEN}\").is_some_and(|it|it==\"{number}\"))}}{{{changed}}}else "
        );
    }
    let inner: Vec<Edit> = outermost(inner)
        .into_iter()
        .map(|(range, within)| Edit {
            text: choice(text, &range, &within),
            range,
        })
        .collect();
    let inner: Vec<_> = inner.iter().map(moved).collect();
    chosen + "{" + &edited(whole, &inner) + "})"
}
