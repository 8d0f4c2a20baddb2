//! `log`: records with key-values.

use core::ptr;

use log::kv::Key;
use log::{Log, Metadata, Record};

use crate::pipeline::interned::MaybeStatic;
use crate::pipeline::{FLUSH_TIMEOUT, Pipeline};
use crate::record;

/// The macros have the module as the target, unless they are told another.
#[inline]
fn target<'a>(record: &Record<'a>) -> MaybeStatic<'a> {
    match record.module_path_static() {
        Some(module) if ptr::eq(module, record.target()) => MaybeStatic::Static(module),
        _ => MaybeStatic::Borrowed(record.target()),
    }
}

#[inline]
fn name<'a>(key: &'a Key<'_>) -> MaybeStatic<'a> {
    key.to_static_str().map_or_else(|| MaybeStatic::Borrowed(key.as_str()), MaybeStatic::Static)
}

/// Logs records with their key-values. `flush` waits for five seconds at most.
impl Log for Pipeline {
    #[inline]
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.shared.filters.enabled(metadata.level().into(), metadata.target())
    }

    #[inline]
    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        self.log_with(record.level().into(), target(record), |to| {
            to.message(*record.args());
            to.guard(|to| {
                // A source that fails ends the fields.
                let _ended = record::fields(record, |key, value| {
                    to.field(name(key), value);
                    Ok(())
                });
            });
        });
    }

    fn flush(&self) {
        let _nobody_to_tell = self.shared.flush(FLUSH_TIMEOUT);
    }
}

#[cfg(test)]
mod tests {
    use log::kv::{Error, Value, VisitSource};

    use super::*;

    /// Asserts whether the target and the keys are told by number.
    struct Probe([bool; 2]);

    struct Keys(bool);

    impl<'kvs> VisitSource<'kvs> for Keys {
        fn visit_pair(&mut self, key: Key<'kvs>, _value: Value<'kvs>) -> Result<(), Error> {
            self.0 = matches!(name(&key), MaybeStatic::Static(_));
            Ok(())
        }
    }

    impl Log for Probe {
        fn enabled(&self, _metadata: &Metadata<'_>) -> bool {
            true
        }

        fn log(&self, record: &Record<'_>) {
            let mut keys = Keys(false);
            record.key_values().visit(&mut keys).unwrap();
            assert_eq!([matches!(target(record), MaybeStatic::Static(_)), keys.0], self.0);
        }

        fn flush(&self) {}
    }

    #[test]
    fn what_the_macros_give_is_static() {
        log::set_max_level(log::LevelFilter::Info);
        log::info!(logger: Probe([true, true]), key = 1; "message");
        let (target, key) = ("other".to_owned(), "key".to_owned());
        let key_values = [(key.as_str(), 1)];
        let record = Record::builder().target(&target).key_values(&key_values).build();
        Probe([false, false]).log(&record);
    }
}
