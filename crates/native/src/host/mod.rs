//! The platform of raddle's own code: its memory, the kernel, the files of the process, and the two kinds of
//! code that take turns on one OS thread.

pub(crate) mod addresses;
pub(crate) mod arena;
pub(crate) mod dispatch;
pub(crate) mod imports;
pub(crate) mod loaded;
pub(crate) mod lock;
pub(crate) mod mode;
pub(crate) mod patch;
pub(crate) mod phase;
pub(crate) mod process_id;
pub(crate) mod process_state;
pub(crate) mod shared_memory;

pub(crate) mod substrate;
pub(crate) mod system;
pub(crate) mod tls;
