//! Numbers and durations as decimal text.

pub mod decimal;
pub(crate) mod digits;
pub mod seconds;
