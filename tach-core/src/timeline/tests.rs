//! Tests of the timeline on a simulated machine.

mod appenders;
#[cfg(not(tach_same_arithmetic))]
mod bounds;
#[cfg(not(tach_same_arithmetic))]
mod disruptions;
mod faults;
mod first_rate;
mod looks;
mod outages;
#[cfg(not(tach_same_arithmetic))]
mod past;
#[cfg(not(tach_same_arithmetic))]
mod scenarios;
#[cfg_attr(tach_same_arithmetic, expect(dead_code, reason = "what uses it is left out"))]
mod simulation;
mod steps;
#[cfg(not(tach_same_arithmetic))]
mod sums;
