//! Spans on the back end. They are assembled from their records. After a span has ended, it is
//! kept or dropped with its trace.

pub(crate) mod kept;
mod lost_ends;
pub(crate) mod open;
pub(crate) mod slow;
pub(crate) mod span;
pub(crate) mod status;
pub(crate) mod tail;
mod timed;
pub(crate) mod traces;
