//! The program under test.

pub mod variable;
