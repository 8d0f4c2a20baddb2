//! How a stamp travels with a record through drains that know nothing of it.
//!
//! A drain that sends records to another thread sends the logger's values along. The stamp goes in front of
//! them, as a part of the list that shows itself to nobody but [`stamp`], which asks for it by a record of
//! its own.

use slog::{KV, Key, Level, OwnedKVList, Record, RecordStatic, Result, Serializer, b, o};
use tach_core::{Instant, Stamp, UnixTime};

/// The tag of the record by which a stamp is asked for.
const TAG: &str = "tach_log::slog::carried";
const TICKS: Key = "tach_log::slog::carried::ticks";
const UNIX_NS: Key = "tach_log::slog::carried::unix_ns";

/// `values`, with `stamp` in front.
pub(super) fn with_stamp(values: &OwnedKVList, stamp: Stamp) -> OwnedKVList {
    o!(Carried { stamp, values: values.clone() }).into()
}

/// The stamp in front of `values`, if there is one.
pub(super) fn stamp(values: &OwnedKVList) -> Option<Stamp> {
    const ASKING: RecordStatic<'static> = slog::record_static!(Level::Trace, TAG);
    let mut found = Found::default();
    // The first value that is no part of a stamp stops it, so that none of the others is evaluated.
    let _stopped = values.serialize(&Record::new(&ASKING, &format_args!(""), b!()), &mut found);
    let instant = Instant::from_ticks(found.ticks?);
    Some(Stamp::new(instant, UnixTime::from_nanos(found.unix_ns?)))
}

struct Carried {
    stamp: Stamp,
    values: OwnedKVList,
}

impl KV for Carried {
    fn serialize(&self, record: &Record<'_>, serializer: &mut dyn Serializer) -> Result {
        if record.tag() != TAG {
            return self.values.serialize(record, serializer);
        }
        serializer.emit_u64(TICKS, self.stamp.instant().as_ticks())?;
        serializer.emit_u64(UNIX_NS, self.stamp.unix_time().as_nanos())?;
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
