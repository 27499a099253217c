//! Mistakes in expressions of functions that synchronize threads.

use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{BinOp, Expr, ExprBinary, Lit, Token};

use super::finder::{Finder, short};
use super::operator::Operator;

/// Functions whose arguments have no order.
const SYMMETRIC: [&str; 5] = ["max", "min", "swap", "eq", "ptr_eq"];

/// Adds the mistakes with the operator of an expression.
pub fn binary(finder: &mut Finder<'_>, binary: &ExprBinary) {
    let is_pattern = |side: &Expr| matches!(side, Expr::Let(_));
    let (kind, old, new) = match binary.op {
        BinOp::Lt(_) => (Operator::Relational, "<", "<="),
        BinOp::Le(_) => (Operator::Relational, "<=", "<"),
        BinOp::Gt(_) => (Operator::Relational, ">", ">="),
        BinOp::Ge(_) => (Operator::Relational, ">=", ">"),
        BinOp::Eq(_) => (Operator::Relational, "==", "!="),
        BinOp::Ne(_) => (Operator::Relational, "!=", "=="),
        BinOp::And(_) => (Operator::Logical, "&&", "||"),
        BinOp::Or(_) => (Operator::Logical, "||", "&&"),
        BinOp::Add(_) => (Operator::Arithmetic, "+", "-"),
        BinOp::Sub(_) => (Operator::Arithmetic, "-", "+"),
        BinOp::Mul(_) => (Operator::Arithmetic, "*", "/"),
        BinOp::Div(_) => (Operator::Arithmetic, "/", "*"),
        BinOp::Rem(_) => (Operator::Arithmetic, "%", "*"),
        BinOp::AddAssign(_) => (Operator::Arithmetic, "+=", "-="),
        BinOp::SubAssign(_) => (Operator::Arithmetic, "-=", "+="),
        BinOp::MulAssign(_) => (Operator::Arithmetic, "*=", "/="),
        BinOp::DivAssign(_) => (Operator::Arithmetic, "/=", "*="),
        BinOp::RemAssign(_) => (Operator::Arithmetic, "%=", "*="),
        _ => return,
    };
    // A chain of `let` has no `||`.
    if kind == Operator::Logical && [&binary.left, &binary.right].iter().any(|it| has_let(it)) {
        return;
    }
    // The other operator gives the same value.
    let neutral = match old.trim_end_matches('=') {
        "+" | "-" => "0",
        "*" | "/" => "1",
        _ => "",
    };
    let makes_no_difference = kind == Operator::Arithmetic && is_number(&binary.right, neutral);
    if is_pattern(&binary.left) || makes_no_difference {
        return;
    }
    // A chain of `&&` binds its neighbours more tightly than `||`: the two sides stay what they are.
    let edits = match kind {
        Operator::Logical => {
            let wrapped = |side: &Expr| format!("({})", finder.source.slice(side));
            let text = format!(
                "({} {new} {})",
                wrapped(&binary.left),
                wrapped(&binary.right)
            );
            vec![finder.source.replace(binary, text)]
        }
        _ => vec![finder.source.replace(&binary.op, new)],
    };
    finder.add(kind, &binary.op, format!("`{old}` becomes `{new}`"), edits);
}

fn has_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(it) => has_let(&it.left) || has_let(&it.right),
        _ => false,
    }
}

fn is_number(expression: &Expr, text: &str) -> bool {
    matches!(expression, Expr::Lit(it) if matches!(&it.lit, Lit::Int(int) if int.base10_digits() == text))
}

/// Adds the exchanges of two neighbouring arguments.
pub fn arguments(
    finder: &mut Finder<'_>,
    arguments: &Punctuated<Expr, Token![,]>,
    function: Option<&str>,
) {
    if function.is_some_and(|name| SYMMETRIC.contains(&name)) {
        return;
    }
    let all: Vec<_> = arguments.iter().collect();
    for pair in all.windows(2) {
        let [first, second] = [pair[0], pair[1]];
        let is_other = finder.source.slice(first) != finder.source.slice(second);
        if is_other && is_value(first) && is_value(second) && same_kind(first, second) {
            let edits = finder.source.swap(first, second);
            let [one, other] = [first, second].map(|it| short(finder.source, it));
            let what = format!("the arguments `{one}` and `{other}` change places");
            finder.add(Operator::Arguments, &first.span(), what, edits);
        }
    }
}

/// True for an argument whose type another may have, too: no ordering, function or text.
fn is_value(argument: &Expr) -> bool {
    let is_ordering =
        |name: &str| ["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"].contains(&name);
    match argument {
        Expr::Path(it) if it.path.is_ident("self") => false,
        Expr::Path(it) => {
            let last = it.path.segments.last().map(|last| last.ident.to_string());
            !last.is_some_and(|name| is_ordering(&name))
        }
        Expr::Lit(it) => !matches!(it.lit, Lit::Str(_) | Lit::ByteStr(_)),
        Expr::Reference(it) => is_value(&it.expr),
        Expr::Unary(_) | Expr::Field(_) | Expr::Index(_) | Expr::Binary(_) | Expr::Paren(_) => true,
        _ => false,
    }
}

/// False when the types differ by their text alone.
fn same_kind(first: &Expr, second: &Expr) -> bool {
    use std::mem::discriminant;
    let reference = |it: &Expr| match it {
        Expr::Reference(it) => Some(it.mutability.is_some()),
        _ => None,
    };
    let literal = |it: &Expr| match it {
        Expr::Lit(it) => Some(discriminant(&it.lit)),
        _ => None,
    };
    let is_same_literal = match (literal(first), literal(second)) {
        (Some(first), Some(second)) => first == second,
        _ => true,
    };
    reference(first) == reference(second) && is_same_literal
}
