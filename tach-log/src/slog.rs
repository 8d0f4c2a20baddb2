//! Timestamps for slog's drains.
//!
//! [`term`] and [`ts`] tell the time at which the drain writes the record, unless it does so within the
//! [`Stamp`](tach_core::Stamp) of another. Behind `slog-async` the writing is done by a worker thread, as
//! late as the records before it make it. Two drains bring the time of the call there: [`Stamped`] in front
//! of `slog-async`, [`Pinned`] behind it.
//!
//! ```
//! use slog::{Drain, Logger, o};
//! use slog_async::Async;
//! use slog_term::{FullFormat, PlainSyncDecorator};
//! use tach_log::slog::{Pinned, Stamped};
//!
//! let drain = FullFormat::new(PlainSyncDecorator::new(std::io::stderr()))
//!     .use_custom_timestamp(tach_log::slog::term)
//!     .build()
//!     .fuse();
//! let drain = Stamped::new(Async::new(Pinned::new(drain)).build());
//! let log = Logger::root(drain.fuse(), o!());
//! slog::info!(log, "written later, by the time of now");
//! ```
//!
//! [`Pinned`] alone, around a `Duplicate`, gives a record one time in both drains.

mod carried;
mod pinned;
mod stamped;

use std::io;

use tach_core::{Clock, SystemClock, rfc3339};

pub use self::pinned::Pinned;
pub use self::stamped::Stamped;
use crate::moment;
use crate::timestamp::DIGITS;

/// Writes the time of the current [`Stamp`](tach_core::Stamp), or else now: the timestamp of `slog-term`'s
/// lines.
///
/// # Errors
///
/// Those of `io`. The time itself never fails.
///
/// # Examples
///
/// ```
/// use slog::{Drain, Logger, o};
/// use slog_term::{FullFormat, PlainSyncDecorator};
///
/// let drain = FullFormat::new(PlainSyncDecorator::new(std::io::stderr()))
///     .use_custom_timestamp(tach_log::slog::term)
///     .build();
/// let log = Logger::root(drain.fuse(), o!());
/// slog::info!(log, "starting");
/// ```
pub fn term(io: &mut dyn io::Write) -> io::Result<()> {
    write_time(&SystemClock, io)
}

/// As [`term`], by `clock`.
///
/// # Examples
///
/// ```
/// use slog_term::{FullFormat, PlainSyncDecorator};
/// use tach_core::{ManualClock, UnixTime};
///
/// static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
///
/// let drain = FullFormat::new(PlainSyncDecorator::new(std::io::stderr()))
///     .use_custom_timestamp(tach_log::slog::term_by(&CLOCK))
///     .build();
/// # drop(drain);
/// ```
pub fn term_by<C: Clock>(clock: C) -> impl Fn(&mut dyn io::Write) -> io::Result<()> {
    move |io| write_time(&clock, io)
}

fn write_time(clock: &impl Clock, io: &mut dyn io::Write) -> io::Result<()> {
    rfc3339::with_text::<DIGITS, _>(moment::unix_time(clock), |text| io.write_all(text.as_bytes()))
}

/// A value that is the time of the current [`Stamp`](tach_core::Stamp), or else that at which a record is
/// written, anew for each record.
///
/// `slog-json`'s `add_default_keys` brings a clock of its own; with this, name the keys yourself.
///
/// # Examples
///
/// ```
/// use std::sync::Mutex;
///
/// use slog::{Drain, FnValue, Logger, PushFnValue, o};
/// use slog_json::Json;
///
/// let drain = Json::new(std::io::stderr())
///     .add_key_value(o!(
///         "ts" => tach_log::slog::ts(),
///         "level" => FnValue(|record| record.level().as_short_str()),
///         "msg" => PushFnValue(|record, out| out.emit(record.msg())),
///     ))
///     .build();
/// let log = Logger::root(Mutex::new(drain).fuse(), o!());
/// slog::info!(log, "starting");
/// ```
#[must_use]
pub const fn ts() -> Ts {
    ts_by(SystemClock)
}

/// As [`ts`], by `clock`.
///
/// # Examples
///
/// ```
/// use tach_core::{ManualClock, UnixTime};
///
/// static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
///
/// let values = slog::o!("ts" => tach_log::slog::ts_by(&CLOCK));
/// ```
#[must_use]
pub const fn ts_by<C: Clock>(clock: C) -> Ts<C> {
    Ts { clock }
}

/// What [`ts`] and [`ts_by`] give: a [`slog::Value`] that reads the clock whenever it is serialized.
///
/// # Examples
///
/// ```
/// let values = slog::o!("ts" => tach_log::slog::ts());
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Ts<C = SystemClock> {
    clock: C,
}

impl<C: Clock> slog::Value for Ts<C> {
    fn serialize(
        &self,
        _record: &slog::Record<'_>,
        key: slog::Key,
        serializer: &mut dyn slog::Serializer,
    ) -> slog::Result {
        rfc3339::with_text::<DIGITS, _>(moment::unix_time(&self.clock), |text| {
            serializer.emit_str(key, text)
        })
    }
}
