//! Mistakes with the regions in which locks are held.

use std::ops::Range;

use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, ExprBinary, ExprMethodCall, Local, Stmt};

use super::finder::{Finder, short};
use super::operator::Operator;
use super::syntax;
use super::text::{Edit, Source};

/// Maximum number of places at which one region is split: the first and the last are most like the others.
const MOST_SPLITS: usize = 4;

/// Names of values that hold something until they are dropped.
const GUARD_NAMES: [&str; 5] = ["guard", "permit", "lock", "scope", "pin"];

/// A guard that a statement of a block binds to a name.
struct Guard<'b> {
    statement: &'b Local,
    name: String,
    /// The call that takes the lock; of other guards, none is known.
    lock: Option<&'b ExprMethodCall>,
    /// Index of the statement.
    at: usize,
    /// Statements under the guard.
    region: Range<usize>,
    /// Statement that drops it, if one does.
    dropped: Option<usize>,
}

impl Guard<'_> {
    /// True when the guard gives no access to data.
    fn is_hidden(&self) -> bool {
        self.name.starts_with('_')
    }
}

/// Adds the mistakes with the guards of a block.
pub fn find(finder: &mut Finder<'_>, block: &Block) {
    let guards: Vec<Guard<'_>> = (0..block.stmts.len())
        .filter_map(|at| guard(block, at))
        .collect();
    // Before the others: to take one of two locks earlier is to exchange them.
    for (number, first) in guards.iter().enumerate() {
        for second in &guards[number + 1..] {
            swap(finder, first, second);
        }
    }
    for guard in &guards {
        drop_at_once(finder, block, guard);
        expand(finder, block, guard);
        shrink(finder, block, guard);
        shift(finder, block, guard);
        split(finder, block, guard);
        exchange(finder, guard);
    }
    widen_blocks(finder, block);
}

fn guard(block: &Block, at: usize) -> Option<Guard<'_>> {
    let Stmt::Local(statement) = &block.stmts[at] else {
        return None;
    };
    let init = statement.init.as_ref().filter(|it| it.diverge.is_none())?;
    let name = syntax::bound_name(&statement.pat)?;
    let lock = syntax::acquire(&init.expr);
    let is_named = GUARD_NAMES.iter().any(|it| name.contains(it));
    let is_call = matches!(
        syntax::peeled(&init.expr),
        Expr::Call(_) | Expr::MethodCall(_)
    );
    if lock.is_none() && !(name.starts_with('_') && name.len() > 1 && is_named && is_call) {
        return None;
    }
    let drops = |one: &Stmt| is_drop(one, &name);
    let dropped = block.stmts[at + 1..].iter().position(drops);
    let dropped = dropped.map(|after| at + 1 + after);
    Some(Guard {
        statement,
        name,
        lock,
        at,
        region: at + 1..dropped.unwrap_or(block.stmts.len()),
        dropped,
    })
}

/// True for `drop(name);`.
fn is_drop(statement: &Stmt, name: &str) -> bool {
    let Stmt::Expr(Expr::Call(call), Some(_)) = statement else {
        return false;
    };
    let argument = call.args.first().filter(|_| call.args.len() == 1);
    let is_it = argument.is_some_and(|it| matches!(it, Expr::Path(it) if it.path.is_ident(name)));
    is_it && syntax::called(call).is_some_and(|function| function == "drop")
}

/// Removes a statement and leaves its lines.
fn removed(source: Source<'_>, statement: &Stmt) -> Edit {
    let text = source.slice(statement);
    source.replace(statement, "\n".repeat(text.matches('\n').count()))
}

fn drop_before(source: Source<'_>, statement: &Stmt, name: &str) -> Edit {
    source.before(statement, format!("::core::mem::drop({name}); "))
}

fn drop_at_once(finder: &mut Finder<'_>, block: &Block, guard: &Guard<'_>) {
    if !guard.is_hidden() || guard.region.is_empty() {
        return;
    }
    let mut edits = vec![finder.source.replace(&guard.statement.pat, "_")];
    let drops = guard.dropped.map(|at| &block.stmts[at]);
    edits.extend(drops.map(|it| removed(finder.source, it)));
    let what = format!("`{}` is dropped at once", guard.name);
    finder.add(Operator::DropGuard, &guard.statement.pat, what, edits);
}

fn expand(finder: &mut Finder<'_>, block: &Block, guard: &Guard<'_>) {
    let Some(lock) = guard.lock else { return };
    if let Some(at) = guard.dropped
        && block.stmts[at + 1..].iter().any(syntax::is_visible)
    {
        let edits = vec![removed(finder.source, &block.stmts[at])];
        let what = format!("`{}` is not dropped here", guard.name);
        finder.add(Operator::ExpandGuard, &block.stmts[at], what, edits);
    }
    if let Some(before) = earlier(block, guard) {
        let edits = finder.source.swap(before, guard.statement);
        let what = "is taken a statement earlier".to_owned();
        finder.add(Operator::ExpandGuard, &lock.method, what, edits);
    }
}

