//! The variables of collectors: those that can't be used, and the one that disables.

use std::io;

use log::LevelFilter;

use super::Builder;
use crate::error::Error;
use crate::sink::Sink;

impl Builder {
    /// Collects the variables that collectors ignore, and removes the collectors that
    /// `OTEL_SDK_DISABLED` disables.
    pub(super) fn check_collectors(&mut self) {
        let mut ignored = Vec::new();
        for options in self.sinks.iter().filter_map(Sink::collector) {
            for error in options.ignored_variables() {
                // One environment configures several collectors.
                if !ignored.contains(&error) {
                    ignored.push(error);
                }
            }
        }
        self.environment.faults.extend(ignored.iter().map(Error::otlp));
        let had_sinks = !self.sinks.is_empty();
        self.sinks.retain(|sink| sink.collector().is_none_or(|options| !options.is_disabled()));
        if had_sinks && self.sinks.is_empty() {
            // Without a sink, records would be printed on stderr.
            let none = Sink::writer("no collector", io::sink()).level(LevelFilter::Off);
            self.sinks.push(none.into());
        }
    }
}
