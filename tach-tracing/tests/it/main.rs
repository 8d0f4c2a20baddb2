//! The timers under real subscribers.

mod allocation;
mod formats;
mod manual;
mod support;
