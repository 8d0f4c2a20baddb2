//! Traces for people: the spans of each as a tree, with their times.

use std::sync::Arc;

use super::AnyFormat;
use super::content::Content;
use super::content::of_spans::OfSpans;
use super::target::{Lane, Target};
use super::{Sink, kind};
use crate::error::Error;
use crate::faults::Faults;
use crate::spans::trees::Trees;

impl Sink<kind::Stream> {
    /// Writes each finished trace as a tree with times, instead of records. When a span ends that
    /// is in no other open span, the tree shows the span, the spans within it, and their events. It
    /// is for a developer's terminal, where there is no collector.
    ///
    /// ```text
    /// 2026-11-21T09:30:00.123456Z trace 4bf92f3577b34da6a3ce929d0e0e4736
    ///      0.0ns    12.3ms GET /users/{id} http.route="/users/{id}"
    ///    510.0µs     3.2ms ├ query id=7
    ///    940.2µs           │ └  WARN app::db: slow rows=3
    ///      4.0ms     1.1ms └ render
    /// ```
    ///
    /// The first column is the time since the beginning, the second one how long the span took. A
    /// span with the field `otel.name` has that name. A span that the filter refuses is left out, and
    /// what is within it stands in its place. Records outside of spans, and traces that are not
    /// sampled, are not written. The sink's format does not apply.
    ///
    /// Up to 8 MiB of spans wait for those around them; then the oldest ones are written as far as
    /// they have ended, and so is everything at the end of the process.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Pipeline, Sink};
    ///
    /// let sinks = Pipeline::builder().sink(Sink::stderr()).sink(Sink::stderr().traces());
    /// let guard = sinks.build()?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn traces(self) -> Sink<kind::OneFormat> {
        self.map(|to| kind::OneFormat(Box::new(OfTraces(Box::new(to)))))
    }
}

/// A receiver that gets traces in place of events.
struct OfTraces(Box<dyn Target>);

impl Target for OfTraces {
    fn name(&self) -> String {
        format!("{}, traces", self.0.name())
    }

    fn check(&self, faults: &mut Faults) {
        self.0.check(faults);
    }

    fn takes_spans(&self) -> bool {
        true
    }

    fn again(&self) -> Box<dyn Target> {
        Box::new(Self(self.0.again()))
    }

    fn open(self: Box<Self>, format: Arc<AnyFormat>) -> Result<Vec<Lane>, Error> {
        let name = self.name();
        let lanes = self.0.open(format)?;
        let content = || Content::of_spans(OfSpans::Traces(Trees::default()));
        let of_traces = |lane| Lane { name: name.clone(), content: content(), ..lane };
        Ok(lanes.into_iter().map(of_traces).collect())
    }
}
