//! Spans on the back end. They are assembled from their records. After a span has ended, it is
//! kept or dropped with its trace.

pub(crate) mod kept;
mod lost_ends;
mod open;
#[cfg(all(feature = "survive", target_os = "linux", target_pointer_width = "64"))]
pub(crate) mod recovered;
pub(crate) mod slow;
pub(crate) mod span;
#[cfg(all(feature = "survive", target_os = "linux", target_pointer_width = "64"))]
pub(crate) mod standing;
pub(crate) mod status;
pub(crate) mod tail;
mod timed;
pub(crate) mod traces;
