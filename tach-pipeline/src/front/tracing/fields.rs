//! What `tracing` knows about an event or a span, as parts of a record: metadata, values, and the
//! fields of the spans around it.

use core::{fmt, mem};

use tach_log::Value;
use tach_log::adapter::{self, Messages};
use tracing_core::field::{Field, Visit};
use tracing_core::subscriber::Interest;
use tracing_core::{LevelFilter, Metadata};

pub(super) use crate::callsites::{key, level};
use crate::channel::current_thread;
use crate::filter::Filters;
use crate::frame::MaybeStatic;
use crate::frame::Writer;
use crate::ids::Around;
use crate::level::Level;
use crate::limits::Callsite;
use crate::pipeline::Pipeline;
use crate::shared::Shared;
use crate::sync::Switch;
use crate::trace::current;
use crate::trace::slots::Open;

/// The most spans around an event in its record. A guard that is held over an `await` nests spans
/// without end.
pub(super) const MOST: usize = 64;
/// Whether there was a span without a name, which carries fields and is no span to a reader.
pub(super) static NAMELESS: Switch = Switch::new();

/// The key of the number of spans that a record leaves out.
const OMITTED: &str = "omitted_spans";
/// Returns the place that counts against a rate limit. Do not call for an event that `tracing-log`
/// made, since all of these have one place.
pub(super) fn callsite(metadata: &Metadata<'static>) -> Option<Callsite<'static>> {
    Some(Callsite { file: metadata.file()?, line: metadata.line()? })
}

impl Filters {
    /// Returns whether an enabled span is recorded. Unlike a record, a span is not kept for a
    /// backtrace.
    #[inline]
    pub(super) fn is_span_recorded(&self, level: Level, target: &str) -> bool {
        self.kept.is_none() || self.are_written(level, target)
    }
}

pub(super) fn is_enabled(pipeline: &Pipeline, metadata: &Metadata<'_>) -> bool {
    pipeline.known().filters.enabled(level(metadata), metadata.target())
}

/// Returns an answer that `tracing` may cache until the filter changes.
pub(super) fn interest(pipeline: &Pipeline, metadata: &Metadata<'_>) -> Interest {
    if !is_enabled(pipeline, metadata) {
        Interest::never()
    } else if pipeline.may_skip(metadata) {
        Interest::sometimes()
    } else {
        Interest::always()
    }
}

pub(super) fn most(pipeline: &Pipeline) -> LevelFilter {
    match pipeline.known().filters.most() {
        log::LevelFilter::Off => LevelFilter::OFF,
        log::LevelFilter::Error => LevelFilter::ERROR,
        log::LevelFilter::Warn => LevelFilter::WARN,
        log::LevelFilter::Info => LevelFilter::INFO,
        log::LevelFilter::Debug => LevelFilter::DEBUG,
        log::LevelFilter::Trace => LevelFilter::TRACE,
    }
}

/// The name that `tracing` gives to an event's message.
const MESSAGE: &str = "message";

/// Which keys are written.
pub(super) trait Chosen {
    fn has(&self, key: &str) -> bool;
}

pub(super) struct All;

impl Chosen for All {
    #[inline]
    fn has(&self, _: &str) -> bool {
        true
    }
}

impl Chosen for &[String] {
    fn has(&self, key: &str) -> bool {
        self.iter().any(|known| known == key)
    }
}

/// Writes values as fields, except for the message.
pub(super) struct Visitor<'a, 'b, C = All> {
    to: &'a mut Writer<'b>,
    keys: C,
    /// Whether the next field may be the message. A span has no message.
    may_be_message: bool,
}

impl<'a, 'b> Visitor<'a, 'b> {
    pub(super) fn of_event(to: &'a mut Writer<'b>) -> Self {
        Self { to, keys: All, may_be_message: true }
    }

    pub(super) fn of_span(to: &'a mut Writer<'b>) -> Self {
        Self { to, keys: All, may_be_message: false }
    }
}

impl<'a, 'b, 'c> Visitor<'a, 'b, &'c [String]> {
    /// Writes the values of these keys of a span alone.
    pub(super) fn of_keys(to: &'a mut Writer<'b>, keys: &'c [String]) -> Self {
        Self { to, keys, may_be_message: false }
    }
}

impl<C: Chosen> Visitor<'_, '_, C> {
    /// Writes a value that is no text, and therefore not the message, even if that is its name.
    #[expect(clippy::inline_always, reason = "the callers know the kind of the value")]
    #[inline(always)]
    fn field(&mut self, field: &Field, value: Value<'_>) {
        self.may_be_message = false;
        if self.keys.has(key(field)) {
            self.to.field(MaybeStatic::Static(key(field)), value);
        }
    }

    #[inline]
    fn printed(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        if self.is_message(field) {
            return self.to.printed_message(value);
        }
        if self.keys.has(key(field)) {
            self.to.printed_field(MaybeStatic::Static(key(field)), value);
        }
    }

    #[inline]
    fn is_message(&mut self, field: &Field) -> bool {
        mem::take(&mut self.may_be_message) && field.name() == MESSAGE
    }
}

impl<C: Chosen> Visit for Visitor<'_, '_, C> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.printed(field, format_args!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if self.is_message(field) {
            return self.to.message_text(value);
        }
        self.field(field, Value::Str(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.field(field, Value::I64(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.field(field, Value::U64(value));
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        self.field(field, Value::I128(value));
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.field(field, Value::U128(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.field(field, Value::F64(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.field(field, Value::Bool(value));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn core::error::Error + 'static)) {
        if self.is_message(field) {
            let chain = format_args!("{}", Messages(value)).to_string();
            return self
                .to
                .printed_message(format_args!("{}", adapter::joined(adapter::chain(&chain))));
        }
        if self.keys.has(key(field)) {
            self.to.error_field(MaybeStatic::Static(key(field)), value);
        }
    }
}

/// Returns whether a key is among the chosen keys, or all keys are chosen.
pub(super) fn is_chosen(chosen: Option<&[String]>, key: &str) -> bool {
    chosen.is_none_or(|chosen| chosen.has(key))
}

/// Writes the message of a record that `tracing-log` forwards. Its other fields are metadata.
pub(super) struct Forwarded<'a, 'b>(pub(super) Visitor<'a, 'b>);

impl Visit for Forwarded<'_, '_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == MESSAGE {
            self.0.record_debug(field, value);
        }
    }
}

/// Calls `keep` with values as bytes of a record. The values are visited before `keep` takes a
/// lock: a value that is printed may log.
pub(super) fn with_fields(visit: impl FnOnce(&mut Visitor<'_, '_>), keep: impl FnOnce(&[u8])) {
    let mut scratch = current_thread::take_scratch();
    let mut to = Writer::of_fields(&mut scratch);
    visit(&mut Visitor::of_span(&mut to));
    keep(scratch.written());
    current_thread::give_back(scratch);
}

/// Writes the names and the fields of a span and its parents: the outermost one, which has the
/// request's fields, and the innermost ones, up to `most` spans (two or more). Adds the number of
/// the others as a field. Without `ALL`, writes spans without a name alone.
pub(super) fn write_around<const ALL: bool>(span: Open, most: usize, to: &mut Writer<'_>) {
    match span.parent() {
        Some(parent) if most > 2 => write_around::<ALL>(parent, most - 1, to),
        Some(mut outermost) => {
            let mut omitted = 0;
            while let Some(outer) = outermost.parent() {
                (outermost, omitted) = (outer, omitted + 1);
            }
            if omitted > 0 {
                to.field(MaybeStatic::Static(OMITTED), Value::U64(omitted));
            }
            write_span::<ALL>(outermost, to);
        }
        None => {}
    }
    write_span::<ALL>(span, to);
}

fn write_span<const ALL: bool>(span: Open, to: &mut Writer<'_>) {
    span.with(|metadata, fields| {
        if ALL || metadata.name().is_empty() {
            to.span(metadata.name());
            to.fields(fields);
        }
    });
}

/// Writes the spans that the thread is in, for a record of `log`. Without `ALL`, writes the fields
/// of those without a name, for a record of slog. Returns the span around the record.
#[inline]
pub(in crate::front) fn write_current_spans<const ALL: bool>(
    shared: &Shared,
    to: &mut Writer<'_>,
) -> Option<Around> {
    // Most records are outside of all spans.
    if current::is_outside() {
        return None;
    }
    if ALL || NAMELESS.is_on() {
        if let Some(span) = current::with_fields() {
            write_around::<ALL>(span, MOST, to);
        }
    }
    shared.spans.around()
}
