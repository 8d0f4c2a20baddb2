//! The layers.

mod close_times;
mod event_time;
mod forward;
mod poison;
mod span_timing;

pub use self::close_times::CloseTimes;
pub use self::event_time::EventTimeLayer;
pub use self::span_timing::{SpanDurations, SpanTimes, SpanTiming};
