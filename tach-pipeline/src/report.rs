//! What the pipeline logs itself.

use tach_core::UnixTime;

use crate::frame::texts::MaybeStatic;
use crate::frame::{Encoder, Scratch, Time};
use crate::level::Level;
use crate::queue::Dropped;
use tach_log::Timestamp;
use tach_log::adapter::Value;

/// The target of such records.
const TARGET: &str = "tach_pipeline";

/// A record that says how many records were dropped, and from when to when they happened.
pub(crate) fn dropped(dropped: &Dropped, now: UnixTime, message: &str) -> Vec<u8> {
    let mut scratch = Scratch::new();
    let target = MaybeStatic::Static(TARGET);
    let mut record = Encoder::begin(&mut scratch, Time::Unix(now), Level::WARN, target);
    record.message(format_args!("{message}"));
    record.field(MaybeStatic::Static("count"), Value::U64(dropped.count));
    record.field(
        MaybeStatic::Static("from"),
        Value::Printed(format_args!("{}", Timestamp::from(dropped.from))),
    );
    record.field(
        MaybeStatic::Static("to"),
        Value::Printed(format_args!("{}", Timestamp::from(dropped.to))),
    );
    record.end();
    scratch.written().to_owned()
}
