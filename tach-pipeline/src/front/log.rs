//! `log`: records with key-values.

use core::{fmt, ptr};

use log::kv::Key;
use log::{Log, Metadata, Record};

use crate::frame::Encoder;
use crate::frame::texts::MaybeStatic;
use crate::pipeline::{FLUSH_TIMEOUT, Pipeline};
use tach_log::adapter::Value;
use tach_log::adapter::{self, TakeField};

/// The macros have the module as the target, unless they are told another. That both are at one address is the
/// compiler's doing: were it not so, the target would be copied.
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

impl TakeField for Encoder<'_> {
    #[expect(clippy::inline_always, reason = "the callers know the kind of the value")]
    #[inline(always)]
    fn take(&mut self, key: &Key<'_>, value: Value<'_>) -> fmt::Result {
        self.field(name(key), value);
        Ok(())
    }
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
            to.guard(|mut to| {
                // A source that fails ends the fields.
                let _ended = adapter::fields(record, &mut to);
            });
        });
    }

    fn flush(&self) {
        let _nobody_to_tell = self.shared.flush(FLUSH_TIMEOUT);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use log::kv::{Error, Value, VisitSource};

    use super::*;

    /// Sees whether a record's target and its key are told by number.
    #[derive(Default)]
    struct Probe(OnceLock<[bool; 2]>);

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
            self.0.set([matches!(target(record), MaybeStatic::Static(_)), keys.0]).unwrap();
        }

        fn flush(&self) {}
    }

    #[test]
    fn what_the_macros_give_is_static() {
        log::set_max_level(log::LevelFilter::Info);
        let probe = Probe::default();
        log::info!(logger: &probe, key = 1; "message");
        assert_eq!(probe.0.get(), Some(&[true, true]));
        let probe = Probe::default();
        log::info!(logger: &probe, target: "other", key = 1; "message");
        assert_eq!(probe.0.get(), Some(&[false, true]));
        let probe = Probe::default();
        probe.log(&Record::builder().key_values(&[("key", 1)]).build());
        assert_eq!(probe.0.get(), Some(&[false, false]));
    }
}
