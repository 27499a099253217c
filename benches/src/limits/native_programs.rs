//! Programs in C whose checks run beyond all limits: the functions of `tests/native/limits.c`.

use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use super::{Case, Excess};
use crate::native::{build_library_like_this, build_program};

const LONG_CALL: Duration = Duration::from_millis(1_000);

const PROGRAMS: [(&str, Excess); 14] = [
    ("endless_updates", Excess::Points),
    ("endless_yields", Excess::Points),
    ("endless_sleeps", Excess::Points),
    ("endless_lock", Excess::Points),
    ("polling", Excess::Points),
    ("computing", Excess::Points),
    ("threads", Excess::Points),
    ("events", Excess::Points),
    ("plain", Excess::Points),
    ("calls", Excess::Calls(LONG_CALL)),
    ("fails_late", Excess::Fails),
    ("fails_long", Excess::Fails),
    ("hangs_computing", Excess::Hangs),
    ("hangs_in_a_call", Excess::Hangs),
];

pub(super) fn cases() -> Vec<Case> {
    let case = |(name, excess): (&'static str, Excess)| Case {
        name: format!("native_{name}"),
        excess,
        command: Box::new(move || {
            static PROGRAM: OnceLock<std::path::PathBuf> = OnceLock::new();
            let program =
                PROGRAM.get_or_init(|| build_program(&build_library_like_this(), "limits.c"));
            let mut command = Command::new(program);
            command
                .arg(name)
                .env("RADDLE_STRATEGY", "auto")
                .env("RADDLE_MAX_EVENTS", "20000000")
                .env("RADDLE_MAX_EXECUTIONS", u64::MAX.to_string());
            command
        }),
    };
    PROGRAMS.into_iter().map(case).collect()
}
