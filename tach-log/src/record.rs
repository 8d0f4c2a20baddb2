//! What a record of `log` is to the encoders.

use core::fmt;

use log::kv::{self, VisitSource, VisitValue};
use log::{Level, Record};
use tach_core::UnixTime;

use crate::encode::{Format, Head, Message, Output, Sink, Value};

/// Writes `record`, which happened at `time`, without a line end.
///
/// # Errors
///
/// Those of `sink`.
pub(crate) fn write<F: Format>(
    sink: impl Sink,
    time: UnixTime,
    record: &Record<'_>,
) -> fmt::Result {
    let mut out = Output::new(sink);
    let head = Head {
        time,
        level: name(record.level()),
        target: record.target().into(),
        message: Message::Arguments(*record.args()),
    };
    F::head(&mut out, &head)?;
    // A source that fails or panics ends the fields. What it gave before is whole.
    let _ended =
        out.guard(|out| fields(record, |key, value| F::field(out, key.as_str().into(), value)))?;
    F::end(&mut out)
}

/// Gives each field of `record` to `write`, until that fails or the record's source of fields does.
pub(crate) fn fields(
    record: &Record<'_>,
    write: impl FnMut(&kv::Key<'_>, Value<'_>) -> fmt::Result,
) -> fmt::Result {
    record.key_values().visit(&mut Fields { write }).map_err(|_| fmt::Error)
}

const fn name(level: Level) -> &'static str {
    match level {
        Level::Error => "ERROR",
        Level::Warn => "WARN",
        Level::Info => "INFO",
        Level::Debug => "DEBUG",
        Level::Trace => "TRACE",
    }
}

/// Gives on each pair that it visits.
struct Fields<W> {
    write: W,
}

impl<'kvs, W: FnMut(&kv::Key<'_>, Value<'_>) -> fmt::Result> VisitSource<'kvs> for Fields<W> {
    fn visit_pair(&mut self, key: kv::Key<'kvs>, value: kv::Value<'kvs>) -> Result<(), kv::Error> {
        value.visit(Field { write: &mut self.write, key: &key })
    }
}

/// Gives on the value that it visits, as that of the field `key`.
struct Field<'a, W> {
    write: &'a mut W,
    key: &'a kv::Key<'a>,
}

impl<W: FnMut(&kv::Key<'_>, Value<'_>) -> fmt::Result> Field<'_, W> {
    #[expect(clippy::inline_always, reason = "the callers know the kind of the value")]
    #[inline(always)]
    fn write(&mut self, value: Value<'_>) -> Result<(), kv::Error> {
        Ok((self.write)(self.key, value)?)
    }
}

impl<W: FnMut(&kv::Key<'_>, Value<'_>) -> fmt::Result> VisitValue<'_> for Field<'_, W> {
    fn visit_any(&mut self, value: kv::Value<'_>) -> Result<(), kv::Error> {
        self.write(Value::Printed(format_args!("{value}")))
    }

    fn visit_null(&mut self) -> Result<(), kv::Error> {
        self.write(Value::Null)
    }

    fn visit_bool(&mut self, value: bool) -> Result<(), kv::Error> {
        self.write(Value::Bool(value))
    }

    fn visit_i64(&mut self, value: i64) -> Result<(), kv::Error> {
        self.write(Value::I64(value))
    }

    fn visit_u64(&mut self, value: u64) -> Result<(), kv::Error> {
        self.write(Value::U64(value))
    }

    fn visit_i128(&mut self, value: i128) -> Result<(), kv::Error> {
        self.write(Value::I128(value))
    }

    fn visit_u128(&mut self, value: u128) -> Result<(), kv::Error> {
        self.write(Value::U128(value))
    }

    fn visit_f64(&mut self, value: f64) -> Result<(), kv::Error> {
        self.write(Value::F64(value))
    }

    fn visit_str(&mut self, value: &str) -> Result<(), kv::Error> {
        self.write(Value::Str(value.into()))
    }
}
