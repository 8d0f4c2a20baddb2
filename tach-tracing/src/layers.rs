//! The layers.

mod event_time;
mod span_timing;

pub use self::event_time::EventTime;
pub use self::span_timing::{SpanDurations, SpanTimes, SpanTiming};
