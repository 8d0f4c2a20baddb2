//! The timers and layers under real subscribers.

mod allocation;
mod auto_traits;
mod close_times;
mod event_time;
mod formats;
mod forward;
mod manual;
mod span_timing;
mod support;
