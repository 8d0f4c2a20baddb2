//! The variables of collectors: those that can't be used, and the one that disables.

use std::collections::HashSet;
use std::io;

use super::Builder;
use super::steps::Steps as _;
use crate::sink::Sink;

impl Builder {
    /// Collects the variables that collectors ignore, and removes the collectors that
    /// `OTEL_SDK_DISABLED` disables.
    pub(super) fn check_collectors(&mut self) {
        let ignored = self.sinks.iter().flat_map(|sink| sink.target().ignored_variables());
        let ignored = ignored.chain(self.spans.ignored_variables());
        // Report each fault once: several collectors, and the format of dumps, read the same
        // variables.
        let mut known = HashSet::new();
        self.environment.faults.extend(ignored.filter(|error| known.insert(error.to_string())));
        self.spans.look_at(&self.sinks);
        let had_sinks = !self.sinks.is_empty();
        self.sinks.retain(|sink| !sink.target().is_disabled());
        if had_sinks && self.sinks.is_empty() {
            // Without a sink, records would be printed on stderr.
            let mut none: Sink = Sink::writer("no collector", io::sink()).filter("off").into();
            none.common.written = Some(1);
            self.sinks.push(none);
        }
    }
}
