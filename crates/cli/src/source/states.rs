//! States that a source marks with `raddle::reachable!` and `raddle::sometimes!`.

use syn::parse::{ParseStream, Parser};
use syn::visit::{self, Visit};
use syn::{Expr, LitStr, Macro, Token};

use super::text::Source;

/// A marked state.
#[derive(Debug, PartialEq, Eq)]
pub struct MarkedState {
    /// Its name, or the text of its condition.
    pub name: String,
    pub line: u32,
    pub column: u32,
}

/// Returns the states that a source marks, in their order; none if it is no Rust. States in the arguments of other macros are
/// not found.
pub fn find_states(text: &str) -> Vec<MarkedState> {
    // Most sources need not be parsed.
    if !text.contains("reachable!") && !text.contains("sometimes!") {
        return Vec::new();
    }
    let Some((source, file)) = Source::parse(text) else {
        return Vec::new();
    };
    let mut states = States {
        source,
        found: Vec::new(),
    };
    states.visit_file(&file);
    states.found
}

struct States<'a> {
    source: Source<'a>,
    found: Vec<MarkedState>,
}

impl<'ast> Visit<'ast> for States<'_> {
    fn visit_macro(&mut self, it: &'ast Macro) {
        let last = it.path.segments.last();
        let last = last.map(|segment| segment.ident.to_string());
        let name = match last.as_deref() {
            Some("reachable") => it.parse_body::<LitStr>().ok().map(|name| name.value()),
            Some("sometimes") => self.condition(it),
            _ => None,
        };
        if let Some(name) = name {
            let (line, column) = self.source.position(self.source.range(it).start);
            self.found.push(MarkedState { name, line, column });
        }
        visit::visit_macro(self, it);
    }
}

impl States<'_> {
    /// Returns the name of `sometimes!`.
    fn condition(&self, it: &Macro) -> Option<String> {
        let parse = |input: ParseStream<'_>| {
            let condition = input.parse::<Expr>()?;
            let comma = input.parse::<Option<Token![,]>>()?;
            let name = match comma.is_some() && !input.is_empty() {
                true => Some(input.parse::<LitStr>()?.value()),
                false => None,
            };
            input.parse::<Option<Token![,]>>()?;
            Ok(name.unwrap_or_else(|| self.source.slice(&condition).to_owned()))
        };
        parse.parse2(it.tokens.clone()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_found_by_their_macros() {
        let text = "\
fn push(&self) {
    if self.is_full() {
        raddle::reachable!(\"queue was full\");
    }
    sometimes!(self.len() > 1);
    raddle::sometimes!(self.is_empty(), \"empty\",);
    unreachable!(\"never\");
    println!(\"reachable!(1)\");
    reachable!(name);
}";
        let found: Vec<_> = find_states(text)
            .into_iter()
            .map(|state| (state.name, state.line, state.column))
            .collect();
        let expected = [
            ("queue was full", 3, 9),
            ("self.len() > 1", 5, 5),
            ("empty", 6, 5),
        ];
        assert_eq!(
            found,
            expected.map(|(name, line, column)| (name.to_owned(), line, column))
        );
        assert_eq!(find_states("reachable!("), []);
    }
}
