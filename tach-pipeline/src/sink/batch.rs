//! Formatted events that wait to be written, with their times and levels.

use tach_sinks::adapter::Mark;
pub(super) use tach_sinks::adapter::{BATCH, KEPT};

use crate::level::Level;
use crate::stats::{Dropped, Happened};

/// Whole events. A first part of them may have been written already. Parts of spans, durations, and
/// events of a process that has ended have no level.
pub(super) type Batch = tach_sinks::adapter::Batch<Option<Level>>;

/// Returns events as dropped.
pub(super) fn dropped(events: &[Mark<Option<Level>>]) -> Option<Dropped> {
    let mut dropped = None;
    for &(time, level) in events {
        Dropped::add(&mut dropped, Happened { time, level });
    }
    dropped
}
