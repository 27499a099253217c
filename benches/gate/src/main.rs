//! Fails when raddle takes more instructions than the figures in the repository say.

mod figures;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use figures::{Build, Figures, Verdict, judge};
use raddle_gate::{WORKLOADS, native, workload};

const HELP: &str = "\
Counts the instructions of raddle's hot path with valgrind, and those of an execution in native mode by
single steps. Compares them with the figures in benches/gate/figures.txt. Fails if a
count is more than 3 % above its figure.

Usage: raddle-gate [--update | --print | --profile]

  --update   writes the counts into the file; a figure that rises needs a line in CHANGELOG.md
  --print    prints the counts and compares nothing
  --profile  prints the instructions of an execution in native mode by functions, and how often each was called

The figures belong to a version of the compiler and to builds that are not incremental:

  CARGO_INCREMENTAL=0 cargo run --bin raddle-gate

For any other build, the parent commit is built in target/gate and measured in the same run.

Exit codes: 0 no count is too high, 1 some count is, 2 bad usage or a failed measurement.
";

/// Exit code: some count is too high.
const HIGHER: u8 = 1;
/// Exit code: bad usage, or a failed measurement.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let result = match words[..] {
        [] => compare(),
        ["--update"] => update(),
        ["--print"] => print(),
        ["--profile"] => profile(),
        ["--help" | "-h"] => {
            print!("{HELP}");
            Ok(true)
        }
        ["run", name, amount] => match (workload(name), amount.parse()) {
            (Some(workload), Ok(amount)) => {
                workload.run_here(amount);
                Ok(true)
            }
            _ => Err(format!("there is no workload `{name}` of `{amount}`")),
        },
        _ => Err("unknown arguments; try --help".to_owned()),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(HIGHER),
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::from(FAILED)
        }
    }
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("figures.txt")
}

fn read() -> Result<Figures, String> {
    let text = std::fs::read_to_string(file()).unwrap_or_default();
    Figures::parse(&text).map_err(|line| format!("{}: not a figure: {line}", file().display()))
}

/// Returns the version of the compiler in use, and the profile of this program. Incremental builds
/// optimise less across the parts of a crate, so their counts are others.
fn build() -> Result<Build, String> {
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = output(Command::new(compiler).arg("--version"))?;
    let version = version.split_whitespace().nth(1);
    let is_incremental = option_env!("CARGO_INCREMENTAL") != Some("0");
    let profile = match cfg!(debug_assertions) {
        true if is_incremental => "dev-incremental",
        true => "dev",
        false => "release",
    };
    Ok((version.unwrap_or("unknown").to_owned(), profile.to_owned()))
}

/// Runs a command; returns its standard output.
fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output();
    let output = output.map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {}\n{errors}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Measures everything; calls the function with each name, unit and count.
fn measure(mut see: impl FnMut(&str, &str, f64)) -> Result<(), String> {
    for workload in &WORKLOADS {
        see(workload.name, workload.unit, workload.measure()?);
    }
    see("native_counted", "execution", native::measure()?);
    Ok(())
}

fn print() -> Result<bool, String> {
    measure(|name, _, count| println!("{name} {count:.0}"))?;
    Ok(true)
}

/// Prints the functions of an execution in native mode, those with the most instructions first.
fn profile() -> Result<bool, String> {
    let native::Profile { functions, entries } = native::profile()?;
    println!("Instructions of each function, its calls, and most of its callers:");
    print_rows(&functions);
    println!("\nInstructions between calls of the program and their returns:");
    print_rows(&entries);
    Ok(true)
}

/// Maximum number of callers that are printed of each function.
const CALLERS: usize = 6;

fn print_rows(rows: &[native::Row]) {
    let all: u64 = rows.iter().map(|row| row.instructions).sum();
    println!("{all:9} in all");
    for row in rows {
        let share = 100.0 * row.instructions as f64 / all as f64;
        println!(
            "{:9} {share:5.1} % {:6}  {} ({})",
            row.instructions, row.calls, row.function, row.file
        );
        for (caller, calls) in row.callers.iter().take(CALLERS) {
            println!("{calls:26}    {caller}");
        }
    }
}

fn update() -> Result<bool, String> {
    let mut figures = read()?;
    let counts = figures.of(build()?);
    counts.clear();
    measure(|name, unit, count| {
        println!("{name} {count:.0} per {unit}");
        counts.insert(name.to_owned(), count.round() as u64);
    })?;
    let text = figures.to_text();
    std::fs::write(file(), text).map_err(|error| format!("{}: {error}", file().display()))?;
    Ok(true)
}

fn compare() -> Result<bool, String> {
    let mut figures = read()?;
    let build = build()?;
    if figures.get(&build).is_none() {
        let (compiler, profile) = &build;
        println!("no figures of rustc {compiler} ({profile}): measuring the parent commit");
        *figures.of(build.clone()) = of_parent()?;
    }
    let mut holds = true;
    let figures = figures.of(build);
    measure(|name, unit, count| {
        let Some(&figure) = figures.get(name) else {
            println!("{name:24} {count:9.0} per {unit}, new");
            return;
        };
        let change = 100.0 * (count / figure.max(1) as f64 - 1.0);
        let verdict = judge(count, figure);
        let note = match verdict {
            Verdict::Holds => "",
            Verdict::Lower => ", the figure can be lowered: raddle-gate --update",
            Verdict::Higher => ", TOO HIGH",
        };
        println!("{name:24} {count:9.0} per {unit}, {change:+.1} %{note}");
        holds &= verdict != Verdict::Higher;
    })?;
    if !holds {
        println!(
            "Some counts are more than 3 % above their figures. If that is the price of a change, write \
             the figures anew with `raddle-gate --update` and say why in CHANGELOG.md."
        );
    }
    Ok(holds)
}

/// Builds the parent commit and returns its counts. Uncommitted changes are compared with the last
/// commit.
fn of_parent() -> Result<std::collections::BTreeMap<String, u64>, String> {
    let git = |words: &[&str]| output(Command::new("git").current_dir(workspace()).args(words));
    let changed = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    let revision = if changed { "HEAD" } else { "HEAD^" };
    let folder = workspace().join("target/gate");
    let source = folder.join("source");
    std::fs::create_dir_all(&source).map_err(|error| format!("{}: {error}", source.display()))?;
    let archive = folder.join("source.tar");
    git(&[
        "archive",
        "--output",
        &archive.display().to_string(),
        revision,
    ])?;
    output(
        Command::new("tar")
            .arg("-xf")
            .arg(&archive)
            .arg("-C")
            .arg(&source),
    )?;
    let mut cargo = Command::new("cargo");
    cargo
        .current_dir(&source)
        .args(["run", "--quiet", "--bin", "raddle-gate"]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    cargo.arg("--target-dir").arg(folder.join("target"));
    let printed = output(cargo.args(["--", "--print"]))?;
    let counts = printed.lines().filter_map(|line| {
        let (name, count) = line.split_once(' ')?;
        Some((name.to_owned(), count.parse().ok()?))
    });
    Ok(counts.collect())
}
