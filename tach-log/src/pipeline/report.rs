//! What the pipeline logs itself.

use tach_core::UnixTime;

use super::level::Level;
use super::queue::Dropped;
use super::record::{Encoder, Time};
use crate::Timestamp;
use crate::encode::Value;

/// The target of such records.
const TARGET: &str = "tach_log";

/// A record that says how many records were dropped, and from when to when they happened.
pub(super) fn dropped(dropped: &Dropped, now: UnixTime, message: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut record = Encoder::begin(&mut bytes, Time::Unix(now), Level::WARN, TARGET);
    record.message(format_args!("{message}"));
    record.field("count", Value::U64(dropped.count));
    record.field("from", Value::Printed(format_args!("{}", Timestamp::from(dropped.from))));
    record.field("to", Value::Printed(format_args!("{}", Timestamp::from(dropped.to))));
    record.end();
    bytes
}
