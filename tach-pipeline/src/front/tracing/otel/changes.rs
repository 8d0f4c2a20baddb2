//! What the API of `opentelemetry` changes in open spans.

use core::time::Duration;
use std::time::SystemTime;

use opentelemetry::trace::{self, Status};
use opentelemetry::{Context, KeyValue};
use tach_core::UnixTime;
use tracing_core::Metadata;

use super::values::write_fields;
use crate::channel::current_thread;
use crate::error::{Class, Error};
use crate::frame::{Origin, RecordKind, Scratch, Time, Writer};
use crate::front::tracing::fields::{Chosen as _, is_chosen};
use crate::front::tracing::parts::Target;
use crate::ids::SpanContext;
use crate::pipeline::Pipeline;
use crate::shared::Shared;
use crate::trace::otel::{Foreign, ids};
use crate::trace::slots::Open;

impl Error {
    pub(super) fn parent(reason: &'static str) -> Self {
        Self::other(Class::Other, format!("can't set the parent of the span: {reason}"), None)
    }
}

/// A time of this age or less counts as read just now: a thread is seldom held up for longer.
const MOMENT: Duration = Duration::from_millis(10);

impl Shared {
    /// Returns a time that the API passes. Many of its methods read the system's clock, without the
    /// program's choice: `end` of a span of `global::tracer` does. So a time that the system's
    /// clock has just shown is put on the clock of the span's start. Otherwise a short span could
    /// end before it starts.
    pub(super) fn given(&self, given: SystemTime) -> Time {
        let age = SystemTime::now().duration_since(given).ok().filter(|age| *age <= MOMENT);
        match (age, self.clock_time()) {
            (None, _) => Time::Unix(UnixTime::from_system_time(given)),
            (Some(age), Time::Ticks(now)) => Time::Ticks(now.checked_sub(age).unwrap_or(now)),
            // An age by the system's clock means nothing by another clock, so use the present.
            (Some(_), now) => now,
        }
    }
}

impl Pipeline {
    /// Sets the parent and the baggage of an open span.
    pub(super) fn set_parent(
        &self,
        span: Open,
        metadata: &'static Metadata<'static>,
        parent: &Context,
    ) -> Result<(), Error> {
        let (shared, unsent) = (self.shared(), || Error::parent("no pipeline sends the span"));
        let find = || self.target(span).ok_or_else(unsent);
        if let Some(Foreign { span: to, origin }) = Foreign::of(parent) {
            let is_own = shared.spans.contexts.current_in(parent).is_some();
            let origin = if is_own { Origin::Own } else { origin };
            if !self.set_elsewhere(span, metadata, &to, origin) {
                find()?;
                return Err(Error::parent(
                    "the span has one that was set before, or was left and is not sampled",
                ));
            }
        }
        self.renew_context(span, find()?.context, Some(parent));
        Ok(())
    }

    pub(crate) fn set_attributes(&self, span: Target, attributes: &[KeyValue]) {
        let are_any = |chosen: &[String]| attributes.iter().any(|it| chosen.has(it.key.as_str()));
        self.log_values(span, are_any, |to, chosen| {
            let is_chosen = |it: &&KeyValue| is_chosen(chosen, it.key.as_str());
            write_fields(to, attributes.iter().filter(is_chosen));
        });
    }

    pub(crate) fn set_otel_status(&self, span: Target, status: &Status) {
        match status {
            Status::Unset => {}
            Status::Ok => self.set_status(span, Ok(())),
            Status::Error { description } => self.set_status(span, Err(description)),
        }
    }

    pub(crate) fn link_to_otel(
        &self,
        span: Target,
        linked: &trace::SpanContext,
        attributes: &[KeyValue],
    ) {
        let Some(Foreign { span: linked, origin }) = Foreign::from_span(linked) else { return };
        self.log_part_of(span, RecordKind::Link, |to| {
            linked.write(to, origin);
            write_fields(to, attributes.iter());
        });
    }

    /// Returns whether `span` is an open one that the layer of `tracing-opentelemetry` has seen.
    pub(crate) fn is_in_layer(&self, span: &trace::SpanContext) -> bool {
        let find = |ids: SpanContext| self.shared().spans.contexts.find(ids.span)?.0.started();
        !span.is_remote() && ids(span).and_then(find).is_some()
    }

    /// Adds an event to an open span, at `time` or else at the current time. Sinks of events do not
    /// take it.
    pub(crate) fn add_event(
        &self,
        span: Target,
        name: &str,
        time: Option<SystemTime>,
        attributes: &[KeyValue],
    ) {
        let shared = self.shared();
        let time = time.map_or_else(|| shared.clock_time(), |time| shared.given(time));
        let write = |scratch: &mut Scratch| {
            let mut to = Writer::begin_added(scratch, time, name);
            write_fields(&mut to, attributes.iter());
            // Mark the event as sampled: if it is kept, it is read only after the span has become
            // sampled.
            to.around(SpanContext { is_sampled: true, ..span.context });
            to.end();
        };
        if span.context.is_sampled {
            let mut scratch = current_thread::take_scratch();
            write(&mut scratch);
            current_thread::push(&shared.channel, scratch);
        } else if span.waits() {
            self.keep_or_log(span, write);
        }
    }
}
