//! One path down the tree of the search: graphs, their extension, and their replay in the world.

pub(crate) mod binding;
pub(crate) mod frame;
pub(crate) mod revisit;
mod settled;
mod weak;
