//! `slog`: records with their values, then the logger's values.

use core::any::Any;
use core::error::Error;
use core::fmt;

use slog::{BorrowedKV, Drain, FlushError, KV as _, Key, Never, OwnedKVList, Record, Serializer};

use crate::channel::current_thread;
use crate::frame::MaybeStatic;
use crate::frame::{FIRST_COUNTS, Place, Writer};
use crate::level::Level;
use crate::limits::Callsite;
use crate::pipeline::Pipeline;
use tach_log::Value;

const fn level(level: slog::Level) -> Level {
    match level {
        slog::Level::Critical => Level::CRITICAL,
        slog::Level::Error => Level::of(log::Level::Error),
        slog::Level::Warning => Level::of(log::Level::Warn),
        slog::Level::Info => Level::of(log::Level::Info),
        slog::Level::Debug => Level::of(log::Level::Debug),
        slog::Level::Trace => Level::of(log::Level::Trace),
    }
}

/// Logs records with their values and the logger's. If a key comes twice, the record's value
/// counts, and then the innermost logger's. The target is the record's tag, or else its module.
/// Logging can't fail; `flush` waits as long as
/// [`Builder::flush_timeout`](crate::Builder::flush_timeout) sets.
impl Drain for Pipeline {
    type Ok = ();
    type Err = Never;

    #[inline]
    fn log(&self, record: &Record<'_>, values: &OwnedKVList) -> Result<(), Never> {
        let (name, target) = match record.tag() {
            "" => (record.module(), MaybeStatic::Static(record.module())),
            tag => (tag, MaybeStatic::Borrowed(tag)),
        };
        let level = level(record.level());
        if !self.known().filters.enabled(level, name) {
            return Ok(());
        }
        let callsite = || Some(Callsite { file: record.file(), line: record.line() });
        let shared = self.shared();
        if !shared.is_within_limit(callsite) {
            return Ok(());
        }
        let time = shared.time();
        let mut scratch = current_thread::take_scratch();
        let mut to = Writer::begin(&mut scratch, time, level, target);
        to.message(*record.msg());
        // slog visits the last value of a list first, and the outermost logger's list last. So of
        // equal keys the first one counts.
        to.mark(FIRST_COUNTS);
        list(&mut to, |fields| serialize(record.kv(), record, fields));
        list(&mut to, |fields| values.serialize(record, fields));
        let around = super::write_current_spans::<false>(shared, &mut to);
        if shared.has_site(around.as_ref()) {
            to.site(shared.wanted, place(record), around);
        }
        to.end();
        shared.log(level, scratch);
        Ok(())
    }

    #[inline]
    fn is_enabled(&self, of: slog::Level) -> bool {
        level(of).passes(self.known().filters.most())
    }

    fn flush(&self) -> Result<(), FlushError> {
        self.known()
            .flush(self.known().flush_timeout)
            .map_err(|error| FlushError::Io(std::io::Error::other(error)))
    }
}

fn place(record: &Record<'_>) -> Place<'static> {
    let (file, module) = (MaybeStatic::Static(record.file()), MaybeStatic::Static(record.module()));
    Place { file, line: record.line(), module }
}

/// Serializes the values of a record, passed in registers.
///
/// Unless crates are optimized as one, values by reference would be moved right after the macro has
/// written them by halves, and the move would wait for both stores.
#[expect(clippy::needless_pass_by_value, reason = "in registers nothing waits")]
#[inline(never)]
fn serialize(
    values: BorrowedKV<'_>,
    record: &Record<'_>,
    fields: &mut Fields<'_, '_>,
) -> slog::Result {
    values.serialize(record, fields)
}

/// Writes the values of one list. slog offers no way past a value whose own `serialize` fails or
/// panics, so such a value ends the list, and a field says so. (A value that panics while it is
/// printed costs its own field alone.)
#[inline]
fn list(to: &mut Writer<'_>, serialize: impl FnOnce(&mut Fields<'_, '_>) -> slog::Result) {
    match to.guard(|to| serialize(&mut Fields { to })) {
        Some(Ok(())) => {}
        Some(Err(_)) => note_lost(to, "<failed>"),
        None => note_lost(to, "<panicked>"),
    }
}

#[cold]
fn note_lost(to: &mut Writer<'_>, note: &str) {
    to.field(MaybeStatic::Static("values_lost"), Value::Str(note));
}

/// A key is static unless some crate enables slog's feature `dynamic-keys`.
#[inline]
fn name(key: &Key) -> MaybeStatic<'_> {
    match (key as &dyn Any).downcast_ref::<&'static str>() {
        Some(name) => MaybeStatic::Static(name),
        None => MaybeStatic::Borrowed(AsRef::<str>::as_ref(key)),
    }
}

struct Fields<'a, 'b> {
    to: &'a mut Writer<'b>,
}

/// Defines methods that write values of one type as values of a wider one.
macro_rules! emit {
    ($($method:ident($type:ty) as $Variant:ident;)*) => {
        $(
            #[inline]
            fn $method(&mut self, key: Key, value: $type) -> slog::Result {
                self.to.field(name(&key), Value::$Variant(value.into()));
                Ok(())
            }
        )*
    };
}

impl Serializer for Fields<'_, '_> {
    emit! {
        emit_bool(bool) as Bool;
        emit_u8(u8) as U64;
        emit_i8(i8) as I64;
        emit_u16(u16) as U64;
        emit_i16(i16) as I64;
        emit_u32(u32) as U64;
        emit_i32(i32) as I64;
        emit_f32(f32) as F64;
        emit_u64(u64) as U64;
        emit_i64(i64) as I64;
        emit_f64(f64) as F64;
        emit_u128(u128) as U128;
        emit_i128(i128) as I128;
    }

    #[inline]
    fn emit_usize(&mut self, key: Key, value: usize) -> slog::Result {
        self.emit_u64(key, value as u64)
    }

    #[inline]
    fn emit_isize(&mut self, key: Key, value: isize) -> slog::Result {
        self.emit_i64(key, value as i64)
    }

    #[inline]
    fn emit_str(&mut self, key: Key, value: &str) -> slog::Result {
        self.to.field(name(&key), Value::Str(value));
        Ok(())
    }

    #[inline]
    fn emit_unit(&mut self, key: Key) -> slog::Result {
        self.emit_none(key)
    }

    #[inline]
    fn emit_none(&mut self, key: Key) -> slog::Result {
        self.to.field(name(&key), Value::Null);
        Ok(())
    }

    #[inline]
    fn emit_arguments(&mut self, key: Key, value: &fmt::Arguments<'_>) -> slog::Result {
        self.to.printed_field(name(&key), *value);
        Ok(())
    }

    fn emit_error(&mut self, key: Key, error: &(dyn Error + 'static)) -> slog::Result {
        self.to.error_field(name(&key), error);
        Ok(())
    }

    fn emit_serde(&mut self, key: Key, value: &dyn slog::SerdeValue) -> slog::Result {
        let value = tach_log::adapter::Nested(value.as_serde());
        self.to.nested_field(name(&key), format_args!("{value}"));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_static() {
        assert!(matches!(name(&Key::from("key")), MaybeStatic::Static("key")));
    }
}
