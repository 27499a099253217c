//! Compiler flags: raddle's after the user's.

use std::env;
use std::path::Path;

use serde_json::Value;

use super::rustc::Instrumentation;
use crate::toolchain::cargo::Cargo;
use crate::toolchain::native_runtime::NativeRuntime;

/// Instrumentation with stable flags that run LLVM's passes.
pub const STABLE: [&str; 5] = [
    "-Cllvm-args=-force-attribute=sanitize_thread",
    "-Cpasses=forceattrs",
    "-Cpasses=tsan-module",
    "-Cpasses=function(tsan)",
    READ_BEFORE_WRITE,
];
/// Instrumentation with the compiler's own unstable flags.
pub const UNSTABLE: [&str; 4] = [
    "-Zsanitizer=thread",
    "-Zexternal-clangrt",
    "-Cunsafe-allow-abi-mismatch=sanitizer",
    READ_BEFORE_WRITE,
];
/// Includes reads that are followed by a write of the same location, which LLVM leaves out by default.
const READ_BEFORE_WRITE: &str = "-Cllvm-args=-tsan-instrument-read-before-write";
/// Vectorised accesses are not instrumented completely.
const NO_VECTORS: [&str; 2] = ["-Cno-vectorize-loops", "-Cno-vectorize-slp"];

/// Keeps LLVM from inlining in optimised code: call stacks come from the functions that a thread enters, and
/// operations of std are recognised by the names of its functions.
const NO_INLINING: [&str; 2] = [
    "-Cllvm-args=-inline-threshold=-1000000",
    "-Cllvm-args=-inlinehint-threshold=-1000000",
];

/// Keeps functions callable in optimised code. LLVM changes the parameters of functions that are local to a
/// compilation unit, as copies of std's inline functions are unless dead code is linked; stand-ins for them need the
/// parameters that the source has. The linker still removes what is unused.
const WHOLE_FUNCTIONS: [&str; 2] = ["-Clink-dead-code", "-Clink-arg=-Wl,--gc-sections"];

/// Cargo's variables for flags; the first takes precedence.
pub const ENCODED: &str = "CARGO_ENCODED_RUSTFLAGS";
const PLAIN: &str = "RUSTFLAGS";

/// Returns all flags of raddle. The library is linked by its path, so that any other missing symbol
/// still is a link error.
pub fn raddle_flags(
    instrumentation: Instrumentation,
    runtime: &NativeRuntime,
    sysroot: Option<&Path>,
) -> Vec<String> {
    let mut flags = instrumenting(instrumentation);
    let library = runtime.tsan_directory.join("libtsan.so");
    flags.push(format!("-Clink-arg={}", library.display()));
    if let Some(sysroot) = sysroot {
        flags.push(format!("--sysroot={}", sysroot.display()));
    }
    flags
}

/// Returns the flags for optimised code beside those of [`raddle_flags`]. The compiler itself, before LLVM, inlines
/// functions only if it does not compile incrementally; cargo's own setting for that leaves out dependencies.
pub fn optimised_flags(incremental: &Path) -> Vec<String> {
    let whole = WHOLE_FUNCTIONS.map(str::to_owned);
    let incremental = format!("-Cincremental={}", incremental.display());
    whole.into_iter().chain([incremental]).collect()
}

/// Returns the flags that make the compiler instrument code.
pub fn instrumenting(instrumentation: Instrumentation) -> Vec<String> {
    let flags = instrumentation.flags().iter();
    let flags = flags.chain(&NO_VECTORS).chain(&NO_INLINING);
    flags.map(|&flag| flag.to_owned()).collect()
}

/// Returns the user's flags in the environment.
pub fn from_environment() -> Option<Vec<String>> {
    let value = |name| env::var(name).ok();
    let split = |text: String, at: char| {
        let words = text.split(at).map(str::trim).filter(|it| !it.is_empty());
        words.map(str::to_owned).collect()
    };
    let encoded = value(ENCODED).map(|text| split(text, '\u{1f}'));
    encoded.or_else(|| value(PLAIN).map(|text| split(text, ' ')))
}

/// Returns the user's flags in cargo's configuration that raddle's would replace:
/// `build.rustflags`, unless flags for the target take its place. Cargo adds flags for the target
/// to raddle's.
pub fn from_config(cargo: &Cargo, host: &str) -> Vec<String> {
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

/// Returns flags in cargo's configuration: a list of flags or a text with all of them.
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

/// Returns the flags as an argument of cargo's `--config`.
pub fn config_argument(host: &str, flags: &[String]) -> String {
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
    fn a_config_argument_is_toml() {
        let flags = ["-Cpasses=function(tsan)", "--cfg=feature=\"a\""].map(str::to_owned);
        assert_eq!(
            config_argument("x86_64-unknown-linux-gnu", &flags),
            r#"target.x86_64-unknown-linux-gnu.rustflags=["-Cpasses=function(tsan)","--cfg=feature=\"a\""]"#
        );
    }

    #[test]
    fn the_library_is_named_and_the_sysroot_only_if_there_is_one() {
        let runtime = NativeRuntime {
            library: "/l/libraddle_native.so".into(),
            tsan_directory: "/l/raddle-tsan".into(),
        };
        let plain = raddle_flags(Instrumentation::Stable, &runtime, None);
        assert_eq!(
            plain.last().unwrap(),
            "-Clink-arg=/l/raddle-tsan/libtsan.so"
        );
        let other = raddle_flags(Instrumentation::Unstable, &runtime, Some(Path::new("/s")));
        assert_eq!(other.last().unwrap(), "--sysroot=/s");
        assert_eq!(other[0], "-Zsanitizer=thread");
    }
}
