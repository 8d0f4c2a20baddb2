//! Counts of outcomes, fields of spans, stages.

mod attributes;
mod instruments;
mod stages;
mod stats;

pub(crate) use self::attributes::Attributes;
pub(crate) use self::stages::Entered as EnteredStages;
pub use self::stages::{Stage, Stages};
pub use self::stats::Stats;
pub(crate) use self::stats::Unanswered;
