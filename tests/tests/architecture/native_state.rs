//! State of a native execution is in one value, `PerExecution`: a static that is not part of it has a reason
//! to outlive executions.

use std::collections::BTreeSet;

use proc_macro2::TokenTree;

use super::sources::of_crate;

/// Types of statics that cannot hold state of an execution: parts are found by a `PartCell`, and the others are
/// set once in a process.
const HARMLESS: &[&str] = &["PartCell", "OnceLock", "Once", "Arena", "u8"];

/// A reason, and the statics that it holds for: a file and their names in it.
type Reason = (
    &'static str,
    &'static [(&'static str, &'static [&'static str])],
);

/// Why statics of other types outlive executions.
const REASONS: &[Reason] = &[
    (
        "addresses of the C library's functions and of replaced ones, which do not change",
        &[
            ("abi/real.rs", &["FOUND"]),
            ("abi/unwinding.rs", &["STOP", "UNWINDER"]),
            ("rust/sync/replaced.rs", &["$original"]),
        ],
    ),
    (
        "registers between the program's code and raddle's, set whenever one enters the other",
        &[
            ("abi/alternate_stack.rs", &["START"]),
            ("abi/caller.rs", &["REGISTERS", "STACK"]),
            ("abi/guest.rs", &["GUEST"]),
            ("abi/unwinding.rs", &["EXCEPTION", "IS_ASKED"]),
            ("host/dispatch.rs", &["SELECTOR"]),
            ("host/mode.rs", &["EPOCH", "HOST"]),
            ("host/substrate/os.rs", &["CURRENT"]),
        ],
    ),
    (
        "memory and threads of raddle itself",
        &[
            ("host/arena.rs", &["HELD", "MAPPED", "MOST", "PIECES"]),
            ("host/dispatch.rs", &["ARMED"]),
            ("host/patch.rs", &["NEXT"]),
            (
                "host/shared_memory.rs",
                &["NEXT", "PROTECTED", "START", "UNUSED"],
            ),
            // Ended before an execution begins, which may be in another process.
            ("host/substrate/os.rs", &["THREADS"]),
            // Blocks are used again, with the initial values of all variables.
            ("host/tls.rs", &["BLOCKS"]),
            // Stacks are used again, too.
            ("memory/stacks.rs", &["HIGHEST", "LOWEST"]),
        ],
    ),
    (
        "the program's heap, which is there before a check and is reset together with the program's memory",
        &[
            ("memory/blocks.rs", &["BLOCKS"]),
            ("memory/heap.rs", &["LIMIT", "LOCK", "NEXT", "PIECES"]),
            ("memory/heap_range.rs", &["START"]),
            ("memory/snapshot.rs", &["SNAPSHOT"]),
            (
                "memory/thread_heaps.rs",
                &["OWNED", "OWNERS", "START", "TAKEN", "TOTAL"],
            ),
            ("process/restart/heap_mark.rs", &["END", "PIECES"]),
        ],
    ),
    (
        "settings and facts of a check",
        &[
            ("host/phase.rs", &["HARNESS", "IS_CHECKING"]),
            ("host/substrate/coroutines.rs", &["IS_FAST"]),
            ("host/substrate/mod.rs", &["IS_OS"]),
            ("execution/shadow_stack.rs", &["ARE_WANTED"]),
            ("process/uncontrolled.rs", &["ARE_THERE"]),
            (
                "memory/plain_choices.rs",
                &["CHOICES", "MAY_PROMOTE", "MODE"],
            ),
            ("memory/relevance/mod.rs", &["CHECK", "IS_ON"]),
            ("memory/unwritten.rs", &["STATE"]),
            ("process/harness.rs", &["HARNESS", "HOST", "TEST"]),
            (
                "process/output.rs",
                &["BEFORE", "IS_LIBTEST", "IS_SHOWN", "MESSAGES"],
            ),
            ("process/program.rs", &["MAIN"]),
            (
                "process/restart/fork.rs",
                &[
                    "EXECUTIONS",
                    "FRAME",
                    "IN_CHILD",
                    "IS_OVER",
                    "PARENTS_STACK",
                    "VARIABLES",
                ],
            ),
            ("process/restart/irreversible.rs", &["IS_REPORTED"]),
            ("process/restart/mod.rs", &["SELECTED"]),
            ("rust/arc_counts.rs", &["ARE_OPERATIONS", "IS_LEFT_OUT"]),
            ("threads/unwritten_reads.rs", &["TRUSTED"]),
        ],
    ),
    (
        "facts about the program's code, which does not change",
        &[
            ("execution/shadow_stack.rs", &["KNOWN_FOREIGN"]),
            ("names/rust_paths.rs", &["HIDES_PARKING_LOT"]),
            ("names/symbols.rs", &["MODULES"]),
            // Found again when another library is loaded.
            ("process/destructors.rs", &["FOUND"]),
            ("rust/sync/barrier.rs", &["ANSWER", "SIZE_FIELD"]),
            ("rust/sync/mod.rs", &["IS_DONE", "IS_USED"]),
            ("rust/sync/modules.rs", &["FUNCTIONS", "MODULES", "UNSEEN"]),
            ("rust/sync/parker.rs", &["PARKS", "WAITS"]),
            ("rust/sync/parking_lot.rs", &["IS_USED"]),
            (
                "rust/sync/sites.rs",
                &["ALONE", "INSIDE", "IS_OPTIMISED", "SITES"],
            ),
            ("threads/requests.rs", &["CANCELS", "SIGNALS"]),
        ],
    ),
    (
        "numbers that must be the same in all executions: sites, values, threads and texts",
        &[
            ("entry/atomic128.rs", &["VALUES"]),
            ("execution/call_tree.rs", &["CACHE", "NO_CALL", "TREE"]),
            ("execution/shadow_stack.rs", &["CHAINS", "KNOWN_SITES"]),
            ("io/mod.rs", &["WISHES"]),
            ("threads/life.rs", &["NUMBERS"]),
        ],
    ),
    (
        "what the program had before the check, and what executions begin with",
        &[
            ("io/inherited.rs", &["INHERITED"]),
            ("io/opened.rs", &["BEFORE", "OWN", "TIMERS"]),
            ("process/children.rs", &["HANDLERS_BEFORE"]),
            ("process/exit_handlers.rs", &["ARE_LOADED", "BEFORE"]),
            ("pthread/keys.rs", &["BEFORE"]),
            ("threads/signals/mod.rs", &["BEFORE"]),
        ],
    ),
    (
        "the execution itself, and the calls of its threads: `execution::begin` and `shadow_stack::begin` replace \
         them, because every operation needs them without a detour",
        &[
            ("execution/mod.rs", &["RUNNING"]),
            ("memory/own_accesses.rs", &["NO_LIST"]),
            ("memory/shadow.rs", &["NOW"]),
            (
                "execution/shadow_stack.rs",
                &["CALLS", "CHANGES", "OFFSET", "OF_ATOMIC"],
            ),
        ],
    ),
    (
        "a variable of the self-test",
        &[("host/substrate/self_test.rs", &["OWN"])],
    ),
];

