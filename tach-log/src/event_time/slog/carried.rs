//! How a time travels with a record through drains that know nothing of it.
//!
//! A drain that sends records to another thread sends the logger's values along. The time is an
//! element in front of them that serializes itself only for a record with a tag of its own.

use slog::{KV, Key, Level, OwnedKVList, Record, RecordStatic, Result, Serializer, b, o};
use tach_core::{Anchor, Instant, UnixTime};

/// The tag of the record that asks for the time.
const TAG: &str = "tach_log::slog::carried";
const TICKS: Key = "tach_log::slog::carried::ticks";
const UNIX_NS: Key = "tach_log::slog::carried::unix_ns";

/// Returns `values` with `anchor` in front.
pub(super) fn with_anchor(values: &OwnedKVList, anchor: Anchor) -> OwnedKVList {
    o!(Carried { anchor, values: values.clone() }).into()
}

/// Returns the time in front of `values`.
pub(super) fn anchor(values: &OwnedKVList) -> Option<Anchor> {
    const ASKING: RecordStatic<'static> = slog::record_static!(Level::Trace, TAG);
    let mut found = Found::default();
    // The first value that is not the time ends the search, so no other value is evaluated.
    let _stopped = values.serialize(&Record::new(&ASKING, &format_args!(""), b!()), &mut found);
    let instant = Instant::from_ticks(found.ticks?);
    Some(Anchor::new(instant, UnixTime::from_nanos(found.unix_ns?)))
}

struct Carried {
    anchor: Anchor,
    values: OwnedKVList,
}

impl KV for Carried {
    fn serialize(&self, record: &Record<'_>, serializer: &mut dyn Serializer) -> Result {
        if record.tag() != TAG {
            return self.values.serialize(record, serializer);
        }
        serializer.emit_u64(TICKS, self.anchor.instant().as_ticks())?;
        serializer.emit_u64(UNIX_NS, self.anchor.unix_time().as_nanos())?;
        Err(slog::Error::Other)
    }
}

#[derive(Default)]
struct Found {
    ticks: Option<u64>,
    unix_ns: Option<u64>,
}

impl Serializer for Found {
    fn emit_u64(&mut self, key: Key, value: u64) -> Result {
        let part = match key {
            TICKS => &mut self.ticks,
            UNIX_NS => &mut self.unix_ns,
            _ => return Err(slog::Error::Other),
        };
        *part = Some(value);
        Ok(())
    }

    fn emit_arguments(&mut self, _: Key, _: &core::fmt::Arguments<'_>) -> Result {
        Err(slog::Error::Other)
    }
}
