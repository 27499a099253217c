//! Invariants of the architecture page that neither a type nor a dependency holds.

use super::sources::of_crate;

/// Parts of the standard library through which a crate could reach the machine it runs on.
const MACHINE: &[&str] = &[
    "std::env",
    "std::fs",
    "std::io",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
];

#[test]
fn the_engine_is_pure() {
    for source in of_crate("engine") {
        for path in source.paths() {
            let machine = MACHINE
                .iter()
                .find(|machine| path == **machine || path.starts_with(&format!("{machine}::")));
            assert!(
                machine.is_none(),
                "{} uses {path}: the engine has no clock, no threads, no input and no output",
                source.file.display()
            );
        }
        let text = source.tokens.iter().map(ToString::to_string);
        let text: Vec<String> = text.collect();
        if source.module.is_empty() {
            let root = text.concat().replace(' ', "");
            assert!(
                root.contains("forbid(unsafe_code)"),
                "unsafe code in the engine"
            );
        }
    }
}
