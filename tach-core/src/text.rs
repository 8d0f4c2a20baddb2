//! Numbers and durations as decimal text, and bytes as text.

pub mod decimal;
pub(crate) mod digits;
pub mod seconds;
pub mod utf8;
