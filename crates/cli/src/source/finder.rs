//! Walks through a source and collects mistakes.

use std::collections::HashSet;
use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, Expr, Signature, Stmt};

use super::operator::Operator;
use super::text::{Edit, Source};
use super::{Mistake, Mistakes, calls, expressions, guards, switches, syntax};

/// Returns the mistakes that can be made in a source; those in the code of tests only with `in_tests`. `None` if the source
/// is no Rust.
pub fn find(text: &str, in_tests: bool) -> Option<Mistakes> {
    let (source, file) = Source::parse(text)?;
    let mut finder = Finder {
        source,
        in_tests,
        found: Mistakes::default(),
        known: HashSet::new(),
        blocks: Vec::new(),
        expressions: Vec::new(),
        function: Function::default(),
    };
    if !syntax::is_of_tests(&file.attrs) || in_tests {
        finder.visit_file(&file);
    }
    let mut found = finder.found;
    found
        .all
        .sort_by_key(|it| (it.line, it.column, it.operator));
    Some(found)
}

/// The function that the walk is in.
#[derive(Default)]
pub struct Function {
    synchronizes: bool,
    /// True in a loop, which may try again.
    pub repeats: bool,
    /// Locks that the function takes: the method, and the text of the lock.
    pub locks: Vec<(String, String)>,
}

pub struct Finder<'a> {
    pub source: Source<'a>,
    in_tests: bool,
    found: Mistakes,
    /// Edits that were made.
    known: HashSet<Vec<(usize, usize, String)>>,
    /// The blocks around the current place.
    blocks: Vec<usize>,
    /// The expressions around it, and whether a choice at run time may take their place.
    expressions: Vec<(Range<usize>, bool)>,
    pub function: Function,
}

impl Finder<'_> {
    /// Adds a mistake at a piece of syntax, unless its text is one that was added before.
    pub fn add(&mut self, operator: Operator, at: &impl Spanned, what: String, edits: Vec<Edit>) {
        let Some(&block) = self.blocks.last() else {
            return;
        };
        let key = edits
            .iter()
            .map(|it| (it.range.start, it.range.end, it.text.clone()))
            .collect();
        if !self.known.insert(key) {
            return;
        }
        let (line, column) = self.source.position(self.source.range(at).start);
        let has_edits = |range: &Range<usize>| {
            let is_within =
                |edit: &Edit| range.start <= edit.range.start && edit.range.end <= range.end;
            edits.iter().all(is_within)
        };
        let innermost = self
            .expressions
            .iter()
            .rev()
            .find(|(range, _)| has_edits(range));
        let switch = innermost.and_then(|(range, may_switch)| may_switch.then(|| range.clone()));
        self.found.all.push(Mistake {
            operator,
            line,
            column,
            what,
            edits,
            block,
            switch,
        });
    }

    fn function(&mut self, signature: &Signature, block: &Block) {
        // Marks cannot be put into what the compiler evaluates.
        if signature.constness.is_some() {
            return;
        }
        let locks = guards::locks(self.source, block);
        let inner = Function {
            synchronizes: syntax::synchronizes(block),
            repeats: false,
            locks,
        };
        let outer = std::mem::replace(&mut self.function, inner);
        self.visit_block(block);
        self.function = outer;
    }

    fn repeated(&mut self, walk: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.function.repeats, true);
        walk(self);
        self.function.repeats = before;
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Fn(it) => &it.attrs,
            syn::Item::Mod(it) => &it.attrs,
            syn::Item::Impl(it) => &it.attrs,
            syn::Item::Trait(it) => &it.attrs,
            // Evaluated by the compiler, or without code.
            _ => return,
        };
        if self.in_tests || !syntax::is_of_tests(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.function(&function.sig, &function.block);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if self.in_tests || !syntax::is_of_tests(&function.attrs) {
            self.function(&function.sig, &function.block);
        }
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.function(&function.sig, block);
        }
    }

    fn visit_block(&mut self, block: &'ast Block) {
        let start = match block.stmts.first() {
            Some(first) => self.source.range(first).start,
            None => self.source.range(&block.brace_token.span.open()).end,
        };
        self.blocks.push(self.found.blocks.len());
        self.found.blocks.push(start);
        guards::find(self, block);
        visit::visit_block(self, block);
        self.blocks.pop();
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        calls::statement(self, statement);
        visit::visit_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        let range = self.source.range(expression);
        // In one line, a comment would hide the rest, and a text would be another one.
        let text = self.source.slice(expression);
        let has_lines = text.contains('\n') && (text.contains("//") || text.contains('"'));
        let may_switch = !has_lines && switches::may_switch(expression);
        self.expressions.push((range, may_switch));
        visit::visit_expr(self, expression);
        self.expressions.pop();
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        calls::method(self, call);
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        calls::function(self, call);
        if self.function.synchronizes {
            expressions::arguments(self, &call.args, syntax::called(call).as_deref());
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_await(&mut self, it: &'ast syn::ExprAwait) {
        calls::awaited(self, it);
        visit::visit_expr_await(self, it);
    }

    fn visit_expr_try(&mut self, it: &'ast syn::ExprTry) {
        calls::tried(self, it);
        visit::visit_expr_try(self, it);
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        guards::split_update(self, binary);
        if self.function.synchronizes {
            expressions::binary(self, binary);
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_while(&mut self, it: &'ast syn::ExprWhile) {
        if it.label.is_none() && syntax::waits(&it.body) && !syntax::leaves_loop(&it.body) {
            let edits = vec![self.source.replace(&it.while_token, "if")];
            let what = "`while` becomes `if`".to_owned();
            self.add(Operator::WhileToIf, &it.while_token, what, edits);
        }
        self.repeated(|finder| visit::visit_expr_while(finder, it));
    }

    fn visit_expr_loop(&mut self, it: &'ast syn::ExprLoop) {
        self.repeated(|finder| visit::visit_expr_loop(finder, it));
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        let before = std::mem::replace(&mut self.function.repeats, false);
        self.visit_expr(&closure.body);
        self.function.repeats = before;
    }

    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_macro(&mut self, it: &'ast syn::Macro) {
        calls::select(self, it);
    }

    // What the compiler evaluates, and what is no code.
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_generics(&mut self, _: &'ast syn::Generics) {}
    fn visit_path(&mut self, _: &'ast syn::Path) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
}

/// Returns the text of an expression for messages, on one line and not too long.
pub fn short(source: Source<'_>, expression: &Expr) -> String {
    let text = source.slice(expression);
    let words: Vec<_> = text.split_whitespace().collect();
    let text = words.join(" ");
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}
