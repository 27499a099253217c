//! Prints how many reads of a program are of which relevance, and with `--all` each of them.

use std::collections::BTreeMap;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(path) = arguments
        .iter()
        .find(|argument| !argument.starts_with("--"))
    else {
        eprintln!("usage: verdicts [--all] PROGRAM");
        return ExitCode::from(2);
    };
    let analysis = match std::fs::read(path) {
        Ok(file) => raddle_relevance::analyse(&file).map_err(|error| error.to_string()),
        Err(error) => Err(format!("{path} cannot be read: {error}")),
    };
    let analysis = match analysis {
        Ok(analysis) => analysis,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    let mut counts: BTreeMap<_, usize> = BTreeMap::new();
    for read in &analysis.reads {
        let relevance = read.verdict.relevance();
        *counts.entry(relevance).or_default() += 1;
        if arguments.iter().any(|argument| argument == "--all") {
            let function = read.function.as_deref().unwrap_or("?");
            println!("{:x} {relevance:?} {function}", read.code);
        }
    }
    println!(
        "{} reads {counts:?}, {} functions, {} of them unknown, {} loads without a callback",
        analysis.reads.len(),
        analysis.functions,
        analysis.unknown_functions,
        analysis.unseen_loads.len()
    );
    ExitCode::SUCCESS
}
