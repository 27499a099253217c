//! Strategies: the choice of the thread that runs next.
//!
//! A strategy sees the pending operation of every enabled thread. It chooses the thread that runs,
//! and the outcome of an operation that has several. It never sees how threads are run. The world
//! defines the interface; see [`Strategy`]. A new sampler is one file in `sampling`, and a row
//! of the table there.

mod consistent;
mod coverage;
mod directed;
mod dispatch;
mod guided;
mod name;
mod portfolio;
mod replay;
mod sampling;

pub use consistent::Consistent;
pub use coverage::CoverageGuided;
pub use directed::Directed;
pub use dispatch::{Dispatcher, World};
pub use guided::Guided;
pub use name::{Sampler, StrategyName, StrategyNameError};
pub use portfolio::Portfolio;
pub use replay::Replay;
pub use sampling::*;

pub use crate::model::choice::{Choice, Planned};
pub use crate::model::ending::{Divergence, Record};
pub use crate::search::{
    CheapestReplay as Along, CheapestReplay, Exhaustive, Item, Reach, Reductions, Sampling,
};
pub use crate::world::strategy::{
    Bound, Capabilities, Extent, KnownClass, Lesson, Progress, Randomness, Repeat, Strategy,
};
