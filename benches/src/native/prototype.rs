//! The prototype: a runtime without an engine, clocks and race detection, which runs whole programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{cargo, succeed};
use crate::measure;

const EXECUTIONS: u64 = 500_000;

/// The program with ten points, linked with the prototype.
pub struct Prototype(PathBuf);

impl Prototype {
    /// Builds both beside raddle's library.
    pub fn build(folder: &Path, library: &Path) -> Self {
        let target = library.with_file_name("native-prototype");
        let mut build = cargo();
        build.args(["build", "--release", "--quiet", "--manifest-path"]);
        build.arg(folder.join("Cargo.toml"));
        succeed(build.arg("--target-dir").arg(&target));
        let library = target.join("release/libctrt.so");
        let program = target.join("speed");
        let object = target.join("speed.o");
        let mut compile = Command::new("gcc");
        compile.args([
            "-g",
            "-O1",
            "-fsanitize=thread",
            "-Icrates/native/include",
            "-c",
            "tests/native/speed.c",
            "-o",
        ]);
        succeed(compile.arg(&object));
        let mut link = Command::new("gcc");
        link.arg(&object).arg("-o").arg(&program).arg(library);
        // It does not support checks inside programs; without arguments there is none.
        link.arg("-Wl,--defsym=raddle_check=main");
        let path = target.join("release");
        succeed(link.arg(format!("-Wl,-rpath,{}", path.display())));
        Prototype(program)
    }

    /// Returns the nanoseconds of processor time of a point in its loop. Its output has the number
    /// of points: `points/exec 10.0`.
    pub fn point(&self, rounds: usize) -> f64 {
        let points = (0..rounds).map(|_| {
            let mut command = Command::new(&self.0);
            command.env("CT_SUB", "co").env("CT_MODE", "loop");
            command.env("CT_STRAT", "random");
            let before = measure::processor_time_of_children();
            let output = command.env("CT_N", EXECUTIONS.to_string()).output();
            let time = measure::processor_time_of_children() - before;
            let output = output.expect("the program was just built");
            let text = String::from_utf8_lossy(&output.stderr);
            let (_, rest) = text
                .split_once("points/exec ")
                .unwrap_or_else(|| panic!("the prototype said:\n{text}"));
            let points: f64 = rest
                .split_whitespace()
                .next()
                .and_then(|points| points.parse().ok())
                .unwrap_or_else(|| panic!("the prototype said:\n{text}"));
            time.as_secs_f64() * 1e9 / EXECUTIONS as f64 / points
        });
        points.fold(f64::INFINITY, f64::min)
    }
}
