//! Which crate depends on which.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use super::sources::workspace;

/// The published crates and the crates of this workspace that each uses, with all features.
const USES: &[(&str, &[&str])] = &[
    ("raddle-engine", &[]),
    // The table of settings has no dependency, so that the attribute, the checks, the native runtime and the
    // command line can all be made from it.
    ("raddle-settings", &[]),
    ("raddle-macros", &["raddle-settings"]),
    ("raddle-runs", &[]),
    ("raddle-queue", &[]),
    ("raddle-relevance", &[]),
    ("raddle-report", &["raddle-engine"]),
    (
        "raddle-check",
        &[
            "raddle-engine",
            "raddle-report",
            "raddle-runs",
            "raddle-settings",
        ],
    ),
    (
        "raddle",
        &[
            "raddle-check",
            "raddle-engine",
            "raddle-macros",
            "raddle-report",
        ],
    ),
    ("raddle-loom", &["raddle", "raddle-check"]),
    ("raddle-shuttle", &["raddle", "raddle-check"]),
    (
        "raddle-tokio",
        &["raddle", "raddle-check", "raddle-engine", "raddle-macros"],
    ),
    (
        "raddle-native",
        &[
            "raddle-check",
            "raddle-engine",
            "raddle-relevance",
            "raddle-settings",
        ],
    ),
    (
        "cargo-raddle",
        &[
            "raddle-engine",
            "raddle-queue",
            "raddle-report",
            "raddle-runs",
            "raddle-settings",
        ],
    ),
];

/// The dependencies of every package in `crates`, as `(package, dependency, optional)`.
fn dependencies() -> Vec<(String, String, bool)> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(workspace())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .filter(|package| text(&package["manifest_path"]).contains("/crates/"))
        .flat_map(|package| {
            let name = text(&package["name"]);
            let dependencies = package["dependencies"].as_array().unwrap().iter();
            dependencies
                .filter(|dependency| dependency["kind"].is_null())
                .map(|dependency| {
                    let optional = dependency["optional"].as_bool().unwrap();
                    (name.clone(), text(&dependency["name"]), optional)
                })
                .collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn crates_use_only_the_crates_they_are_meant_to() {
    let expected: BTreeMap<&str, BTreeSet<&str>> = USES
        .iter()
        .map(|(name, uses)| (*name, uses.iter().copied().collect()))
        .collect();
    let dependencies = dependencies();
    let mut found: BTreeMap<&str, BTreeSet<&str>> = expected
        .keys()
        .map(|name| (*name, BTreeSet::new()))
        .collect();
    for (name, dependency, _) in &dependencies {
        let uses = found.entry(name).or_default();
        if dependency.starts_with("raddle") {
            uses.insert(dependency);
        }
    }
    assert_eq!(found, expected);
}

#[test]
fn the_engine_and_the_settings_have_no_dependency() {
    let all = dependencies();
    for package in ["raddle-engine", "raddle-settings"] {
        assert!(all.iter().all(|(name, _, _)| name != package));
    }
}

#[test]
fn the_queue_without_the_feature_has_no_dependency() {
    for (name, dependency, optional) in dependencies() {
        assert!(
            name != "raddle-queue" || optional,
            "`{dependency}` is needed without the feature `postgres`"
        );
    }
}

#[test]
fn raddle_without_the_feature_has_no_dependency() {
    for (name, dependency, optional) in dependencies() {
        assert!(
            name != "raddle" || optional,
            "`{dependency}` is needed without the feature `check`"
        );
    }
}
