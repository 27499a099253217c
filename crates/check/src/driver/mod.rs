//! Running a check: its phases, its workers, its report.

pub(crate) mod alternatives;
mod auto;
mod block_values;
mod branches;
pub(crate) mod check;
mod completeness;
mod cuts;
mod early_frees;
pub(crate) mod endless;
mod ignored;
mod known_schedules;
mod mutants;
mod pairs;
mod phases;
mod predictions;
#[cfg(target_os = "linux")]
pub(crate) mod processes;
mod race_kinds;
mod resume;
mod run;
mod saturation;
#[cfg(unix)]
pub(crate) mod shared_search;
mod status;
mod suspicions;
mod work_pool;
mod worker;
mod workers;
