//! `log`: records with their fields.

use core::error::Error;
use core::{fmt, ptr};

use log::kv::{self, Key, VisitSource};
use log::{Log, Metadata, Record};

use crate::channel::current_thread;
use crate::frame::MaybeStatic;
use crate::frame::{Place, Writer};
use crate::limits::Callsite;
use crate::pipeline::Pipeline;
use crate::shared::Shared;
use tach_log::Value;
use tach_log::adapter::{self, Printed, VisitFields};

/// The macros pass the module as the target unless the call names another one. At another address
/// the target would be copied.
#[inline]
fn target<'a>(record: &Record<'a>) -> MaybeStatic<'a> {
    match record.module_path_static() {
        Some(module) if ptr::eq(module, record.target()) => MaybeStatic::Static(module),
        _ => MaybeStatic::Borrowed(record.target()),
    }
}

fn callsite(record: &Record<'_>) -> Option<Callsite<'static>> {
    Some(Callsite { file: record.file_static()?, line: record.line()? })
}

fn place<'a>(record: &Record<'a>) -> Place<'a> {
    let text = |fixed: Option<&'static str>, text: Option<&'a str>| match fixed {
        Some(text) => MaybeStatic::Static(text),
        None => MaybeStatic::Borrowed(text.unwrap_or_default()),
    };
    Place {
        file: text(record.file_static(), record.file()),
        line: record.line().unwrap_or(0),
        module: text(record.module_path_static(), record.module_path()),
    }
}

#[inline]
fn name<'a>(key: &'a Key<'_>) -> MaybeStatic<'a> {
    key.to_static_str().map_or_else(|| MaybeStatic::Borrowed(key.as_str()), MaybeStatic::Static)
}

/// Writes fields to a record.
struct Fields<'a, 'b>(&'a mut Writer<'b>);

impl<'kvs> VisitSource<'kvs> for Fields<'_, '_> {
    #[inline]
    fn visit_pair(&mut self, key: Key<'kvs>, value: kv::Value<'kvs>) -> Result<(), kv::Error> {
        adapter::visit_pair(&key, &value, self)
    }
}

impl VisitFields for Fields<'_, '_> {
    #[expect(clippy::inline_always, reason = "the callers know the kind of the value")]
    #[inline(always)]
    fn plain(&mut self, key: &Key<'_>, value: Value<'_>) -> fmt::Result {
        self.0.field(name(key), value);
        Ok(())
    }

    #[expect(clippy::inline_always, reason = "it is called in one place")]
    #[inline(always)]
    fn printed(&mut self, key: &Key<'_>, value: fmt::Arguments<'_>, kind: Printed) -> fmt::Result {
        match kind {
            Printed::Str => self.0.printed_field(name(key), value),
            Printed::Json => self.0.nested_field(name(key), value),
        }
        Ok(())
    }

    fn error(&mut self, key: &Key<'_>, error: &(dyn Error + 'static)) -> fmt::Result {
        self.0.error_field(name(key), error);
        Ok(())
    }
}

impl Pipeline {
    /// Returns the state of the pipeline that logs the record. In a forked child, returns `None`
    /// for a disabled record, which must start no pipeline there.
    #[inline]
    fn state_for(&self, record: &Record<'_>) -> Option<&Shared> {
        let own = &self.handle.own;
        if own.process.is_current() { Some(own) } else { self.state_in_child(record) }
    }

    /// Starts a pipeline at the first enabled record in a forked child.
    #[cold]
    fn state_in_child(&self, record: &Record<'_>) -> Option<&Shared> {
        self.enabled(record.metadata()).then(|| &**self.shared())
    }
}

/// Logs records with their fields. `flush` waits as long as
/// [`Builder::flush_timeout`](crate::Builder::flush_timeout) sets.
impl Log for Pipeline {
    #[inline]
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.known().filters.enabled(metadata.level().into(), metadata.target())
    }

    #[inline]
    fn log(&self, record: &Record<'_>) {
        let Some(shared) = self.state_for(record) else { return };
        let level = record.level().into();
        if !shared.filters.enabled(level, record.target())
            || !shared.is_within_limit(|| callsite(record))
        {
            return;
        }
        #[cfg(feature = "tracing")]
        if record.module_path_static().is_none() && super::tracing::is_copy(self, record) {
            return;
        }
        let time = shared.time();
        let mut scratch = current_thread::take_scratch();
        let mut to = Writer::begin(&mut scratch, time, level, target(record));
        to.message(*record.args());
        let visited = to.guard(|to| record.key_values().visit(&mut Fields(to)).is_ok());
        if visited != Some(true) {
            // A value failed or panicked. Write the fields one by one, so that only its own field
            // is lost. If the source itself fails, the remaining fields are lost.
            to.remove_fields();
            let _ended = to.guard(|to| adapter::visit_each(record, &mut Fields(to), 0));
        }
        let around = super::write_current_spans::<true>(shared, &mut to);
        if shared.has_site(around.as_ref()) {
            to.site(shared.wanted, place(record), around);
        }
        to.end();
        shared.log(level, scratch);
    }

    fn flush(&self) {
        let _no_way_to_report = self.known().flush(self.known().flush_timeout);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use log::kv::{Error, Value};

    use super::*;

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
    fn targets_and_keys_of_the_macros_are_static() {
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