/// A static: its name and the last segment of its type's path; the element's for an array.
struct Static {
    name: String,
    of: String,
}

/// Adds the statics among the tokens, in functions and macros too.
fn statics(tokens: &[TokenTree], found: &mut Vec<Static>) {
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|it| it.to_string() == text);
    for (at, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            statics(&group.stream().into_iter().collect::<Vec<_>>(), found);
        }
        let is_lifetime = at > 0 && is(at - 1, "'");
        if !is(at, "static") || is_lifetime {
            continue;
        }
        assert!(!is(at + 1, "mut"), "a `static mut`");
        // The name of one that a macro defines is a variable of the macro.
        let (name, colon) = match is(at + 1, "$") {
            true => (format!("${}", tokens[at + 2]), at + 3),
            false => (tokens[at + 1].to_string(), at + 2),
        };
        assert!(is(colon, ":"), "no static: {name}");
        let of = tokens[colon + 1..]
            .iter()
            .map_while(|token| match token {
                TokenTree::Punct(punct) if matches!(punct.as_char(), '=' | '<') => None,
                TokenTree::Group(group) => {
                    let element = group.stream().to_string();
                    Some(element.split([';', '<']).next().unwrap().trim().to_owned())
                }
                token => Some(token.to_string()),
            })
            .last()
            .unwrap();
        found.push(Static { name, of });
    }
}

fn with_reason() -> BTreeSet<(String, String)> {
    let files = REASONS.iter().flat_map(|(_, files)| files.iter());
    let names = files.flat_map(|(file, names)| {
        let name = |name: &&str| (file.to_string(), name.to_string());
        names.iter().map(name)
    });
    names.collect()
}

#[test]
fn statics_of_native_outlive_executions_for_a_reason() {
    let with_reason = with_reason();
    let mut seen = BTreeSet::new();
    let mut parts = BTreeSet::new();
    for source in of_crate("native") {
        let mut found = Vec::new();
        statics(&source.tokens, &mut found);
        for Static { name, of } in found {
            let key = (source.file.display().to_string(), name);
            if of == "PartCell" {
                parts.insert(key.1.clone());
            }
            if HARMLESS.contains(&of.as_str()) {
                continue;
            }
            assert!(
                with_reason.contains(&key),
                "{}: {} is a static of type {of}. State of an execution is a part of `PerExecution`; state that \
                 outlives executions needs a reason here",
                key.0,
                key.1
            );
            seen.insert(key);
        }
    }
    let gone: Vec<_> = with_reason.difference(&seen).collect();
    assert!(
        gone.is_empty(),
        "reasons for statics that are gone: {gone:?}"
    );
    assert!(parts.len() > 20, "the parts of an execution: {parts:?}");
}

#[test]
fn all_parts_are_fields_of_the_one_value() {
    let mut cells = BTreeSet::new();
    let mut value = String::new();
    for source in of_crate("native") {
        let mut found = Vec::new();
        statics(&source.tokens, &mut found);
        let found = found.into_iter().filter(|it| it.of == "PartCell");
        cells.extend(found.map(|it| it.name));
        if source.file.ends_with("per_execution.rs") {
            let tokens = source.tokens.iter().map(ToString::to_string);
            value = tokens.collect::<Vec<_>>().concat().replace(' ', "");
        }
    }
    for cell in cells {
        assert!(
            value.contains(&format!("::{cell};")),
            "{cell} is installed nowhere: add it to `PerExecution` in check/per_execution.rs"
        );
    }
}
