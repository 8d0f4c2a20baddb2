//! The event time for slog's drains.

use core::result;

use slog::{Drain, FlushError, Level, OwnedKVList, Record};
use tach_core::{Clock, event_time};

use super::{EventTime, anchor};

impl<D: Drain, C: Clock> Drain for EventTime<D, C> {
    type Ok = D::Ok;
    type Err = D::Err;

    fn log(&self, record: &Record<'_>, values: &OwnedKVList) -> result::Result<D::Ok, D::Err> {
        event_time::during(anchor(&self.clock), || self.inner.log(record, values))
    }

    fn is_enabled(&self, level: Level) -> bool {
        self.inner.is_enabled(level)
    }

    fn flush(&self) -> result::Result<(), FlushError> {
        self.inner.flush()
    }
}
