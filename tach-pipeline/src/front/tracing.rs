//! `tracing`: events with their fields, and the fields of the spans around them.

use core::{fmt, mem};

use tach_log::Value;
use tach_log::adapter::{self, Messages};
use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::subscriber::Interest;
use tracing_core::{Dispatch, Event, LevelFilter, Metadata, Subscriber, callsite, dispatcher};
use tracing_log::NormalizeEvent as _;
use tracing_subscriber::Registry;
use tracing_subscriber::layer::{Context, Filter, Layer, SubscriberExt as _};
use tracing_subscriber::registry::{LookupSpan, SpanRef};

use crate::channel::thread;
use crate::error::Error;
use crate::frame::texts::MaybeStatic;
use crate::frame::{self, Place, Writer};
use crate::level::Level;
use crate::limits::Callsite;
use crate::pipeline::{Pipeline, global};

/// The name that `tracing` gives to an event's message.
const MESSAGE: &str = "message";
/// The target of events that `tracing-log` makes of the records of `log`.
const FORWARDED: &str = "log";

/// Logs events with their fields and the spans around them, with the spans' fields. The formats of
/// `tach-log` write the spans' names from the outermost to the innermost. A `message` that is not
/// the event's first field is a field. A value of the type `&dyn Error` is written with its
/// sources.
///
/// The pipeline's filter applies to all layers of the subscriber, to events and spans: a
/// refusal costs a load. Through [`Pipeline::layer`] it applies to the pipeline alone. A span's
/// field that is recorded again replaces the earlier value.
///
/// A pipeline may be a layer of several subscribers, such as the global one and one of
/// `with_default`. A span of one subscriber may have a parent of another one: the pipeline's span
/// that the thread is in. If the pipeline is within a `reload::Layer`, it must be there when the
/// subscriber is built: one that is put there later does not know the spans that are open, and may
/// be used in one subscriber only.
///
/// Records of `log` that the crate `tracing-log` forwards keep their targets, and filters see
/// these. They lose their fields, since that crate does not forward them.
impl<S> Layer<S> for Pipeline
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    fn on_layer(&mut self, _subscriber: &mut S) {
        self.begin_layer();
    }

    fn on_register_dispatch(&self, _subscriber: &Dispatch) {
        self.shared().filters.is_layer();
    }

    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        interest(self, metadata)
    }

    fn enabled(&self, metadata: &Metadata<'_>, _context: Context<'_, S>) -> bool {
        is_enabled(self, metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(most(self))
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        // A subscriber may combine the interests of several layers.
        let metadata = attributes.metadata();
        if !is_enabled(self, metadata) {
            return;
        }
        if self.shared().filters.is_span_recorded(level(metadata), metadata.target()) {
            self.start_span(attributes, id);
        }
        if !self.shared().wanted.events {
            return;
        }
        let Some(span) = context.span(id) else { return };
        let mut kept = Kept::by(self);
        kept.add(|visitor| attributes.record(visitor));
        let mut extensions = span.extensions_mut();
        if extensions.get_mut::<Kept>().is_none() {
            extensions.insert(kept);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        self.record_values(self.key(id), values);
        if !self.shared().wanted.events {
            return;
        }
        let Some(span) = context.span(id) else { return };
        // The values are visited before the lock is taken, since a value may log when it is
        // printed.
        let mut more = Kept::by(self);
        more.add(|visitor| values.record(visitor));
        let mut extensions = span.extensions_mut();
        match extensions.get_mut::<Kept>() {
            Some(kept) if kept.by == more.by => frame::replace(&mut kept.fields, &more.fields),
            Some(_) => {}
            None => extensions.insert(more),
        }
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, _context: Context<'_, S>) {
        self.link_spans(self.key(id), self.key(follows));
    }

    fn on_enter(&self, id: &Id, _context: Context<'_, S>) {
        self.enter_span(self.key(id));
    }

    fn on_exit(&self, id: &Id, _context: Context<'_, S>) {
        self.exit_span(self.key(id));
    }

    fn on_close(&self, id: Id, _context: Context<'_, S>) {
        self.end_span(self.key(&id));
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        if metadata.target() == FORWARDED && event.is_log() {
            return self.on_forwarded(event, &context);
        }
        if !is_enabled(self, metadata) || !self.shared().is_within_limit(|| callsite(metadata)) {
            return;
        }
        let level = level(metadata);
        let wanted = self.shared().wanted;
        let around = self.around_event(event);
        if !wanted.events
            && !around.is_some_and(|span| span.is_own && span.context.is_sampled)
            && !wanted.recorder
        {
            // Nobody takes it.
            return;
        }
        self.log_with(level, MaybeStatic::Static(metadata.target()), |to| {
            event.record(&mut Visitor::of_event(to));
            if wanted.events {
                write_spans(event, &context, to);
            }
            if wanted.is_any() {
                to.site(wanted, place(metadata, MaybeStatic::Static), around);
                if let Some(name) = given_name(metadata) {
                    to.event_name(name);
                }
            }
        });
    }
}

impl Pipeline {
    /// Returns the pipeline as a layer of tracing whose filter applies to this layer alone, for a
    /// subscriber whose other layers need more than the pipeline accepts.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    /// use tracing_subscriber::layer::SubscriberExt as _;
    ///
    /// let pipeline = Pipeline::builder().filter("warn").build()?;
    /// let all = tracing_subscriber::fmt::layer();
    /// let subscriber = tracing_subscriber::registry().with(pipeline.layer()).with(all);
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        self.clone().with_filter(Alone(self.clone()))
    }

    /// Installs the pipeline as the only layer of the global subscriber.
    pub(crate) fn set_subscriber(&self) -> Result<(), Error> {
        let subscriber = tracing_subscriber::registry().with(self.clone());
        let dispatch = Dispatch::new(subscriber);
        global::install(&global::SUBSCRIBER, self, || dispatcher::set_global_default(dispatch))
            .map_err(|_| Error::already_set("the global subscriber of tracing"))?;
        // In a forked child, the filter of the parent's pipeline is cached.
        callsite::rebuild_interest_cache();
        Ok(())
    }

    /// Logs a record of `log` that `tracing-log` made an event.
    #[cold]
    fn on_forwarded<S>(&self, event: &Event<'_>, context: &Context<'_, S>)
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        let Some(metadata) = event.normalized_metadata() else { return };
        if !is_enabled(self, &metadata) {
            return;
        }
        let wanted = self.shared().wanted;
        self.log_with(level(&metadata), MaybeStatic::Borrowed(metadata.target()), |to| {
            event.record(&mut Forwarded(Visitor::of_event(to)));
            if wanted.events {
                write_spans(event, context, to);
            }
            if wanted.is_any() {
                to.site(wanted, place(&metadata, MaybeStatic::Borrowed), self.around_event(event));
            }
        });
    }
}

