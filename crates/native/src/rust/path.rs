//! The names of Rust's functions as paths, whatever way they were written into the program.

/// The path of a function: `std::sync::poison::mutex::MutexGuard::drop` for any symbol of
/// `<MutexGuard<T> as Drop>::drop`. Nothing if the symbol is not Rust's.
pub(crate) fn of_symbol(symbol: &str) -> Option<String> {
    let name = rustc_demangle::try_demangle(symbol).ok()?;
    Some(plain(&format!("{name:#}")))
}

/// The path without the arguments of types and without traits.
fn plain(name: &str) -> String {
    let name = match name.strip_prefix('<').and_then(|inside| split(inside)) {
        // What a method belongs to comes first, in brackets.
        Some((owner, rest)) => format!("{}{rest}", before_trait(owner)),
        None => name.to_owned(),
    };
    without_arguments(&name)
}

/// Splits at the bracket that closes what has been opened before.
fn split(inside: &str) -> Option<(&str, &str)> {
    let mut depth = 1;
    for (at, c) in brackets(inside) {
        depth += if c == '<' { 1 } else { -1 };
        if depth == 0 {
            return Some((&inside[..at], &inside[at + 1..]));
        }
    }
    None
}

/// The brackets of a name, but for those of arrows.
fn brackets(name: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    let bytes = name.as_bytes();
    name.char_indices().filter(move |&(at, c)| {
        let is_arrow = c == '>' && at > 0 && bytes[at - 1] == b'-';
        matches!(c, '<' | '>') && !is_arrow
    })
}

/// The type in `Type as Trait`.
fn before_trait(owner: &str) -> &str {
    let mut depth = 0;
    let mut from = 0;
    for (at, c) in brackets(owner).chain([(owner.len(), '<')]) {
        if depth == 0
            && let Some(found) = owner[from..at].find(" as ")
        {
            return &owner[..from + found];
        }
        depth += if c == '<' { 1 } else { -1 };
        from = at;
    }
    owner
}

fn without_arguments(name: &str) -> String {
    let mut text = String::new();
    let mut depth = 0;
    let mut from = 0;
    for (at, c) in brackets(name) {
        if depth == 0 {
            text += &name[from..at];
        }
        depth += if c == '<' { 1 } else { -1 };
        from = at + 1;
    }
    if depth == 0 {
        text += &name[from..];
    }
    let parts: Vec<&str> = text.split("::").filter(|part| !part.is_empty()).collect();
    parts.join("::")
}
