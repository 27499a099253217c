//! Mistakes with single calls: waits, joins, locks, channels and updates.

use syn::{Expr, ExprMethodCall, Lit, Macro, Stmt};

use super::finder::{Finder, short};
use super::operator::Operator;
use super::syntax;
use super::text::{Edit, Source};

/// Adds the mistakes with the call of a statement.
pub fn statement(finder: &mut Finder<'_>, statement: &Stmt) {
    let Stmt::Expr(expression, Some(_)) = statement else {
        return;
    };
    let awaits = matches!(expression, Expr::Await(_));
    match syntax::peeled(expression) {
        Expr::MethodCall(call) if syntax::is_call(call, "join") => {
            omit_join(finder, call, expression);
        }
        // A barrier.
        Expr::MethodCall(call) if syntax::is_call(call, "wait") && !awaits => {
            omit_wait(finder, call, expression, "()".to_owned());
        }
        Expr::Call(call) if syntax::called(call).is_some_and(|it| it == "park") => {
            let edits = vec![finder.source.replace(expression, "()")];
            let what = "does not wait".to_owned();
            finder.add(Operator::OmitWait, &call.func, what, edits);
        }
        _ => {}
    }
}

fn omit_join(finder: &mut Finder<'_>, join: &ExprMethodCall, whole: &Expr) {
    let thread = finder.source.slice(&join.receiver);
    let edits = vec![
        finder
            .source
            .replace(whole, format!("::core::mem::drop({thread})")),
    ];
    finder.add(
        Operator::OmitJoin,
        &join.method,
        "does not join".to_owned(),
        edits,
    );
}

fn omit_wait(finder: &mut Finder<'_>, wait: &ExprMethodCall, whole: &Expr, text: String) {
    let edits = vec![finder.source.replace(whole, text)];
    finder.add(
        Operator::OmitWait,
        &wait.method,
        "does not wait".to_owned(),
        edits,
    );
}

/// Adds the mistakes with `.notified().await` and with locks of futures.
pub fn awaited(finder: &mut Finder<'_>, it: &syn::ExprAwait) {
    let Expr::MethodCall(call) = &*it.base else {
        return;
    };
    if syntax::is_call(call, "notified") {
        let edits = vec![finder.source.replace(it, "()")];
        finder.add(
            Operator::OmitWait,
            &call.method,
            "does not wait".to_owned(),
            edits,
        );
    }
    if syntax::is_acquire(call) {
        let receiver = finder.source.slice(&call.receiver);
        let text = format!("{receiver}.try_{}().unwrap()", call.method);
        let edits = vec![finder.source.replace(it, text)];
        let what = format!("`{0}` becomes `try_{0}`", call.method);
        finder.add(Operator::TryLock, &call.method, what, edits);
    }
}

/// Adds the mistake with `.lock()?`.
pub fn tried(finder: &mut Finder<'_>, it: &syn::ExprTry) {
    if let Expr::MethodCall(call) = &*it.expr
        && may_be_poisoned(call)
    {
        ignore_poison(finder, call, it);
    }
}

/// Adds the mistakes with a call of a method.
pub fn method(finder: &mut Finder<'_>, call: &ExprMethodCall) {
    match call.method.to_string().as_str() {
        "wait" | "wait_while" => wait(finder, call),
        "unwrap" | "expect" => unwrapped(finder, call),
        "for_each" => join_each(finder, call),
        "compare_exchange" if call.args.len() == 4 => {
            // A loop tries again.
            if !finder.function.repeats {
                let edits = vec![finder.source.replace(&call.method, "compare_exchange_weak")];
                let what = "`compare_exchange` becomes `compare_exchange_weak`".to_owned();
                finder.add(Operator::WeakExchange, &call.method, what, edits);
            }
            split_update(finder, call);
        }
        _ => split_update(finder, call),
    }
}

