//! What a record of `log` is to the encoders.

use core::fmt;
use core::marker::PhantomData;

use log::kv::{self, VisitSource, VisitValue};
use log::{Level, Record};
use tach_core::UnixTime;

use crate::encode::{Format, Head, Output, Value};

/// Writes `record`, which happened at `time`, without a line end.
///
/// # Errors
///
/// Those of `sink`.
pub(crate) fn write<F: Format>(
    sink: impl fmt::Write,
    time: UnixTime,
    record: &Record<'_>,
) -> fmt::Result {
    let mut out = Output::new(sink);
    let head = Head {
        time,
        level: name(record.level()),
        target: record.target(),
        message: *record.args(),
    };
    F::head(&mut out, &head)?;
    // A source that fails or panics ends the fields. What it gave before is whole.
    let _ended = out.guard(|out| {
        let mut fields = Fields::<F, _> { out, format: PhantomData };
        record.key_values().visit(&mut fields).map_err(|_| fmt::Error)
    })?;
    F::end(&mut out)
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

/// Writes each pair that it visits as a field.
struct Fields<'a, F, W> {
    out: &'a mut Output<W>,
    format: PhantomData<F>,
}

impl<'kvs, F: Format, W: fmt::Write> VisitSource<'kvs> for Fields<'_, F, W> {
    fn visit_pair(&mut self, key: kv::Key<'kvs>, value: kv::Value<'kvs>) -> Result<(), kv::Error> {
        value.visit(Field::<F, W> { out: self.out, key: key.as_str(), format: self.format })
    }
}

/// Writes the value that it visits as the field `key`.
struct Field<'a, F, W> {
    out: &'a mut Output<W>,
    key: &'a str,
    format: PhantomData<F>,
}

impl<F: Format, W: fmt::Write> Field<'_, F, W> {
    fn write(&mut self, value: Value<'_>) -> Result<(), kv::Error> {
        Ok(F::field(self.out, self.key, value)?)
    }
}

impl<F: Format, W: fmt::Write> VisitValue<'_> for Field<'_, F, W> {
    fn visit_any(&mut self, value: kv::Value<'_>) -> Result<(), kv::Error> {
        self.write(Value::Display(&value))
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
        self.write(Value::Str(value))
    }
}
