//! The name of this program.

pub(crate) use tach_core::adapter::program_name as name;
