//! Setters of the options for spans.

use super::Builder;
use crate::durations::options::Durations;
use crate::flight::FlightRecorder;

impl Builder {
    /// Collects the durations of spans of tracing in histograms, for
    /// [`Pipeline::durations`](crate::Pipeline::durations) and for `Sink::otlp`, which
    /// collects them by name if this is not called.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Durations, Pipeline};
    ///
    /// let builder = Pipeline::builder().durations(Durations::new().attribute("http.route"));
    /// ```
    pub fn durations(mut self, durations: Durations) -> Self {
        self.spans.durations = Some(durations);
        self
    }

    /// Keeps the last spans and events in memory, to be written when something went wrong.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tach_pipeline::{FlightFormat, FlightRecorder, Pipeline};
    ///
    /// let recorder = FlightRecorder::new()
    ///     .folder("flight", FlightFormat::perfetto())
    ///     .on_panic(Duration::from_secs(5));
    /// let builder = Pipeline::builder().flight_recorder(recorder);
    /// ```
    pub fn flight_recorder(mut self, recorder: FlightRecorder) -> Self {
        self.spans.flight = Some(recorder);
        self
    }
}
