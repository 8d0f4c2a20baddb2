//! The options of a pipeline for spans, and what becomes of them.

mod sent;

use core::time::Duration;
use std::sync::Arc;

use log::LevelFilter;
use tach_flight::FlightRecorder;
use tach_flight::files::Files;
use tach_flight::recorder::Flight;
use tach_record::keep::Keeper;

use self::sent::SentOptions;
use super::steps::Steps;
use crate::back_end::assembly::Spans;
use crate::durations::Collected;
use crate::durations::options::Durations;
use crate::error::{Class, Error};
use crate::faults::Faults;
use crate::filter::Levels;
use crate::flight::{Recorder, Reports};
use crate::frame::Wanted;
use crate::incident::Reporter;
use crate::pipeline::builder::Builder;
use crate::pipeline::span_methods::dump_on_panic;
use crate::shared::Shared;
use crate::sink::Sink;
use crate::sink::all::Sinks;
use crate::trace::sampling::Sampling;

#[derive(Debug, Clone, Default)]
pub(super) struct SpanOptions {
    sent: SentOptions,
    durations: Option<Durations>,
    flight: Option<FlightRecorder>,
    /// Whether a sink of the program's takes spans. The environment may have switched it off.
    have_sink: bool,
}

impl Steps for SpanOptions {
    type Files = Files;

    fn check(&self, sinks: &[Sink], flush_timeout: Duration, faults: &mut Faults) {
        if let Some(durations) = &self.durations {
            faults.add_all(durations.faults());
        }
        if let Some(recorder) = &self.flight {
            faults.add_all(recorder.faults(flush_timeout));
        }
        self.sent.check(sinks, faults);
    }

    fn read_environment(&mut self, sinks: &[Sink]) -> Option<Error> {
        self.sent.read_environment(sinks)
    }

    fn ignored_variables(&self) -> Vec<Error> {
        let ignored = self.flight.iter().flat_map(FlightRecorder::ignored_variables);
        ignored.map(|text| Error::other(Class::Option, text.clone(), None)).collect()
    }

    fn files(&self) -> Result<Option<Files>, Error> {
        self.flight.as_ref().map_or(Ok(None), FlightRecorder::files).map_err(Error::no_files)
    }

    /// Notes whether a sink takes spans.
    fn look_at(&mut self, sinks: &[Sink]) {
        self.have_sink = sinks.iter().any(|sink| sink.target().takes_spans());
    }

    /// A flight recorder takes records that no sink takes, and durations count spans that no sink
    /// takes. If the environment has switched off the sink of spans, spans are taken as well.
    fn recorded(&self, wanted: Wanted) -> Option<Levels> {
        let has_durations = self.durations.is_some() || wanted.durations;
        let is_any = self.flight.is_some() || has_durations || self.have_sink && !wanted.spans;
        is_any.then(|| Levels::all(LevelFilter::Trace))
    }

    /// Also collects the durations that a sink asks for.
    fn add_to(&mut self, wanted: &mut Wanted) {
        wanted.ids = self.have_sink && !wanted.spans;
        if wanted.durations {
            self.durations.get_or_insert_with(Durations::new);
        }
        wanted.durations = self.durations.is_some();
        if self.flight.is_some() {
            wanted.add_flight();
        }
    }

    fn share(&mut self, shared: &mut Shared, files: Option<Files>) {
        let now = shared.now();
        let spans = &mut shared.spans;
        spans.sampling = match shared.wanted {
            Wanted { spans: true, .. } => self.sent.sampling(),
            Wanted { recorder: true, .. } => Sampling::default(),
            // Only durations are collected.
            _ => Sampling::none(),
        };
        self.sent.share(spans);
        spans.durations = self.durations.take().map(|options| Collected::new(options, now));
        spans.flight = self.flight.is_some().then(|| Arc::new(Flight::new(files)));
    }

    fn start(
        &mut self,
        shared: &Arc<Shared>,
        sinks: &Sinks,
        redacted: &[String],
        reporter: Reporter,
        keeper: &mut Option<Box<dyn Keeper>>,
    ) -> Spans {
        let flight = self.flight.as_ref().zip(shared.spans.flight.as_ref());
        let recorder = flight.map(|(options, flight)| {
            let owner = Reports { progress: Arc::clone(&shared.progress), reporter };
            let mut recorder = Recorder::new(options, Arc::clone(flight), redacted, owner);
            if let Some(keeper) = keeper {
                recorder.keep_in(&mut **keeper);
            }
            recorder
        });
        let (sent, most_events) = self.sent.start(sinks, redacted);
        Spans::new(Arc::clone(shared), recorder, sent, redacted, most_events)
    }

    fn dump_on_panic(&self, shared: &Arc<Shared>) {
        if self.flight.as_ref().is_some_and(FlightRecorder::writes_on_panic) {
            dump_on_panic(shared);
        }
    }
}

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
    /// use tach_pipeline::{FlightFormat, FlightRecorder, Pipeline};
    ///
    /// let recorder =
    ///     FlightRecorder::new().folder("flight", FlightFormat::trace_events()).on_panic();
    /// let builder = Pipeline::builder().flight_recorder(recorder);
    /// ```
    pub fn flight_recorder(mut self, recorder: FlightRecorder) -> Self {
        self.spans.flight = Some(recorder);
        self
    }
}
