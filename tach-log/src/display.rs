//! Records of `log` as something that prints.

use core::fmt;
use core::marker::PhantomData;

use log::Record;
use tach_core::{Clock, SystemClock, UnixTime};

use crate::encode::{Format, Json, Line, Logfmt};
use crate::{moment, record};

/// What [`write_line`](crate::write_line) writes, without the line end: for back ends that print
/// a `Display`, or that end lines themselves.
///
/// The time is that of this call, however late and often it is printed.
///
/// # Examples
///
/// ```
/// fn format(out: &mut dyn std::io::Write, record: &log::Record) -> std::io::Result<()> {
///     write!(out, "{}", tach_log::line(record))
/// }
/// ```
#[must_use]
pub fn line(record: &Record<'_>) -> impl fmt::Display {
    line_by(&SystemClock, record)
}

/// As [`line()`], where now is by `clock`.
///
/// # Examples
///
/// ```
/// use log::Record;
/// use tach_core::{ManualClock, UnixTime};
///
/// let clock = ManualClock::new(UnixTime::EPOCH);
/// let record = Record::builder().target("app").args(format_args!("ready")).build();
/// assert_eq!(
///     tach_log::line_by(&clock, &record).to_string(),
///     "1970-01-01T00:00:00.000000Z INFO  app: ready"
/// );
/// ```
#[must_use]
pub fn line_by<'a>(clock: &dyn Clock, record: &'a Record<'a>) -> impl fmt::Display + use<'a> {
    Printed::<Line>::new(clock, record)
}

/// What [`write_json`](crate::write_json) writes, without the line end: for back ends that print
/// a `Display`, or that end lines themselves.
///
/// The time is that of this call, however late and often it is printed.
///
/// # Examples
///
/// ```
/// fn format(out: &mut dyn std::io::Write, record: &log::Record) -> std::io::Result<()> {
///     write!(out, "{}", tach_log::json(record))
/// }
/// ```
#[must_use]
pub fn json(record: &Record<'_>) -> impl fmt::Display {
    json_by(&SystemClock, record)
}

/// As [`json`], where now is by `clock`.
///
/// # Examples
///
/// ```
/// use log::Record;
/// use tach_core::{ManualClock, UnixTime};
///
/// let clock = ManualClock::new(UnixTime::EPOCH);
/// let record = Record::builder().target("app").args(format_args!("ready")).build();
/// assert_eq!(
///     tach_log::json_by(&clock, &record).to_string(),
///     r#"{"ts":"1970-01-01T00:00:00.000000Z","level":"INFO","target":"app","msg":"ready"}"#
/// );
/// ```
#[must_use]
pub fn json_by<'a>(clock: &dyn Clock, record: &'a Record<'a>) -> impl fmt::Display + use<'a> {
    Printed::<Json>::new(clock, record)
}

/// What [`write_logfmt`](crate::write_logfmt) writes, without the line end: for back ends that print
/// a `Display`, or that end lines themselves.
///
/// The time is that of this call, however late and often it is printed.
///
/// # Examples
///
/// ```
/// fn format(out: &mut dyn std::io::Write, record: &log::Record) -> std::io::Result<()> {
///     write!(out, "{}", tach_log::logfmt(record))
/// }
/// ```
#[must_use]
pub fn logfmt(record: &Record<'_>) -> impl fmt::Display {
    logfmt_by(&SystemClock, record)
}

/// As [`logfmt`], where now is by `clock`.
///
/// # Examples
///
/// ```
/// use log::Record;
/// use tach_core::{ManualClock, UnixTime};
///
/// let clock = ManualClock::new(UnixTime::EPOCH);
/// let record = Record::builder().target("app").args(format_args!("ready")).build();
/// assert_eq!(
///     tach_log::logfmt_by(&clock, &record).to_string(),
///     r#"ts=1970-01-01T00:00:00.000000Z level=INFO target=app msg="ready""#
/// );
/// ```
#[must_use]
pub fn logfmt_by<'a>(clock: &dyn Clock, record: &'a Record<'a>) -> impl fmt::Display + use<'a> {
    Printed::<Logfmt>::new(clock, record)
}

/// Prints a record as `F` has it.
struct Printed<'a, F> {
    time: UnixTime,
    record: &'a Record<'a>,
    format: PhantomData<F>,
}

impl<'a, F> Printed<'a, F> {
    fn new(clock: &dyn Clock, record: &'a Record<'a>) -> Self {
        Self { time: moment::unix_time(clock), record, format: PhantomData }
    }
}

impl<F: Format> fmt::Display for Printed<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        record::write::<F>(f, self.time, self.record)
    }
}
