//! Open spans at the call: their values, their links, and their ends.

mod elsewhere;
mod parents;
pub(super) mod start;

use std::thread;

use tach_log::Value;
use tracing_core::span::Record;

use super::visit::{Chosen, Visitor, is_chosen};
use crate::channel::current_thread;
use crate::durations::Collected;
use crate::frame::texts::MaybeStatic;
use crate::frame::{self, Linked, Origin, RecordKind, Writer};
use crate::ids::SpanContext;
use crate::pipeline::Pipeline;
use crate::shared::Shared;
use crate::shared::span_state::Spans;
use crate::trace::key::Key;
use crate::trace::w3c::TraceContext;
use crate::trace::{Contexts, Slot};

impl Pipeline {
    pub(super) fn record_values(&self, key: Key, values: &Record<'_>) {
        let Some(span) = self.context(key) else { return };
        self.log_values(span, |to, chosen| match chosen {
            None => values.record(&mut Visitor::of_span(to)),
            Some(chosen) => values.record(&mut Chosen::new(Visitor::of_span(to), chosen)),
        });
    }

    /// Logs values of an open span. If the span is not sampled, passes the keys by which durations
    /// are collected, or logs nothing if there are no such keys.
    #[inline]
    pub(super) fn log_values(
        &self,
        context: SpanContext,
        write: impl FnOnce(&mut Writer<'_>, Option<&[String]>),
    ) {
        if context.is_sampled {
            self.log_record(context, RecordKind::Values, |to| write(to, None));
            return;
        }
        let chosen = self.shared().spans.durations.as_ref().map_or(&[][..], Collected::attributes);
        if !chosen.is_empty() {
            self.log_record(context, RecordKind::Values, |to| write(to, Some(chosen)));
        }
    }

    pub(super) fn link_spans(&self, key: Key, follows: Key) {
        let contexts = self.shared().spans.contexts.as_ref();
        let linked = contexts.and_then(|contexts| contexts.get_unheld(follows));
        if let Some(linked) = linked {
            let linked = Linked { context: linked, origin: Origin::Own };
            self.log_part(key, RecordKind::Link, |to| to.link(linked));
        }
    }

    pub(super) fn link_to(&self, key: Key, linked: &TraceContext) {
        self.log_part(key, RecordKind::Link, |to| linked.write(to, Origin::Remote));
    }

    pub(super) fn set_status(&self, span: SpanContext, status: Result<(), &str>) {
        let code = Value::Str(if status.is_ok() { "ok" } else { "error" });
        let fields = [
            ("otel.status_code", code),
            ("otel.status_description", Value::Str(status.err().unwrap_or_default())),
        ];
        let count = if status.is_ok() { 1 } else { 2 };
        self.set_fields(span, &fields[..count]);
    }

    /// If a thread leaves a span because it panics, sets the span's status to an error.
    #[inline]
    pub(super) fn mark_panic(&self, slot: &Slot) {
        if thread::panicking() {
            self.set_status(slot.context(), Err("panicked"));
        }
    }

    pub(super) fn set_fields(&self, span: SpanContext, fields: &[(&str, Value<'_>)]) {
        self.log_values(span, |to, chosen| {
            let fields = fields.iter().filter(|(key, _)| is_chosen(chosen, key));
            fields.for_each(|field| set_field(to, *field));
        });
    }

    pub(super) fn context(&self, key: Key) -> Option<SpanContext> {
        self.shared().spans.contexts.as_ref().and_then(|contexts| contexts.get(key))
    }

    /// Returns the slot of an open span that the pipeline records.
    #[inline]
    pub(super) fn slot(&self, key: Key) -> Option<&Slot> {
        self.shared().spans.contexts.as_ref()?.find(key)
    }

    /// Ends a span that closes, at the time when a thread last left it. A span that no thread has
    /// entered ends now. Returns whether the span may have a parent in the registry.
    #[inline]
    pub(super) fn end_span(shared: &Shared, contexts: &Contexts, slot: &Slot) -> bool {
        let closing = slot.closing();
        let (context, is_child) = (closing.context, closing.is_child);
        let mut is_lost = false;
        if (context.is_sampled || shared.wanted.durations) && !closing.is_lost {
            let end = closing.left.map_or_else(|| shared.clock_time(), |left| shared.time_of(left));
            // The end is logged before the ids are removed, since the back end takes a span without
            // ids for one that has logged its end.
            is_lost = !current_thread::log_words(&shared.channel, &frame::end(end, &context));
        }
        contexts.remove(closing);
        if is_lost {
            Spans::lose_end(contexts, &shared.channel);
        }
        is_child
    }

    /// Logs a part of an open span.
    #[inline]
    pub(super) fn log_part(&self, key: Key, kind: RecordKind, write: impl FnOnce(&mut Writer<'_>)) {
        if let Some(context) = self.context(key) {
            self.log_part_of(context, kind, write);
        }
    }

    /// Logs a part of a span with these ids, if the span is sampled.
    #[inline]
    pub(super) fn log_part_of(
        &self,
        context: SpanContext,
        kind: RecordKind,
        write: impl FnOnce(&mut Writer<'_>),
    ) {
        if context.is_sampled {
            self.log_record(context, kind, write);
        }
    }

    #[inline]
    fn log_record(
        &self,
        context: SpanContext,
        kind: RecordKind,
        write: impl FnOnce(&mut Writer<'_>),
    ) {
        let shared = self.shared();
        let time = shared.clock_time();
        current_thread::log(&shared.channel, |scratch| {
            let mut to = Writer::begin_part(scratch, time, kind, context);
            write(&mut to);
            to.end();
        });
    }
}

fn set_field(to: &mut Writer<'_>, (key, value): (&str, Value<'_>)) {
    let key = MaybeStatic::Borrowed(key);
    match value {
        Value::Json(_) | Value::Error(_) => to.printed_field(key, format_args!("{value}")),
        value => to.field(key, value),
    }
}
