//! Questions about pieces of syntax.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprMethodCall, Meta, Pat, Stmt, Token};

/// Methods that synchronize threads or access what they share.
const METHODS: [&str; 41] = [
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
    "fetch_update",
    "compare_exchange",
    "compare_exchange_weak",
    "lock",
    "try_lock",
    "read",
    "try_read",
    "write",
    "try_write",
    "wait",
    "wait_while",
    "wait_timeout",
    "notify_one",
    "notify_all",
    "notify_waiters",
    "notified",
    "send",
    "try_send",
    "recv",
    "recv_timeout",
    "try_recv",
    "acquire",
    "try_acquire",
    "release",
    "unpark",
    "join",
    "with",
    "with_mut",
    "get_or_init",
    "call_once",
];

/// Functions that do.
const FUNCTIONS: [&str; 7] = [
    "fence",
    "spawn",
    "park",
    "park_timeout",
    "yield_now",
    "spin_loop",
    "sleep",
];

/// Methods that take a lock or a permit.
const ACQUIRES: [&str; 5] = ["lock", "read", "write", "acquire", "enter"];

/// True when an attribute makes the item a test, or leaves it out of all other builds.
pub fn is_of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        let last = path.segments.last().map(|it| it.ident.to_string());
        match last.as_deref() {
            Some("test" | "bench") => true,
            Some("cfg") => attribute
                .parse_args::<Meta>()
                .is_ok_and(|condition| needs_test(&condition)),
            _ => false,
        }
    })
}

/// True when a condition holds in builds of tests only.
fn needs_test(condition: &Meta) -> bool {
    let Meta::List(list) = condition else {
        return condition.path().is_ident("test");
    };
    let parts = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
    let Ok(parts) = parts else { return false };
    match () {
        () if list.path.is_ident("all") => parts.iter().any(needs_test),
        () if list.path.is_ident("any") => !parts.is_empty() && parts.iter().all(needs_test),
        () => false,
    }
}

/// Returns the expression without `.unwrap()`, `.expect(...)`, `?`, `.await` and parentheses around it.
pub fn peeled(mut expression: &Expr) -> &Expr {
    loop {
        expression = match expression {
            Expr::MethodCall(call) if takes_result(call) => &call.receiver,
            Expr::Try(it) => &it.expr,
            Expr::Await(it) => &it.base,
            Expr::Paren(it) => &it.expr,
            _ => return expression,
        };
    }
}

/// True for `.unwrap()` and `.expect(...)`.
pub fn takes_result(call: &ExprMethodCall) -> bool {
    call.method == "unwrap" && call.args.is_empty() || call.method == "expect"
}

/// Returns the call that takes a lock or a permit, if the expression is one and what is made of its result.
pub fn acquire(expression: &Expr) -> Option<&ExprMethodCall> {
    match peeled(expression) {
        Expr::MethodCall(call) if is_acquire(call) => Some(call),
        // What is made of a poisoned lock.
        Expr::MethodCall(call) if call.method == "unwrap_or_else" => acquire(&call.receiver),
        _ => None,
    }
}

/// True for a call that takes a lock or a permit.
pub fn is_acquire(call: &ExprMethodCall) -> bool {
    call.args.is_empty() && ACQUIRES.iter().any(|name| call.method == name)
}

/// True when a call without arguments of this name is `.method()`.
pub fn is_call(call: &ExprMethodCall, name: &str) -> bool {
    call.method == name && call.args.is_empty()
}

/// Returns the name that a pattern binds, if it is one name.
pub fn bound_name(pattern: &Pat) -> Option<String> {
    match pattern {
        Pat::Ident(it) if it.by_ref.is_none() && it.subpat.is_none() => Some(it.ident.to_string()),
        Pat::Type(it) => bound_name(&it.pat),
        _ => None,
    }
}

/// True when a piece of syntax contains this identifier.
pub fn mentions(piece: &impl ToTokens, name: &str) -> bool {
    fn find(tokens: TokenStream, name: &str) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => ident == name,
            TokenTree::Group(group) => find(group.stream(), name),
            _ => false,
        })
    }
    find(piece.to_token_stream(), name)
}

/// True when other threads might see where a statement is: it calls something.
pub fn is_visible(statement: &Stmt) -> bool {
    #[derive(Default)]
    struct Calls(bool);
    impl<'ast> Visit<'ast> for Calls {
        fn visit_expr(&mut self, expression: &'ast Expr) {
            self.0 |= matches!(
                expression,
                Expr::Call(_) | Expr::MethodCall(_) | Expr::Macro(_) | Expr::Await(_)
            );
            visit::visit_expr(self, expression);
        }
    }
    let mut calls = Calls(matches!(statement, Stmt::Macro(_)));
    calls.visit_stmt(statement);
    calls.0
}

/// True when code calls something that synchronizes threads.
pub fn synchronizes(block: &syn::Block) -> bool {
    #[derive(Default)]
    struct Synchronization(bool);
    impl<'ast> Visit<'ast> for Synchronization {
        fn visit_expr(&mut self, expression: &'ast Expr) {
            self.0 |= match expression {
                Expr::MethodCall(call) => METHODS.iter().any(|name| call.method == name),
                Expr::Call(call) => called(call).is_some_and(|it| FUNCTIONS.contains(&&*it)),
                _ => false,
            };
            visit::visit_expr(self, expression);
        }
    }
    let mut found = Synchronization::default();
    found.visit_block(block);
    found.0
}

/// Returns the name of a called function, without its path.
pub fn called(call: &syn::ExprCall) -> Option<String> {
    match &*call.func {
        Expr::Path(it) => it.path.segments.last().map(|last| last.ident.to_string()),
        _ => None,
    }
}

/// True when a loop waits for other threads in this body.
pub fn waits(body: &syn::Block) -> bool {
    #[derive(Default)]
    struct Waits(bool);
    impl<'ast> Visit<'ast> for Waits {
        fn visit_expr(&mut self, expression: &'ast Expr) {
            let waits = ["wait", "wait_timeout", "notified", "park"];
            let yields = ["park", "park_timeout", "yield_now", "spin_loop", "sleep"];
            self.0 |= match expression {
                Expr::MethodCall(call) => waits.iter().any(|name| call.method == name),
                Expr::Call(call) => called(call).is_some_and(|it| yields.contains(&&*it)),
                _ => false,
            };
            visit::visit_expr(self, expression);
        }
        fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}
    }
    let mut found = Waits::default();
    found.visit_block(body);
    found.0
}

/// True when a loop body ends or continues the loop itself.
pub fn leaves_loop(body: &syn::Block) -> bool {
    #[derive(Default)]
    struct Leaves(bool);
    impl<'ast> Visit<'ast> for Leaves {
        fn visit_expr(&mut self, expression: &'ast Expr) {
            match expression {
                Expr::Break(_) | Expr::Continue(_) => self.0 = true,
                // Their own.
                Expr::While(_) | Expr::Loop(_) | Expr::ForLoop(_) | Expr::Closure(_) => {}
                _ => visit::visit_expr(self, expression),
            }
        }
    }
    let mut found = Leaves::default();
    found.visit_block(body);
    found.0
}