/// Returns the statement before a guard, if the guard could be taken before it.
fn earlier<'b>(block: &'b Block, guard: &Guard<'_>) -> Option<&'b Stmt> {
    let before = &block.stmts[guard.at.checked_sub(1)?];
    let binds = match before {
        Stmt::Local(local) => syntax::bound_name(&local.pat),
        Stmt::Item(_) => return None,
        _ => None,
    };
    let is_unclear = matches!(before, Stmt::Local(_)) && binds.is_none();
    let is_needed = binds.is_some_and(|name| syntax::mentions(&guard.statement, &name));
    (!is_unclear && !is_needed && syntax::is_visible(before)).then_some(before)
}

fn shrink(finder: &mut Finder<'_>, block: &Block, guard: &Guard<'_>) {
    let Some(lock) = guard.lock else { return };
    let region = &block.stmts[guard.region.clone()];
    let uses = |one: &Stmt| guard.is_hidden() || syntax::mentions(one, &guard.name);
    let [first, _, ..] = region else { return };
    if guard.is_hidden() && syntax::is_visible(first) && !matches!(first, Stmt::Local(_)) {
        let edits = finder.source.swap(guard.statement, first);
        let what = "is taken a statement later".to_owned();
        finder.add(Operator::ShrinkGuard, &lock.method, what, edits);
    }
    // Of a guard with data, everything after its last use; of another, the last statement.
    let rest = match guard.is_hidden() {
        true => region.len() - 1,
        false => region.iter().rposition(uses).map_or(0, |last| last + 1),
    };
    let Some(next) = region.get(rest) else { return };
    if region[rest..].iter().any(syntax::is_visible) && !std::ptr::eq(next, first) {
        let mut edits = vec![drop_before(finder.source, next, &guard.name)];
        let drops = guard.dropped.map(|at| &block.stmts[at]);
        edits.extend(drops.map(|it| removed(finder.source, it)));
        let what = format!("`{}` is dropped before this", guard.name);
        finder.add(Operator::ShrinkGuard, next, what, edits);
    }
}

fn shift(finder: &mut Finder<'_>, block: &Block, guard: &Guard<'_>) {
    let Some(lock) = guard.lock.filter(|_| guard.is_hidden()) else {
        return;
    };
    let region = &block.stmts[guard.region.clone()];
    let [first, .., last] = region else { return };
    if let Some(before) = earlier(block, guard) {
        let mut edits = finder.source.swap(before, guard.statement);
        edits.push(drop_before(finder.source, last, &guard.name));
        let drops = guard.dropped.map(|at| &block.stmts[at]);
        edits.extend(drops.map(|it| removed(finder.source, it)));
        let what = "the region begins and ends a statement earlier".to_owned();
        finder.add(Operator::ShiftGuard, &lock.method, what, edits);
    }
    if let Some(at) = guard.dropped
        && let Some(after) = block.stmts.get(at + 1)
        && matches!(after, Stmt::Expr(_, Some(_)))
        && !matches!(first, Stmt::Local(_))
    {
        let mut edits = finder.source.swap(guard.statement, first);
        edits.extend(finder.source.swap(&block.stmts[at], after));
        let what = "the region begins and ends a statement later".to_owned();
        finder.add(Operator::ShiftGuard, &lock.method, what, edits);
    }
}

fn split(finder: &mut Finder<'_>, block: &Block, guard: &Guard<'_>) {
    if guard.lock.is_none() {
        return;
    }
    let region = &block.stmts[guard.region.clone()];
    let uses = |one: &Stmt| match guard.is_hidden() {
        true => syntax::is_visible(one),
        false => syntax::mentions(one, &guard.name),
    };
    // Both parts need the lock.
    let gaps: Vec<usize> = (1..region.len())
        .filter(|&gap| uses(&region[gap]) && region[..gap].iter().any(uses))
        .collect();
    let chosen = gaps.iter().enumerate().filter(|(number, _)| {
        number < &(MOST_SPLITS / 2) || number + MOST_SPLITS / 2 >= gaps.len()
    });
    for (_, &gap) in chosen {
        let next = &region[gap];
        let again = finder.source.slice(guard.statement);
        let text = format!("::core::mem::drop({}); {again} ", guard.name);
        let edits = vec![finder.source.before(next, text)];
        let what = format!("`{}` is dropped and taken again before this", guard.name);
        finder.add(Operator::SplitGuard, next, what, edits);
    }
}

