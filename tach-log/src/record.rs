//! What a record of `log` is to the encoders.

use core::fmt;
use core::marker::PhantomData;

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
    let _ended = out.guard(|out| fields(record, &mut Formatted(PhantomData::<F>, out)))?;
    F::end(&mut out)
}

/// Gives each field of `record` to `to`, until that fails or the record's source of fields does.
pub fn fields(record: &Record<'_>, to: &mut impl TakeField) -> fmt::Result {
    record.key_values().visit(&mut Fields { to }).map_err(|_| fmt::Error)
}

/// What is given the fields of a record.
///
/// Unlike a closure, it can be compiled into each of the places that know a value's kind.
pub trait TakeField {
    fn take(&mut self, key: &kv::Key<'_>, value: Value<'_>) -> fmt::Result;
}

/// Writes fields in a format.
struct Formatted<'a, F, S>(PhantomData<F>, &'a mut Output<S>);

impl<F: Format, S: Sink> TakeField for Formatted<'_, F, S> {
    fn take(&mut self, key: &kv::Key<'_>, value: Value<'_>) -> fmt::Result {
        F::field(self.1, key.as_str().into(), value)
    }
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
struct Fields<'a, T> {
    to: &'a mut T,
}

impl<'kvs, T: TakeField> VisitSource<'kvs> for Fields<'_, T> {
    fn visit_pair(&mut self, key: kv::Key<'kvs>, value: kv::Value<'kvs>) -> Result<(), kv::Error> {
        value.visit(Field { to: self.to, key: &key })
    }
}

/// Gives on the value that it visits, as that of the field `key`.
struct Field<'a, T> {
    to: &'a mut T,
    key: &'a kv::Key<'a>,
}

impl<T: TakeField> Field<'_, T> {
    #[expect(clippy::inline_always, reason = "the callers know the kind of the value")]
    #[inline(always)]
    fn write(&mut self, value: Value<'_>) -> Result<(), kv::Error> {
        Ok(self.to.take(self.key, value)?)
    }
}

impl<T: TakeField> VisitValue<'_> for Field<'_, T> {
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
