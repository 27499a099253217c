//! The modules of a crate and the module paths that each of its files mentions.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// One source file of a crate, without the modules that only tests have.
pub struct Source {
    /// The file, relative to the folder `src`.
    pub file: PathBuf,
    /// Its module path; empty for the crate root.
    pub module: Vec<String>,
    /// Its tokens.
    pub tokens: Vec<TokenTree>,
}

/// The root of the workspace.
pub fn workspace() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests
        .ancestors()
        .find(|folder| folder.join("Cargo.lock").exists())
        .expect("the tests are in a workspace")
        .to_owned()
}

/// Every source file of a crate that is compiled without `cfg(test)`.
pub fn of_crate(folder: &str) -> Vec<Source> {
    let src = workspace().join("crates").join(folder).join("src");
    let mut files = Vec::new();
    walk(&src, &mut files);
    let mut only_in_tests = BTreeSet::new();
    let mut sources: Vec<Source> = files
        .iter()
        .map(|path| {
            let file = path.strip_prefix(&src).unwrap().to_owned();
            let module = module_path(&file);
            let text = fs::read_to_string(path).unwrap();
            let stream: TokenStream = text
                .parse()
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let mut tokens = stream.into_iter().collect();
            for name in remove_tests(&mut tokens) {
                only_in_tests.insert([module.clone(), vec![name]].concat());
            }
            Source {
                file,
                module,
                tokens,
            }
        })
        .collect();
    sources.retain(|source| {
        !(1..=source.module.len()).any(|depth| only_in_tests.contains(&source.module[..depth]))
    });
    assert!(!sources.is_empty(), "no sources in {}", src.display());
    sources
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn module_path(file: &Path) -> Vec<String> {
    let mut path: Vec<String> = file
        .with_extension("")
        .iter()
        .map(|part| part.to_str().unwrap().to_owned())
        .collect();
    if matches!(
        path.last().map(String::as_str),
        Some("mod" | "lib" | "main")
    ) {
        path.pop();
    }
    path
}

/// Removes `#[cfg(test)] mod … { … }` and returns the names of `#[cfg(test)] mod …;`.
fn remove_tests(tokens: &mut Vec<TokenTree>) -> Vec<String> {
    let mut names = Vec::new();
    let mut kept = Vec::with_capacity(tokens.len());
    let mut rest = std::mem::take(tokens).into_iter().peekable();
    while let Some(token) = rest.next() {
        let is_cfg_test = is_punct(&token, '#')
            && matches!(rest.peek(), Some(TokenTree::Group(group))
                if group.stream().to_string().replace(' ', "").starts_with("cfg(test"));
        if !is_cfg_test {
            kept.push(token);
            continue;
        }
        rest.next();
        if !matches!(rest.peek(), Some(TokenTree::Ident(ident)) if ident == "mod") {
            continue;
        }
        rest.next();
        let name = rest.next().map(|name| name.to_string());
        let end = rest.next();
        if end.is_some_and(|end| is_punct(&end, ';')) {
            names.extend(name);
        }
    }
    *tokens = kept;
    names
}

fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

impl Source {
    /// The module paths inside the same crate that the file mentions: `crate::…` and `super::…`, in
    /// `use` declarations with braces too. Paths end where the tokens do, so they may name an item.
    pub fn mentions(&self) -> BTreeSet<Vec<String>> {
        let mut found = BTreeSet::new();
        mentions(&self.tokens, &self.module, &mut found);
        found
    }

    /// Every path with at least two segments that the file mentions, as text such as `std::time`.
    /// Grouped imports are spread out.
    pub fn paths(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        paths(&self.tokens, &mut found);
        found
    }
}

fn mentions(tokens: &[TokenTree], module: &[String], found: &mut BTreeSet<Vec<String>>) {
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                mentions(&inner, module, found);
            }
            TokenTree::Ident(ident) if !follows_path(tokens, at) => {
                let (base, next) = match ident.to_string().as_str() {
                    "crate" => (Vec::new(), at + 1),
                    "super" => climb(tokens, at, module),
                    _ => continue,
                };
                spread(&tokens[next..], base, found);
            }
            _ => {}
        }
    }
}

/// The module that `super::super::…` means, and the first token behind it. Inside inline modules the
/// result is one level too high, which can only add an edge, not hide one.
fn climb(tokens: &[TokenTree], mut at: usize, module: &[String]) -> (Vec<String>, usize) {
    let mut base = module.to_vec();
    loop {
        base.pop();
        at += 1;
        match tokens.get(at + 2) {
            Some(TokenTree::Ident(ident)) if ident == "super" && is_double_colon(tokens, at) => {
                at += 2;
            }
            _ => return (base, at),
        }
    }
}

fn follows_path(tokens: &[TokenTree], at: usize) -> bool {
    at >= 2 && is_double_colon(tokens, at - 2)
}

fn is_double_colon(tokens: &[TokenTree], at: usize) -> bool {
    tokens.get(at).is_some_and(|token| is_punct(token, ':'))
        && tokens.get(at + 1).is_some_and(|token| is_punct(token, ':'))
}

/// Follows `::a::b` and `::{a::b, c}` from a base and adds every path that they spell.
fn spread(tokens: &[TokenTree], mut base: Vec<String>, found: &mut BTreeSet<Vec<String>>) {
    let mut at = 0;
    while is_double_colon(tokens, at) {
        match tokens.get(at + 2) {
            Some(TokenTree::Ident(ident)) => base.push(ident.to_string()),
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                for item in inner.split(|token| is_punct(token, ',')) {
                    if let [TokenTree::Ident(first), rest @ ..] = item {
                        let mut path = base.clone();
                        if first != "self" {
                            path.push(first.to_string());
                        }
                        spread(rest, path, found);
                    }
                }
                return;
            }
            _ => break,
        }
        at += 3;
    }
    found.insert(base);
}

fn paths(tokens: &[TokenTree], found: &mut BTreeSet<String>) {
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                paths(&inner, found);
            }
            TokenTree::Ident(ident)
                if !follows_path(tokens, at) && is_double_colon(tokens, at + 1) =>
            {
                let mut spread_out = BTreeSet::new();
                spread(&tokens[at + 1..], vec![ident.to_string()], &mut spread_out);
                found.extend(spread_out.into_iter().map(|path| path.join("::")));
            }
            _ => {}
        }
    }
}

#[test]
fn paths_are_read_from_tokens_and_not_from_text() {
    let text = r#"
        //! crate::comment
        use crate::{a::b::C, d, e::{self, f}};
        use super::super::g::H;
        #[cfg(test)]
        mod tests { use crate::only_in_tests; }
        fn body() { matches!(x, crate::i::J); let _ = "crate::string"; std::time::Instant::now(); }
    "#;
    let mut tokens = text.parse::<TokenStream>().unwrap().into_iter().collect();
    remove_tests(&mut tokens);
    let source = Source {
        file: "x/y/z.rs".into(),
        module: ["x", "y", "z"].map(String::from).to_vec(),
        tokens,
    };
    let mentions: Vec<String> = source
        .mentions()
        .iter()
        .map(|path| path.join("::"))
        .collect();
    assert_eq!(mentions, ["a::b::C", "d", "e", "e::f", "i::J", "x::g::H"]);
    assert!(source.paths().contains("std::time::Instant::now"));
}
