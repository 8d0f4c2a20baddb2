//! Threads that do work at an interval.

mod periodic;
#[cfg(feature = "recalibrator")]
mod recalibrator;

#[cfg(feature = "coarse")]
pub(crate) use self::periodic::Periodic;
#[cfg(feature = "recalibrator")]
pub use self::recalibrator::Recalibrator;
