//! Do the counters of all cores agree, and do reads keep their order?

mod offsets;

pub(crate) use self::offsets::{Offset, cores, offsets};
