//! The clocks to compare, each as a loop, and loggers. Criterion and `cargo xtask bench clocks`
//! run the same loops.
#![expect(unsafe_code, reason = "aligns loops, reads the bare TSC, and calls the C library")]

mod lines;
pub mod loggers;
mod otel;
mod spans;
mod subjects;
mod thread_time;
mod timers;

use core::time::Duration;
use std::time::Instant;

pub use crate::subjects::enforced;
pub use crate::thread_time::thread_time;
pub use crate::timers::timers;

/// Returns every group.
#[must_use]
pub fn groups() -> Vec<Group> {
    let mut groups = subjects::groups();
    groups.push(lines::group());
    groups.extend(timers::groups());
    groups.extend(spans::groups());
    groups.extend(otel::groups());
    groups
}

/// Clocks with the same job. The first is the measure of the others.
#[derive(Debug)]
pub struct Group {
    /// The job.
    pub name: &'static str,
    /// The clocks.
    pub subjects: Vec<Subject>,
}

/// One clock at one job.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    /// The clock.
    pub name: &'static str,
    /// Does the job the given number of times.
    pub run: fn(u64),
}

impl Subject {
    /// Measures `iterations`.
    #[must_use]
    pub fn time(&self, iterations: u64) -> Duration {
        let start = Instant::now();
        (self.run)(iterations);
        start.elapsed()
    }
}
