//! The timers and layers under real subscribers.

mod allocation;
mod close_times;
mod event_time;
mod formats;
mod forward;
mod layer_allocation;
mod layer_traits;
mod manual;
mod span_timing;
mod support;
