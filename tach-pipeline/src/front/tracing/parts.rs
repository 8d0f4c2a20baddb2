//! What calls add to open spans: values, links and a status.

use core::num::NonZeroU32;

use tach_log::Value;
use tracing_core::Metadata;
use tracing_core::span::Record;

use super::fields::{Chosen as _, Visitor, is_chosen, key};
use crate::channel::current_thread;
use crate::durations::Collected;
use crate::frame::MaybeStatic;
use crate::frame::{self, Linked, Origin, RecordKind, Remains, Scratch, Writer};
use crate::ids::SpanContext;
use crate::pipeline::Pipeline;
use crate::shared::Shared;
use crate::trace::slots::Open;
use crate::trace::w3c::TraceContext;

/// The most bytes of records that are kept of a span that waits. Its start may be longer. Further
/// records are counted.
const MOST_KEPT: usize = 64 * 1024;

/// An open span to which a call adds something.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(super) span: Open,
    pub(super) context: SpanContext,
}

impl Target {
    #[inline]
    pub(super) fn new(span: Open) -> Self {
        Self { span, context: span.ids().context() }
    }

    /// Returns whether what is added is kept, since the span waits.
    #[inline]
    pub(super) fn waits(&self) -> bool {
        let ids = self.span.ids();
        // Another thread may have set the span's parent since its ids were read.
        !self.context.is_sampled && (ids.waits() || ids.may_be_sampled())
    }
}

impl Pipeline {
    /// Returns an open span as the target of a call, if the pipeline records it.
    #[inline]
    pub(super) fn target(&self, span: Open) -> Option<Target> {
        self.shared().spans.contexts.record(span).then(|| Target::new(span))
    }

    pub(super) fn record_values(&self, span: Target, values: &Record<'_>) {
        let fields = span.span.metadata().map(Metadata::fields);
        let are_any = |chosen: &[String]| {
            let has = |field| chosen.has(key(&field)) && values.contains(&field);
            fields.is_some_and(|fields| fields.iter().any(has))
        };
        self.log_values(span, are_any, |to, chosen| match chosen {
            None => values.record(&mut Visitor::of_span(to)),
            Some(chosen) => values.record(&mut Visitor::of_keys(to, chosen)),
        });
    }

