//! One path down the tree of the search: graphs, their extension, and their replay in the world.

mod barriers;
pub(crate) mod binding;
mod fixed;
pub(crate) mod frame;
mod ports;
pub(crate) mod revisit;
mod weak;
