//! Inside a crate the folders are layers: a module uses only modules that stand below it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::sources::{Source, of_crate};

/// A module directly below the crate root, and the modules of the same crate that it may use.
type Layer = (&'static str, &'static [&'static str]);

/// The folder of each crate and its layers, top to bottom.
pub(super) const CRATES: &[(&str, &[Layer])] = &[
    (
        "engine",
        &[
            (
                "explore",
                &["strategy", "analysis", "world", "memory", "model", "base"],
            ),
            (
                "strategy",
                &[
                    "search", "analysis", "world", "memory", "model", "object", "base",
                ],
            ),
            ("search", &["world", "memory", "model", "object", "base"]),
            ("analysis", &["memory", "model", "object", "base"]),
            ("world", &["memory", "model", "object", "base"]),
            ("memory", &["model", "object", "base"]),
            ("model", &["object", "base"]),
            ("object", &["base"]),
            ("base", &[]),
        ],
    ),
    (
        "check",
        &[
            (
                "driver",
                &[
                    "explain",
                    "persist",
                    "settings",
                    "scheduler",
                    "runtime",
                    "program",
                    "own_sync",
                ],
            ),
            ("explain", &["persist", "settings", "runtime", "program"]),
            ("persist", &["settings", "runtime", "program"]),
            ("settings", &["scheduler", "runtime", "program"]),
            ("scheduler", &["runtime"]),
            ("protocol", &["runtime"]),
            ("runtime", &["program", "own_sync"]),
            ("program", &[]),
            ("own_sync", &[]),
        ],
    ),
    (
        "raddle",
        &[
            ("alloc", &["plain"]),
            ("linearizable", &["choose", "label", "sync", "thread"]),
            ("cell", &["plain", "labelled"]),
            ("choose", &[]),
            ("future", &["sync", "thread", "plain"]),
            ("declared", &["__private"]),
            ("label", &["__private"]),
            ("event", &["__private"]),
            ("reached", &["__private"]),
            ("monitor", &["plain", "labelled"]),
            ("port", &["mailbox", "plain", "labelled"]),
            ("ignored", &["sync", "labelled"]),
            ("sync", &["hint", "mailbox", "plain", "labelled"]),
            ("hint", &["thread"]),
            ("mailbox", &["labelled"]),
            ("plain", &["own_sync"]),
            ("own_sync", &[]),
            ("thread", &["__private"]),
            ("__private", &["entered", "labelled"]),
            ("entered", &[]),
            ("labelled", &[]),
            ("time", &[]),
        ],
    ),
    (
        "loom",
        &[
            ("model", &[]),
            ("alloc", &[]),
            ("cell", &[]),
            ("future", &[]),
            ("hint", &[]),
            ("lazy_static", &[]),
            ("sync", &[]),
            ("thread", &[]),
        ],
    ),
    (
        "shuttle",
        &[
            ("checks", &["runner", "scheduler", "config"]),
            ("portfolio", &["runner", "scheduler", "config"]),
            ("runner", &["failure", "scheduler", "current", "config"]),
            ("failure", &["config"]),
            ("scheduler", &["rand", "current"]),
            ("annotations", &["future", "sync"]),
            ("future", &["sync", "current"]),
            ("sync", &["current"]),
            ("thread", &["current"]),
            ("rand", &["current"]),
            ("current", &[]),
            ("config", &[]),
            ("hint", &[]),
            ("lazy_static", &[]),
        ],
    ),
    (
        "tokio",
        &[
            ("runtime", &["task", "object"]),
            ("task", &["object"]),
            ("sync", &["time", "object"]),
            ("time", &["object"]),
            ("macros", &["object"]),
            ("object", &[]),
        ],
    ),
    (
        "native",
        &[
            (
                "check",
                &[
                    "entry",
                    "io",
                    "openmp",
                    "pthread",
                    "rust",
                    "process",
                    "threads",
                    "memory",
                    "execution",
                    "names",
                    "host",
                    "abi",
                    "engine",
                ],
            ),
            (
                "entry",
                &[
                    "io",
                    "rust",
                    "process",
                    "threads",
                    "memory",
                    "execution",
                    "names",
                    "host",
                    "abi",
                    "engine",
                ],
            ),
            ("io", &["process", "threads", "execution", "host", "abi"]),
            ("openmp", &["threads", "memory", "execution", "host", "abi"]),
            (
                "pthread",
                &[
                    "process",
                    "threads",
                    "memory",
                    "execution",
                    "names",
                    "host",
                    "abi",
                    "engine",
                ],
            ),
            (
                "rust",
                &[
                    "process",
                    "threads",
                    "memory",
                    "execution",
                    "names",
                    "host",
                    "abi",
                    "engine",
                ],
            ),
            (
                "process",
                &[
                    "threads",
                    "memory",
                    "execution",
                    "names",
                    "host",
                    "abi",
                    "engine",
                ],
            ),
            (
                "threads",
                &["memory", "execution", "names", "host", "abi", "engine"],
            ),
            ("memory", &["execution", "host", "abi", "engine"]),
            ("execution", &["names", "host", "abi", "engine"]),
            ("names", &["host", "engine"]),
            ("host", &["abi"]),
            ("abi", &["engine"]),
            ("engine", &[]),
        ],
    ),
    (
        "report",
        &[
            ("render", &["words", "data"]),
            ("words", &["data"]),
            ("data", &[]),
        ],
    ),
    (
        "runs",
        &[
            ("key", &[]),
            ("lines", &[]),
            ("merge", &["file"]),
            ("file", &["aside", "tables", "record"]),
            ("aside", &[]),
            ("tables", &["record"]),
            ("record", &[]),
        ],
    ),
    (
        "cli",
        &[
            (
                "commands",
                &["arguments", "output", "run", "source", "toolchain"],
            ),
            ("arguments", &[]),
            ("output", &["run", "source", "toolchain"]),
            ("run", &["own_sync", "source", "toolchain"]),
            ("source", &[]),
            ("own_sync", &[]),
            ("toolchain", &[]),
        ],
    ),
    (
        "queue",
        &[
            ("postgres", &["patience", "settings", "sketch", "stream"]),
            ("redis", &["patience", "settings", "sketch", "stream"]),
            ("memory", &["sketch"]),
            ("address", &["stream"]),
            ("stream", &[]),
            ("patience", &[]),
            ("settings", &[]),
            ("sketch", &[]),
            ("token", &[]),
        ],
    ),
    (
        "relevance",
        &[
            ("analysis", &["flow", "image", "sets", "summary"]),
            ("flow", &["image", "summary", "labels", "values", "sets"]),
            ("image", &["exceptions"]),
            ("exceptions", &[]),
            ("summary", &["labels", "sets"]),
            ("labels", &[]),
            ("values", &[]),
            ("sets", &[]),
        ],
    ),
    (
        "settings",
        &[
            ("native", &["setting", "table", "kind"]),
            ("setting", &["table", "kind"]),
            ("table", &["kind"]),
            ("kind", &[]),
        ],
    ),
    (
        "macros",
        &[
            ("tokio", &["expand"]),
            ("expand", &["function", "options"]),
            ("function", &["faults"]),
            ("options", &["faults"]),
            ("faults", &[]),
        ],
    ),
];

/// The module directly below the crate root that a file belongs to; `None` for the root itself.
fn top(source: &Source) -> Option<&str> {
    source.module.first().map(String::as_str)
}

/// The edges between the modules of a crate, each with the files that have it.
fn edges(folder: &str) -> BTreeMap<(String, String), BTreeSet<String>> {
    let sources = of_crate(folder);
    let modules: BTreeSet<&str> = sources.iter().filter_map(top).collect();
    let mut edges: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for source in &sources {
        let Some(own) = top(source) else { continue };
        for path in source.mentions() {
            if let Some(used) = path.first()
                && used != own
                && modules.contains(used.as_str())
            {
                let files = edges.entry((own.to_owned(), used.clone())).or_default();
                files.insert(source.file.display().to_string());
            }
        }
    }
    edges
}

#[test]
fn modules_use_only_what_they_may() {
    let mut wrong = String::new();
    for &(folder, layers) in CRATES {
        let allowed: BTreeMap<&str, &[&str]> = layers.iter().copied().collect();
        for ((own, used), files) in edges(folder) {
            match allowed.get(own.as_str()) {
                Some(uses) if uses.contains(&used.as_str()) => {}
                _ => {
                    let _ = writeln!(wrong, "{folder}: `{own}` uses `{used}` in {files:?}");
                }
            }
        }
    }
    assert!(wrong.is_empty(), "edges that no layer allows:\n{wrong}");
}

#[test]
fn what_is_allowed_points_down_and_is_used() {
    let mut wrong = String::new();
    for &(folder, layers) in CRATES {
        let edges = edges(folder);
        let position = |module| layers.iter().position(|(name, _)| *name == module);
        for (own_position, (own, uses)) in layers.iter().enumerate() {
            for used in *uses {
                if position(*used).is_none_or(|position| position <= own_position) {
                    let _ = writeln!(wrong, "{folder}: `{used}` does not stand below `{own}`");
                }
                if !edges.contains_key(&((*own).to_owned(), (*used).to_owned())) {
                    let _ = writeln!(wrong, "{folder}: `{own}` no longer uses `{used}`");
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_module_of_every_crate_is_in_a_layer() {
    for &(folder, layers) in CRATES {
        let listed: BTreeSet<&str> = layers.iter().map(|(name, _)| *name).collect();
        let sources = of_crate(folder);
        let found: BTreeSet<&str> = sources.iter().filter_map(top).collect();
        assert_eq!(found, listed, "modules of crates/{folder}");
    }
}
