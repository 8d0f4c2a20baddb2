//! The timers under real subscribers.

mod allocation;
mod auto_traits;
mod every;
mod files;
mod formats;
mod increasing;
mod manual;
mod support;
mod texts;
mod timers;
