//! The timers and layers in real subscribers.

mod allocation;
mod auto_traits;
mod event_time;
mod every;
mod files;
mod formats;
mod forward;
mod increasing;
mod layer_allocation;
mod manual;
#[cfg(all(feature = "jiff", unix))]
mod privileged;
mod shown;
mod span_timing;
mod support;
mod texts;
mod timers;