fn wait(finder: &mut Finder<'_>, call: &ExprMethodCall) {
    let mut arguments = call.args.iter();
    let (Some(guard), condition) = (arguments.next(), arguments.next()) else {
        return;
    };
    let is_lent = matches!(guard, Expr::Reference(_));
    let text = match is_lent {
        true => "()".to_owned(),
        false => format!(
            "Ok::<_, ::std::sync::PoisonError<()>>({})",
            finder.source.slice(guard)
        ),
    };
    let whole = Expr::MethodCall(call.clone());
    omit_wait(finder, call, &whole, text);
    if let Some(condition @ Expr::Closure(_)) = condition
        && !is_lent
    {
        let [guard, condition, variable] =
            [guard, condition, &call.receiver].map(|it| finder.source.slice(it));
        let text = format!(
            "({{ let mut raddle_guard = {guard}; match ({condition})(&mut *raddle_guard) {{ \
             true => {variable}.wait(raddle_guard), false => Ok(raddle_guard) }} }})"
        );
        let edits = vec![finder.source.replace(call, text)];
        let what = "the condition is tested once".to_owned();
        finder.add(Operator::WhileToIf, &call.method, what, edits);
    }
}

/// Adds the mistakes with `.lock().unwrap()` and `.wait(guard).unwrap()`.
fn unwrapped(finder: &mut Finder<'_>, call: &ExprMethodCall) {
    let Expr::MethodCall(inner) = &*call.receiver else {
        return;
    };
    if !syntax::takes_result(call) || !may_be_poisoned(inner) {
        return;
    }
    if syntax::is_acquire(inner) {
        let edits = vec![
            finder
                .source
                .replace(&inner.method, format!("try_{}", inner.method)),
        ];
        let what = format!("`{0}` becomes `try_{0}`", inner.method);
        finder.add(Operator::TryLock, &inner.method, what, edits);
    }
    ignore_poison(finder, inner, call);
}

fn may_be_poisoned(call: &ExprMethodCall) -> bool {
    let is_lock = ["lock", "read", "write"]
        .iter()
        .any(|name| syntax::is_call(call, name));
    is_lock || call.method == "wait" && call.args.len() == 1
}

fn ignore_poison(
    finder: &mut Finder<'_>,
    call: &ExprMethodCall,
    whole: &impl syn::spanned::Spanned,
) {
    let start = finder.source.range(call).end;
    let end = finder.source.range(whole).end;
    let edits = vec![Edit {
        range: start..end,
        text: ".unwrap_or_else(::std::sync::PoisonError::into_inner)".to_owned(),
    }];
    let what = "a panic of another thread under the lock is ignored".to_owned();
    finder.add(Operator::IgnorePoison, &call.method, what, edits);
}

/// Adds the mistake with `.for_each(|thread| thread.join().unwrap())`.
fn join_each(finder: &mut Finder<'_>, call: &ExprMethodCall) {
    if let Some(Expr::Closure(closure)) = call.args.first()
        && let Expr::MethodCall(join) = syntax::peeled(&closure.body)
        && syntax::is_call(join, "join")
    {
        omit_join(finder, join, &closure.body);
    }
}

/// Makes a load and a store of a read-modify-write.
fn split_update(finder: &mut Finder<'_>, call: &ExprMethodCall) {
    let Some(text) = load_and_store(finder.source, call) else {
        return;
    };
    let edits = vec![finder.source.replace(call, text)];
    let what = format!("`{}` becomes a load and a store", call.method);
    finder.add(Operator::SplitUpdate, &call.method, what, edits);
}

fn load_and_store(source: Source<'_>, call: &ExprMethodCall) -> Option<String> {
    let arguments: Vec<&str> = call.args.iter().map(|it| source.slice(it)).collect();
    let method = call.method.to_string();
    let cell = source.slice(&call.receiver);
    let text = |load: &str, store: &str, rest: &str| {
        let rest = rest
            .replace("LOAD", &format!("raddle_cell.load({load})"))
            .replace("STORE", store);
        // In parentheses, or a statement would end with the block.
        format!("({{ let raddle_cell = &{cell}; {rest} }})")
    };
    match (method.as_str(), &arguments[..]) {
        ("compare_exchange" | "compare_exchange_weak", [expected, new, success, failure]) => {
            let (load, store) = halves(success)?;
            let load = stronger(&load, failure)?;
            Some(text(
                &load,
                &store,
                &format!(
                    "let raddle_old = LOAD; if raddle_old == {expected} {{ \
                     raddle_cell.store({new}, STORE); Ok(raddle_old) }} else {{ Err(raddle_old) }}"
                ),
            ))
        }
        ("fetch_update", [set, fetch, update]) => {
            let (_, store) = halves(set)?;
            Some(text(
                fetch,
                &store,
                &format!(
                    "let raddle_old = LOAD; match ({update})(raddle_old) {{ \
                     Some(raddle_new) => {{ raddle_cell.store(raddle_new, STORE); Ok(raddle_old) }} \
                     None => Err(raddle_old) }}"
                ),
            ))
        }
        (name, [value, ordering]) => {
            let (load, store) = halves(ordering)?;
            let new = match name {
                "swap" => value.to_string(),
                "fetch_add" => format!("raddle_old.wrapping_add({value})"),
                "fetch_sub" => format!("raddle_old.wrapping_sub({value})"),
                "fetch_and" => format!("raddle_old & ({value})"),
                "fetch_or" => format!("raddle_old | ({value})"),
                "fetch_xor" => format!("raddle_old ^ ({value})"),
                "fetch_nand" => format!("!(raddle_old & ({value}))"),
                "fetch_max" => format!("raddle_old.max({value})"),
                "fetch_min" => format!("raddle_old.min({value})"),
                _ => return None,
            };
            let rest =
                format!("let raddle_old = LOAD; raddle_cell.store({new}, STORE); raddle_old");
            Some(text(&load, &store, &rest))
        }
        _ => None,
    }
}

