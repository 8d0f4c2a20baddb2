//! The timers and layers in real subscribers.

mod allocation;
mod auto_traits;
mod close_attributes;
mod close_times;
mod event_time;
mod every;
mod files;
mod formats;
mod forward;
mod increasing;
mod layer_allocation;
mod manual;
mod span_timing;
mod support;
mod texts;
mod timers;
#[cfg(feature = "tree")]
mod tree;
