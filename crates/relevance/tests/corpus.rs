//! Small functions with expectations that were written by hand, in what two compilers make of them on three levels.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSymbol};
use raddle_relevance::{Analysis, analyse};

mod programs;
use programs::{compile_instrumented, compile_plain, compilers, folder, run};

const LEVELS: [&str; 3] = ["-O0", "-O1", "-O2"];

fn cases(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cases")
        .join(name)
}

/// Effects by function and variable.
type Effects = BTreeMap<(String, String), String>;

/// Returns the expectations in a source, as alternatives.
fn expected(source: &str) -> Vec<(String, String, Vec<String>)> {
    let mut all = Vec::new();
    for line in source.lines() {
        let Some((name, of)) = line
            .strip_prefix("// ")
            .and_then(|line| line.split_once(": "))
        else {
            continue;
        };
        if !of.contains('=') {
            continue;
        }
        for part in of.split_whitespace() {
            let (variable, effects) = part.split_once('=').unwrap();
            let effects = effects.split('|').map(str::to_owned).collect();
            all.push((name.to_owned(), variable.to_owned(), effects));
        }
    }
    assert!(!all.is_empty());
    all
}

fn observed(program: &Path) -> (Analysis, Effects) {
    let file = std::fs::read(program).unwrap();
    let analysis = analyse(&file).unwrap();
    let object = object::File::parse(&file[..]).unwrap();
    let names: BTreeMap<u64, String> = object
        .symbols()
        .filter(|symbol| symbol.is_definition() && symbol.size() > 0)
        .map(|symbol| (symbol.address(), symbol.name().unwrap().to_owned()))
        .collect();
    let mut found: BTreeMap<_, [bool; 4]> = BTreeMap::new();
    for read in &analysis.reads {
        let function = read.function.clone().unwrap_or_default();
        let function = function.split('.').next().unwrap().to_owned();
        let variable = read.variable.and_then(|at| names.get(&at).cloned());
        let key = (function, variable.unwrap_or_else(|| "*".to_owned()));
        let verdict = &read.verdict;
        let effects = found.entry(key).or_default();
        effects[0] |= verdict.is_in_address;
        effects[1] |= !verdict.branches.is_empty();
        effects[2] |= !verdict.stores.is_empty();
        effects[3] |= verdict.is_unknown;
    }
    let text = |effects: [bool; 4]| {
        let letters = "ABSU".chars().zip(effects);
        let letters: String = letters.filter(|of| of.1).map(|of| of.0).collect();
        if letters.is_empty() {
            "-".to_owned()
        } else {
            letters
        }
    };
    let found = found.into_iter().map(|(key, of)| (key, text(of)));
    (analysis, found.collect())
}

/// Compares the effects of all reads with the expectations, and returns the differences.
fn differences(source: &str, program: &Path) -> Vec<String> {
    let (_, found) = observed(program);
    let mut all = Vec::new();
    for (function, variable, alternatives) in expected(source) {
        let mut effects = found
            .iter()
            .filter(|((of, name), _)| *of == function && *name == variable);
        let effects = effects.next().map_or("none", |(_, effects)| effects);
        if !alternatives
            .iter()
            .any(|alternative| alternative == effects)
        {
            all.push(format!(
                "{function}: {variable} is {effects}, not {}",
                alternatives.join("|")
            ));
        }
    }
    all
}

#[test]
fn c_functions_are_as_expected() {
    let folder = folder("corpus");
    let source = std::fs::read_to_string(cases("cases.c")).unwrap();
    let stub = folder.join("stub.o");
    compile_plain(&cases("stub.c"), &stub);
    let mut all = Vec::new();
    for compiler in compilers() {
        for level in LEVELS {
            let object = folder.join(format!("cases-{compiler}{level}.o"));
            let program = object.with_extension("program");
            compile_instrumented(compiler, level, &cases("cases.c"), &object);
            let mut link = Command::new(compiler);
            run(link
                .arg(&object)
                .arg(&stub)
                .args(["-lpthread", "-o"])
                .arg(&program));
            let of = differences(&source, &program);
            all.extend(of.iter().map(|of| format!("{compiler} {level} {of}")));
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn cpp_functions_are_as_expected() {
    let folder = folder("corpus-cpp");
    let source = std::fs::read_to_string(cases("cases.cpp")).unwrap();
    let stub = folder.join("stub.o");
    compile_plain(&cases("stub.c"), &stub);
    let mut all = Vec::new();
    for compiler in compilers() {
        let compiler = if compiler == "gcc" { "g++" } else { "clang++" };
        for level in LEVELS {
            let object = folder.join(format!("cases-{compiler}{level}.o"));
            let program = object.with_extension("program");
            compile_instrumented(compiler, level, &cases("cases.cpp"), &object);
            let mut link = Command::new(compiler);
            run(link
                .arg(&object)
                .arg(&stub)
                .args(["-lpthread", "-o"])
                .arg(&program));
            let of = differences(&source, &program);
            all.extend(of.iter().map(|of| format!("{compiler} {level} {of}")));
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn rust_functions_are_as_expected() {
    let folder = folder("corpus-rust");
    let source = std::fs::read_to_string(cases("cases.rs")).unwrap();
    let stub = folder.join("stub.o");
    compile_plain(&cases("stub.c"), &stub);
    let mut all = Vec::new();
    for level in ["0", "1", "2"] {
        let program = folder.join(format!("cases-{level}"));
        let mut compile = Command::new("rustc");
        compile.args(["--edition=2024", "-Awarnings", "-Cpasses=forceattrs"]);
        compile.args(["-Cpasses=tsan-module", "-Cpasses=function(tsan)"]);
        compile.arg("-Cllvm-args=-force-attribute=sanitize_thread");
        compile.arg("-Cllvm-args=-tsan-instrument-read-before-write");
        compile.arg(format!("-Copt-level={level}"));
        compile.arg(format!("-Clink-arg={}", stub.display()));
        run(compile.arg(cases("cases.rs")).arg("-o").arg(&program));
        let of = differences(&source, &program);
        all.extend(of.iter().map(|of| format!("rustc -O{level} {of}")));
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}
