//! What the compiler is told: raddle's flags, after the user's own.

use std::env;
use std::path::Path;

use serde_json::Value;

use super::Control;
use super::rustc::Recipe;
use crate::toolchain::cargo::Cargo;

/// Every access calls the library.
pub const STABLE: [&str; 5] = [
    "-Cllvm-args=-force-attribute=sanitize_thread",
    "-Cpasses=forceattrs",
    "-Cpasses=tsan-module",
    "-Cpasses=function(tsan)",
    READS,
];
/// The same for compilers that do not know these.
pub const UNSTABLE: [&str; 4] = [
    "-Zsanitizer=thread",
    "-Zexternal-clangrt",
    "-Cunsafe-allow-abi-mismatch=sanitizer",
    READS,
];
/// A value that is read and then written is read, too.
const READS: &str = "-Cllvm-args=-tsan-instrument-read-before-write";
/// Some accesses of several values at once would not be seen.
const WHOLE: [&str; 2] = ["-Cno-vectorize-loops", "-Cno-vectorize-slp"];

/// Where optimising, functions stay where they are, as far as LLVM is concerned: what a thread is in is known by
/// the functions that it enters, and the standard library is known by the names of its own.
const APART: [&str; 2] = [
    "-Cllvm-args=-inline-threshold=-1000000",
    "-Cllvm-args=-inlinehint-threshold=-1000000",
];

/// Cargo's variables for flags, of which the first wins.
pub const ENCODED: &str = "CARGO_ENCODED_RUSTFLAGS";
const PLAIN: &str = "RUSTFLAGS";

/// What raddle wants. The library has the functions that are called; it is named by its path, so that nothing
/// else that a program needs can be missing unnoticed.
pub fn ours(recipe: Recipe, control: &Control, sysroot: Option<&Path>) -> Vec<String> {
    let mut flags = instrumenting(recipe);
    let library = control.folder.join("libtsan.so");
    flags.push(format!("-Clink-arg={}", library.display()));
    if let Some(sysroot) = sysroot {
        flags.push(format!("--sysroot={}", sysroot.display()));
    }
    flags
}

/// What makes the compiler instrument code.
pub fn instrumenting(recipe: Recipe) -> Vec<String> {
    let own = recipe.flags().iter().chain(&WHOLE).chain(&APART);
    own.map(|&flag| flag.to_owned()).collect()
}

/// The user's flags, if they are in the environment.
pub fn of_environment() -> Option<Vec<String>> {
    let value = |name| env::var(name).ok();
    let split = |text: String, at: char| {
        let words = text.split(at).map(str::trim).filter(|it| !it.is_empty());
        words.map(str::to_owned).collect()
    };
    let encoded = value(ENCODED).map(|text| split(text, '\u{1f}'));
    encoded.or_else(|| value(PLAIN).map(|text| split(text, ' ')))
}

/// Those that cargo would not take any more if it is told ours: `build.rustflags`, unless there are others for
/// targets. What cargo finds for targets it takes together with ours.
pub fn of_config(cargo: &Cargo, host: &str) -> Vec<String> {
    let targets = cargo.config("target").unwrap_or_default();
    let has_flags = |(name, value): (&String, &Value)| {
        (name == host || name.starts_with("cfg(")) && value.get("rustflags").is_some()
    };
    let targets = targets.as_object();
    if targets.is_some_and(|targets| targets.iter().any(has_flags)) {
        return Vec::new();
    }
    words(&cargo.config("build.rustflags").unwrap_or_default())
}

/// Flags as cargo's configuration has them: a list, or one text.
fn words(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => text.split_whitespace().map(str::to_owned).collect(),
        Value::Array(list) => {
            let words = list.iter().filter_map(Value::as_str);
            words.map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

/// Flags as a setting of cargo's.
pub fn setting(host: &str, flags: &[String]) -> String {
    let words: Vec<_> = flags.iter().map(|it| Value::from(it.as_str())).collect();
    format!("target.{host}.rustflags={}", Value::from(words))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn flags_of_the_configuration_are_a_list_or_a_text() {
        assert_eq!(words(&json!(["-Ca", "-C b"])), ["-Ca", "-C b"]);
        assert_eq!(words(&json!("-Ca  -Cb")), ["-Ca", "-Cb"]);
        assert_eq!(words(&Value::Null), [""; 0]);
    }

    #[test]
    fn a_setting_is_toml() {
        let flags = ["-Cpasses=function(tsan)", "--cfg=feature=\"a\""].map(str::to_owned);
        assert_eq!(
            setting("x86_64-unknown-linux-gnu", &flags),
            r#"target.x86_64-unknown-linux-gnu.rustflags=["-Cpasses=function(tsan)","--cfg=feature=\"a\""]"#
        );
    }

    #[test]
    fn the_library_is_named_and_the_sysroot_only_if_there_is_one() {
        let control = Control {
            library: "/l/libraddle_native.so".into(),
            folder: "/l/raddle-tsan".into(),
        };
        let plain = ours(Recipe::Stable, &control, None);
        assert_eq!(
            plain.last().unwrap(),
            "-Clink-arg=/l/raddle-tsan/libtsan.so"
        );
        let other = ours(Recipe::Unstable, &control, Some(Path::new("/s")));
        assert_eq!(other.last().unwrap(), "--sysroot=/s");
        assert_eq!(other[0], "-Zsanitizer=thread");
    }
}
