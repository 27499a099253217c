//! Searches that several processes share by a queue on a real server: the class sets are those of one process,
//! whatever happens to workers, connections and the server.
//!
//! These tests start servers of their own, so they need `redis-server` and `postgresql`, which `.ci/run` installs;
//! without one they say so and do nothing, unless `RADDLE_REDIS_REQUIRED` or `RADDLE_POSTGRES_REQUIRED` is set.

mod commands;
mod cuts;
mod exact;
mod failing;
mod launchers;
mod lessons;
mod limits;
mod matrix;
mod measured;
mod monitoring;
mod moving;
mod mutants;
mod native;
mod page;
mod postgres;
mod programs;
mod protocol;
mod proxy;
mod refusals;
mod samplers;
mod scripts;
mod server;
mod several_checks;
mod since;
mod soak;
#[allow(dead_code)] // Most of it is for the tests of native programs.
#[path = "../native/support.rs"]
mod support;
mod tls;