    /// Logs values of an open span. If the span is not sampled, but `are_any` of the values chosen
    /// for the durations, also logs only these values, and keeps the record of the span: the back
    /// end then counts its duration.
    #[inline]
    pub(super) fn log_values(
        &self,
        span: Target,
        are_any: impl FnOnce(&[String]) -> bool,
        write: impl Fn(&mut Writer<'_>, Option<&[String]>),
    ) {
        self.log_part_of(span, RecordKind::Values, |to| write(to, None));
        if span.context.is_sampled {
            return;
        }
        let chosen = self.shared().spans.durations.as_ref().map_or(&[][..], Collected::attributes);
        // In a forked child nobody reads the record, and a thread that only the parent has may hold
        // the slot's lock.
        if !chosen.is_empty() && are_any(chosen) && !self.shared().channel.is_forked() {
            if !span.span.has_record() && !self.keep_start(span) {
                return;
            }
            self.log_record(span.context, RecordKind::Values, |to| write(to, Some(chosen)));
        }
    }

    /// Keeps the record of a span, whose words are then no longer needed. Returns `false` if the span
    /// is closed, or the thread would wait for itself.
    pub(super) fn keep_start(&self, Target { span, context }: Target) -> bool {
        let shared = self.shared();
        let thread = current_thread::number(&shared.channel).map_or(0, NonZeroU32::get);
        span.keep_start(context, shared.clock_time(), thread)
    }

    pub(super) fn link_to_span(&self, span: Target, follows: Open) {
        if let Some(context) = self.shared().spans.contexts.get_unheld(follows) {
            let linked = Linked { context, origin: Origin::Own };
            self.log_part_of(span, RecordKind::Link, |to| to.link(linked));
        }
    }

    pub(super) fn link_to(&self, span: Target, linked: &TraceContext) {
        self.log_part_of(span, RecordKind::Link, |to| linked.write(to, Origin::Remote));
    }

    pub(super) fn set_status(&self, span: Target, status: Result<(), &str>) {
        let code = Value::Str(if status.is_ok() { "ok" } else { "error" });
        let fields = [
            ("otel.status_code", code),
            ("otel.status_description", Value::Str(status.err().unwrap_or_default())),
        ];
        let count = if status.is_ok() { 1 } else { 2 };
        self.set_fields(span, &fields[..count]);
    }

    pub(super) fn set_fields(&self, span: Target, fields: &[(&str, Value<'_>)]) {
        let are_any = |chosen: &[String]| fields.iter().any(|(key, _)| chosen.has(key));
        self.log_values(span, are_any, |to, chosen| {
            let fields = fields.iter().filter(|(key, _)| is_chosen(chosen, key));
            fields.for_each(|field| set_field(to, *field));
        });
    }

    /// Logs a part of a span, if the span is sampled, or keeps the part if the span waits.
    #[inline]
    pub(super) fn log_part_of(
        &self,
        span: Target,
        kind: RecordKind,
        write: impl Fn(&mut Writer<'_>),
    ) {
        if span.context.is_sampled {
            self.log_record(span.context, kind, write);
        } else if span.waits() {
            let time = self.shared().clock_time();
            self.keep_or_log(span, |scratch| {
                let mut to = Writer::begin_part(scratch, time, kind, span.context);
                write(&mut to);
                to.end();
            });
        }
    }

    /// Keeps a record of a span that waits. If the span is sampled meanwhile, logs the record.
    #[cold]
    pub(super) fn keep_or_log(&self, span: Target, write: impl FnOnce(&mut Scratch)) {
        let shared = self.shared();
        if !shared.wanted.spans {
            return;
        }
        let mut scratch = current_thread::take_scratch();
        write(&mut scratch);
        let record = scratch.written();
        let is_kept = span.span.keep(|kept| keep(kept, record));
        if !is_kept && span.span.ids().context().is_sampled {
            log_kept(shared, record);
        }
        current_thread::give_back(scratch);
    }

    #[inline]
    pub(super) fn log_record(
        &self,
        context: SpanContext,
        kind: RecordKind,
        write: impl FnOnce(&mut Writer<'_>),
    ) {
        let shared = self.shared();
        let time = shared.clock_time();
        let mut scratch = current_thread::take_scratch();
        let mut to = Writer::begin_part(&mut scratch, time, kind, context);
        write(&mut to);
        to.end();
        current_thread::push(&shared.channel, scratch);
    }
}

/// Logs a record of a span that waited for the decision whether it is sampled. Returns whether the
/// record is in the thread's queue.
pub(super) fn log_kept(shared: &Shared, record: &[u8]) -> bool {
    let mut scratch = current_thread::take_scratch();
    scratch.copy_bytes(record);
    current_thread::push(&shared.channel, scratch)
}

/// Adds a record to the kept records. If there is no room, adds the counts of its items to the
/// record of what is lost.
fn keep(kept: &mut Vec<u8>, record: &[u8]) {
    if kept.len() + record.len() <= MOST_KEPT {
        kept.extend_from_slice(record);
    } else if let Remains::Part(counts) = frame::remains(record) {
        let last = frame::split_all(kept).last();
        let last =
            last.filter(|last| frame::kind(last) == Some(RecordKind::Lost)).map_or(0, <[u8]>::len);
        let at = kept.len() - last;
        if !frame::add_lost(&mut kept[at..], &counts) {
            kept.extend_from_slice(&counts);
        }
    }
}

fn set_field(to: &mut Writer<'_>, (key, value): (&str, Value<'_>)) {
    let key = MaybeStatic::Borrowed(key);
    match value {
        Value::Json(_) | Value::Error(_) => to.printed_field(key, format_args!("{value}")),
        value => to.field(key, value),
    }
}
