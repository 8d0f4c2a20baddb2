//! The layers.

mod event_time;
mod span_timing;

pub use self::event_time::EventTimeLayer;
pub use self::span_timing::{SpanDurations, SpanTimes, SpanTiming};
