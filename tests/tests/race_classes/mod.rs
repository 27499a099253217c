//! The four kinds of race: the published examples, programs with a race and their correct twins, and the reports that
//! must not claim too much.

mod account;
mod cache;
mod examples;
mod oracle;
mod programs;
mod reports;
mod untrue;
mod world;
