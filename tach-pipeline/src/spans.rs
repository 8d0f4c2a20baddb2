//! Spans on the back end: put together from their records until they end, and then kept or dropped
//! with their trace.

pub(crate) mod kept;
mod lost_ends;
mod open;
pub(crate) mod slow;
pub(crate) mod span;
pub(crate) mod status;
#[cfg(feature = "otlp")]
pub(crate) mod tail;
mod timed;
pub(crate) mod traces;
