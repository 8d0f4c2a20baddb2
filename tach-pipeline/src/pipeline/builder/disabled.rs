//! Collectors that the environment disables.

use std::io;

use log::LevelFilter;
use tach_core::adapter;

use super::Builder;
use crate::environment;
use crate::sink::Sink;

impl Builder {
    /// Removes the sinks that send to collectors if `OTEL_SDK_DISABLED` is `true`.
    pub(super) fn disable_collectors(&mut self) {
        if !self.sinks.iter().any(Sink::is_collector) {
            return;
        }
        match environment::is_sdk_disabled(adapter::variable) {
            Ok(false) => return,
            Ok(true) => self.sinks.retain(|sink| !sink.is_collector()),
            Err(fault) => return self.environment.faults.push(fault),
        }
        if self.sinks.is_empty() {
            // Without a sink, records would be printed on stderr.
            let none = Sink::writer("no collector", io::sink()).level(LevelFilter::Off);
            self.sinks.push(none.into());
        }
    }
}
