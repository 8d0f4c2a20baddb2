//! What is measured: every clock as one loop, so that criterion and the table run the same code.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "reads the TSC bare, as the measure of all others")
)]

mod lines;
pub mod order;
mod spans;
mod subjects;

use core::time::Duration;
use std::time::Instant;

pub use crate::subjects::{enforced, groups};

/// Clocks that do the same job, the first of which is the measure of the others.
#[derive(Debug)]
pub struct Group {
    /// What they do.
    pub name: &'static str,
    /// Who does it.
    pub subjects: Vec<Subject>,
}

/// One clock at one job.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    /// Who does it.
    pub name: &'static str,
    /// Does it so many times.
    pub run: fn(u64),
}

impl Subject {
    /// How long `iterations` take.
    #[must_use]
    pub fn time(&self, iterations: u64) -> Duration {
        let start = Instant::now();
        (self.run)(iterations);
        start.elapsed()
    }
}
