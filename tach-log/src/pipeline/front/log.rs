//! `log`: records with key-values.

use log::{Log, Metadata, Record};

use crate::pipeline::{FLUSH_TIMEOUT, Pipeline};
use crate::record;

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
        self.log_with(record.level().into(), record.target(), |to| {
            to.message(*record.args());
            to.guard(|to| {
                // A source that fails ends the fields.
                let _ended = record::fields(record, |key, value| {
                    to.field(key, value);
                    Ok(())
                });
            });
        });
    }

    fn flush(&self) {
        let _nobody_to_tell = self.shared.flush(FLUSH_TIMEOUT);
    }
}