/// The filter of a [`Pipeline::layer`].
struct Alone(Pipeline);

impl<S> Filter<S> for Alone {
    fn enabled(&self, metadata: &Metadata<'_>, _context: &Context<'_, S>) -> bool {
        is_enabled(&self.0, metadata)
    }

    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        interest(&self.0, metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(most(&self.0))
    }
}

fn is_enabled(pipeline: &Pipeline, metadata: &Metadata<'_>) -> bool {
    pipeline.shared().filters.enabled(level(metadata), metadata.target())
}

/// Returns an answer that lasts until the filter changes.
fn interest(pipeline: &Pipeline, metadata: &Metadata<'_>) -> Interest {
    if is_enabled(pipeline, metadata) { Interest::always() } else { Interest::never() }
}

fn most(pipeline: &Pipeline) -> LevelFilter {
    match pipeline.shared().filters.most() {
        log::LevelFilter::Off => LevelFilter::OFF,
        log::LevelFilter::Error => LevelFilter::ERROR,
        log::LevelFilter::Warn => LevelFilter::WARN,
        log::LevelFilter::Info => LevelFilter::INFO,
        log::LevelFilter::Debug => LevelFilter::DEBUG,
        log::LevelFilter::Trace => LevelFilter::TRACE,
    }
}

/// An event that `tracing-log` made has no callsite of its own.
pub(super) fn callsite(metadata: &Metadata<'static>) -> Option<Callsite> {
    Some(Callsite { file: metadata.file()?, line: metadata.line()? })
}

pub(super) fn level(metadata: &Metadata<'_>) -> Level {
    match *metadata.level() {
        tracing_core::Level::ERROR => Level::of(log::Level::Error),
        tracing_core::Level::WARN => Level::of(log::Level::Warn),
        tracing_core::Level::INFO => Level::of(log::Level::Info),
        tracing_core::Level::DEBUG => Level::of(log::Level::Debug),
        tracing_core::Level::TRACE => Level::of(log::Level::Trace),
    }
}

/// A span's fields as bytes of a record. One pipeline keeps them for all that are layers of the
/// subscriber.
struct Kept {
    by: u64,
    fields: Vec<u8>,
}

impl Kept {
    fn by(pipeline: &Pipeline) -> Self {
        Self { by: pipeline.id(), fields: Vec::new() }
    }

    fn add(&mut self, visit: impl FnOnce(&mut Visitor<'_, '_>)) {
        let mut scratch = thread::take_scratch();
        let mut to = Writer::of_fields(&mut scratch);
        visit(&mut Visitor::of_span(&mut to));
        self.fields.extend_from_slice(scratch.written());
        thread::give_back(scratch);
    }
}

/// Writes the spans that the thread is in, for a record of `log`: those that pipelines keep as
/// layers of the current subscriber.
pub(super) fn write_current_spans(to: &mut Writer<'_>) {
    dispatcher::get_default(|dispatch| {
        let Some(registry) = dispatch.downcast_ref::<Registry>() else { return };
        let current = registry.current_span();
        if let Some(span) = current.id().and_then(|id| registry.span(id)) {
            write_kept_span(&span, to);
        }
    });
}

