#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod kind;
mod native;
mod setting;
mod table;

pub use kind::{BadValue, GUARANTEES, SettingKind, Value};
pub use native::{BadVariable, Native};
pub use setting::{Flag, Scope, Setting, TABLE, setting};
pub use table::*;
