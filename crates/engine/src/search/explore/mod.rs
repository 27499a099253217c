//! One path down the tree of the search: frames, revisits, and the replay of graphs in the world.

mod barriers;
pub(crate) mod binding;
mod fixed;
pub(crate) mod frame;
mod ports;
pub(crate) mod revisit;
pub(crate) mod vain;
mod weak;