fn write_kept_span(span: &SpanRef<'_, Registry>, to: &mut Writer<'_>) {
    if let Some(parent) = span.parent() {
        write_kept_span(&parent, to);
    }
    if let Some(kept) = span.extensions().get::<Kept>() {
        to.spans();
        to.span(span.name());
        to.fields(&kept.fields);
    }
}

/// Writes the names and the fields of the spans around an event.
fn write_spans<S>(event: &Event<'_>, context: &Context<'_, S>, to: &mut Writer<'_>)
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    if let Some(span) = context.event_span(event) {
        to.spans();
        write_span(&span, to);
    }
}

fn write_span<'a, S: LookupSpan<'a>>(span: &SpanRef<'a, S>, to: &mut Writer<'_>) {
    if let Some(parent) = span.parent() {
        write_span(&parent, to);
    }
    to.span(span.name());
    if let Some(kept) = span.extensions().get::<Kept>() {
        to.fields(&kept.fields);
    }
}

pub(super) fn place<'a>(
    metadata: &Metadata<'a>,
    text: impl Fn(&'a str) -> MaybeStatic<'a>,
) -> Place<'a> {
    Place {
        file: text(metadata.file().unwrap_or_default()),
        line: metadata.line().unwrap_or(0),
        module: text(metadata.module_path().unwrap_or_default()),
    }
}

/// Returns the event's name, unless tracing's macros gave it: `event FILE:LINE`.
#[inline]
fn given_name(metadata: &'static Metadata<'static>) -> Option<&'static str> {
    const BEGIN: &str = "event ";
    let name = metadata.name();
    let file = metadata.file().map_or(0, str::len);
    // A comparison of the whole would take longer.
    let is_default =
        name.starts_with(BEGIN) && name.as_bytes().get(BEGIN.len() + file) == Some(&b':');
    (!is_default).then_some(name)
}

/// Returns the key without the `r#` of names such as `r#type`.
pub(super) fn key(field: &Field) -> &'static str {
    let name = field.name();
    name.strip_prefix("r#").unwrap_or(name)
}

/// Writes values as fields, except for the message.
pub(super) struct Visitor<'a, 'b> {
    to: &'a mut Writer<'b>,
    /// Whether the next field may be the message. The fields of a span have none.
    may_be_message: bool,
}

impl<'a, 'b> Visitor<'a, 'b> {
    fn of_event(to: &'a mut Writer<'b>) -> Self {
        Self { to, may_be_message: true }
    }

    pub(super) fn of_span(to: &'a mut Writer<'b>) -> Self {
        Self { to, may_be_message: false }
    }

    /// Writes a field that is not the message: a number with the name of the message is a field.
    #[expect(clippy::inline_always, reason = "the callers know the kind of the value")]
    #[inline(always)]
    fn field(&mut self, field: &Field, value: Value<'_>) {
        self.may_be_message = false;
        self.to.field(MaybeStatic::Static(key(field)), value);
    }

    #[inline]
    fn printed(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        if self.is_message(field) {
            return self.to.printed_message(value);
        }
        self.to.printed_field(MaybeStatic::Static(key(field)), value);
    }

    #[inline]
    fn is_message(&mut self, field: &Field) -> bool {
        mem::take(&mut self.may_be_message) && field.name() == MESSAGE
    }
}

impl Visit for Visitor<'_, '_> {
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
        self.to.error_field(MaybeStatic::Static(key(field)), value);
    }
}

/// Returns whether a key is one of the chosen ones, if only those are asked for.
pub(super) fn is_chosen(chosen: Option<&[String]>, key: &str) -> bool {
    chosen.is_none_or(|chosen| chosen.iter().any(|known| known == key))
}

/// Writes the values of these keys alone.
pub(super) struct Chosen<'a, 'b> {
    to: Visitor<'a, 'b>,
    keys: &'a [String],
}

impl<'a, 'b> Chosen<'a, 'b> {
    pub(super) fn new(to: Visitor<'a, 'b>, keys: &'a [String]) -> Self {
        Self { to, keys }
    }

    fn with(&mut self, field: &Field, visit: impl FnOnce(&mut Visitor<'a, 'b>)) {
        if is_chosen(Some(self.keys), key(field)) {
            visit(&mut self.to);
        }
    }
}

impl Visit for Chosen<'_, '_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.with(field, |to| to.record_debug(field, value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.with(field, |to| to.record_str(field, value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.with(field, |to| to.record_i64(field, value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.with(field, |to| to.record_u64(field, value));
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        self.with(field, |to| to.record_i128(field, value));
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.with(field, |to| to.record_u128(field, value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.with(field, |to| to.record_f64(field, value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.with(field, |to| to.record_bool(field, value));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn core::error::Error + 'static)) {
        self.with(field, |to| to.record_error(field, value));
    }
}

/// Writes the message of a forwarded record. The other fields are parts of its metadata.
struct Forwarded<'a, 'b>(Visitor<'a, 'b>);

impl Visit for Forwarded<'_, '_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == MESSAGE {
            self.0.record_debug(field, value);
        }
    }
}