/// Takes another lock of the function.
fn exchange(finder: &mut Finder<'_>, guard: &Guard<'_>) {
    let Some(lock) = guard.lock.filter(|_| guard.is_hidden()) else {
        return;
    };
    let own = finder.source.slice(&lock.receiver);
    let others = finder.function.locks.iter();
    let fits = |(method, receiver): &&(String, String)| lock.method == method && receiver != own;
    let Some((_, other)) = others.clone().find(fits).cloned() else {
        return;
    };
    let edits = vec![finder.source.replace(&lock.receiver, other.clone())];
    let what = format!("takes `{other}` instead of `{own}`");
    finder.add(Operator::ExchangeLock, &lock.method, what, edits);
}

/// Takes two locks in the other order.
fn swap(finder: &mut Finder<'_>, first: &Guard<'_>, second: &Guard<'_>) {
    let (Some(lock), Some(other)) = (first.lock, second.lock) else {
        return;
    };
    let is_inside = first.region.contains(&second.at);
    let is_needed = syntax::mentions(&other.receiver, &first.name);
    if !is_inside || is_needed {
        return;
    }
    let edits = finder.source.swap(first.statement, second.statement);
    let [one, two] = [lock, other].map(|it| short(finder.source, &it.receiver));
    let what = format!("`{one}` and `{two}` are taken in the other order");
    finder.add(Operator::SwapLocks, &lock.method, what, edits);
}

/// Removes the braces of blocks that end the region of a guard.
fn widen_blocks(finder: &mut Finder<'_>, block: &Block) {
    for (at, statement) in block.stmts.iter().enumerate() {
        let Stmt::Expr(Expr::Block(inner), _) = statement else {
            continue;
        };
        let stmts = &inner.block.stmts;
        let has_guard = (0..stmts.len())
            .filter_map(|at| guard(&inner.block, at))
            .any(|it| it.lock.is_some() && it.dropped.is_none());
        let is_plain = inner.label.is_none() && inner.attrs.is_empty();
        let ends = matches!(stmts.last(), Some(Stmt::Expr(_, Some(_)) | Stmt::Local(_)));
        let matters = block.stmts[at + 1..].iter().any(syntax::is_visible);
        if has_guard && is_plain && ends && matters {
            let braces = &inner.block.brace_token.span;
            let edits = vec![
                finder.source.replace(&braces.open(), " "),
                finder.source.replace(&braces.close(), " "),
            ];
            let what = "the block does not end the region of its guard".to_owned();
            finder.add(Operator::ExpandGuard, &braces.open(), what, edits);
        }
    }
}

/// Releases the lock between the two halves of `*lock.lock().unwrap() += value`.
pub fn split_update(finder: &mut Finder<'_>, binary: &ExprBinary) {
    let operator = match binary.op {
        BinOp::AddAssign(_) => "+",
        BinOp::SubAssign(_) => "-",
        BinOp::MulAssign(_) => "*",
        BinOp::DivAssign(_) => "/",
        BinOp::RemAssign(_) => "%",
        BinOp::BitAndAssign(_) => "&",
        BinOp::BitOrAssign(_) => "|",
        BinOp::BitXorAssign(_) => "^",
        _ => return,
    };
    let Some(lock) = lock_within(&binary.left) else {
        return;
    };
    let [place, value] = [&binary.left, &binary.right].map(|it| finder.source.slice(&**it));
    let text = format!("{{ let raddle_new = {place} {operator} ({value}); {place} = raddle_new }}");
    let edits = vec![finder.source.replace(binary, text)];
    let what = "the lock is released between the read and the write".to_owned();
    finder.add(Operator::SplitGuard, &lock.method, what, edits);
}

/// Returns the call that takes the lock of a place like `*lock.lock().unwrap()` or `lock.lock().unwrap().field`.
fn lock_within(place: &Expr) -> Option<&ExprMethodCall> {
    match place {
        Expr::Unary(it) => lock_within(&it.expr),
        Expr::Field(it) => lock_within(&it.base),
        Expr::Index(it) => lock_within(&it.expr),
        Expr::Paren(it) => lock_within(&it.expr),
        _ => syntax::acquire(place),
    }
}

/// Returns the locks that the code of a function takes.
pub fn locks(source: Source<'_>, block: &Block) -> Vec<(String, String)> {
    struct Locks<'a>(Source<'a>, Vec<(String, String)>);
    impl<'ast> Visit<'ast> for Locks<'_> {
        fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
            if syntax::is_acquire(call) {
                let lock = (
                    call.method.to_string(),
                    self.0.slice(&call.receiver).to_owned(),
                );
                if !self.1.contains(&lock) {
                    self.1.push(lock);
                }
            }
            visit::visit_expr_method_call(self, call);
        }
    }
    let mut locks = Locks(source, Vec::new());
    locks.visit_block(block);
    locks.1
}
