//! Spans on the back end. They are assembled from their records. After a span has ended, it is
//! kept or dropped with its trace.

pub mod kept;
pub mod open;
pub mod slow;
pub mod span;
pub mod status;
pub mod tail;
mod timed;
pub mod traces;
pub mod trees;