const PATH: &str = "::core::sync::atomic::Ordering";

/// Returns the orderings of the load and of the store that a read-modify-write has in one; `None` if the source does not
/// name the ordering.
fn halves(ordering: &str) -> Option<(String, String)> {
    let (load, store) = match last_word(ordering) {
        "Relaxed" => ("Relaxed", "Relaxed"),
        "Acquire" => ("Acquire", "Relaxed"),
        "Release" => ("Relaxed", "Release"),
        "AcqRel" => ("Acquire", "Release"),
        "SeqCst" => ("SeqCst", "SeqCst"),
        _ => return None,
    };
    Some((format!("{PATH}::{load}"), format!("{PATH}::{store}")))
}

/// Returns the stronger of two orderings of a load.
fn stronger(one: &str, other: &str) -> Option<String> {
    let strength = |ordering: &str| {
        ["Relaxed", "Acquire", "SeqCst"]
            .iter()
            .position(|it| *it == last_word(ordering))
    };
    let chosen = if strength(one)? >= strength(other)? {
        one
    } else {
        other
    };
    Some(format!("{PATH}::{}", last_word(chosen)))
}

fn last_word(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path).trim()
}

/// Adds the mistakes with a call of a function.
pub fn function(finder: &mut Finder<'_>, call: &syn::ExprCall) {
    let Some(least) = syntax::called(call).and_then(|name| match name.as_str() {
        "sync_channel" | "bounded" => Some(0),
        // tokio's has at least one place.
        "channel" => Some(1),
        _ => None,
    }) else {
        return;
    };
    let Some(bound) = call.args.first().filter(|_| call.args.len() == 1) else {
        return;
    };
    let number = match bound {
        Expr::Lit(it) => match &it.lit {
            Lit::Int(int) => int.base10_parse::<usize>().ok(),
            _ => return,
        },
        _ => None,
    };
    let smaller: Vec<String> = match number {
        Some(number) => {
            let mut all = vec![least];
            all.extend(number.checked_sub(1).filter(|&less| less > least));
            let is_less = |it: &usize| *it < number;
            all.into_iter()
                .filter(is_less)
                .map(|it| it.to_string())
                .collect()
        }
        None => vec![format!(
            "(({}) / 2).max({least})",
            finder.source.slice(bound)
        )],
    };
    for text in smaller {
        let what = format!(
            "room for `{}` becomes `{text}`",
            short(finder.source, bound)
        );
        let edits = vec![finder.source.replace(bound, text)];
        finder.add(Operator::ShrinkChannel, &call.func, what, edits);
    }
}

/// Adds the mistake with `select! { biased; ... }`.
pub fn select(finder: &mut Finder<'_>, it: &Macro) {
    let is_select = it
        .path
        .segments
        .last()
        .is_some_and(|last| last.ident == "select");
    let mut tokens = it.tokens.clone().into_iter();
    let (first, second) = (tokens.next(), tokens.next());
    let (Some(proc_macro2::TokenTree::Ident(biased)), Some(proc_macro2::TokenTree::Punct(end))) =
        (first, second)
    else {
        return;
    };
    if is_select && biased == "biased" && end.as_char() == ';' {
        let range = finder.source.range(&biased).start..finder.source.range(&end).end;
        let edits = vec![Edit {
            range,
            text: String::new(),
        }];
        let what = "the branches are polled in any order".to_owned();
        finder.add(Operator::UnbiasedSelect, &biased, what, edits);
    }
}
