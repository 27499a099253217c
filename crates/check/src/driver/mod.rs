//! Running a check: its phases, its workers, its report.

pub(crate) mod alternatives;
mod auto;
pub(crate) mod behaviour;
mod block_values;
mod branches;
pub(crate) mod check;
mod completeness;
pub(crate) mod conformance;
mod cuts;
mod early_frees;
mod ignored;
mod known_schedules;
mod mutants;
mod observe;
mod pairs;
mod phases;
mod predictions;
#[cfg(target_os = "linux")]
pub(crate) mod processes;
mod properties;
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
