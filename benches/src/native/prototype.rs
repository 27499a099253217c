//! The prototype: a runtime without an engine, clocks and race detection, which runs whole programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{cargo, succeed};

const EXECUTIONS: &str = "500000";

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
        // It knows nothing of checks inside programs.
        link.arg("-Wl,--unresolved-symbols=ignore-all");
        let path = target.join("release");
        succeed(link.arg(format!("-Wl,-rpath,{}", path.display())));
        Prototype(program)
    }

    /// How many nanoseconds a point takes in its loop, as it says itself:
    /// `= 1700000 exec/s; points/exec 10.0`.
    pub fn point(&self, rounds: usize) -> f64 {
        let points = (0..rounds).map(|_| {
            let mut command = Command::new(&self.0);
            command.env("CT_SUB", "co").env("CT_MODE", "loop");
            command.env("CT_STRAT", "random").env("CT_N", EXECUTIONS);
            let output = command.output().expect("the program was just built");
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            let number = |before: &str, after: &str| {
                let (_, rest) = text.split_once(before)?;
                rest.split(after).next()?.trim().parse::<f64>().ok()
            };
            let rate = number("s = ", " exec/s");
            let points = number("points/exec ", " ");
            match (rate, points) {
                (Some(rate), Some(points)) => 1e9 / rate / points,
                _ => panic!("the prototype said:\n{text}"),
            }
        });
        points.fold(f64::INFINITY, f64::min)
    }
}
