//! The options of requests to a collector.

mod choices;
mod collector;
mod connections;
mod detected;
pub(crate) mod environment;
mod proxy;
mod requests;
mod resource;

use core::fmt;
use core::time::Duration;
use std::process;

use tach_core::adapter;

pub use self::choices::{Compression, Protocol, Temporality};
use self::connections::Connections;
use self::detected::INSTANCE;
use self::proxy::Proxies;
use self::requests::{Requests, shown_name};
use crate::encode::LogRecords;
use crate::encode::limits::{AttributeLimits, SpanLimits};
use crate::encode::metadata::{Metadata, Shown};
use crate::error::{self, Error, Fault};
use crate::exporter::{Exporter, Lane, Pauses, Transport};
use crate::signal::Signal;

const RETRY_FOR: Duration = Duration::from_secs(5 * 60);

/// The collector, the options of requests to it, and the resource that all telemetry describes.
///
/// A value that can't be used, such as an endpoint that is no URL, fails
/// [`exporter`](Self::exporter). A variable of the environment that can't be used is ignored:
/// [`ignored_variables`](Self::ignored_variables) names it and the reason.
///
/// # Examples
///
/// ```
/// use tach_otlp::{Compression, Otlp};
///
/// let otlp = Otlp::from_env().service_name("checkout").compression(Compression::Gzip);
/// let exporter = otlp.exporter()?;
/// # Ok::<(), tach_otlp::Error>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct Otlp {
    /// The options of each signal, in the order of [`Signal::ALL`].
    requests: [Requests; 3],
    temporality: Temporality,
    retry_for: Duration,
    limits: Limits,
    proxies: Proxies,
    is_disabled: bool,
    pub(crate) is_from_env: bool,
    /// The resource's attributes: keys, and whole `KeyValue` messages.
    attributes: Vec<(String, Vec<u8>)>,
    /// The process that made the options.
    process: u32,
    /// The variables that can't be used, of those that belong to no single signal.
    ignored: Vec<Fault>,
}

/// The limits of spans and of records.
#[derive(Debug, Clone, Copy, Default)]
struct Limits {
    spans: SpanLimits,
    records: AttributeLimits,
}

impl Otlp {
    /// Creates the specification's default options and ignores the environment: a collector at
    /// `http://localhost:4318`, and the program's name as the service.
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_otlp::Otlp::new().endpoint("http://collector:4318");
    /// ```
    pub fn new() -> Self {
        let options = Self {
            requests: Signal::ALL.map(Requests::new),
            temporality: Temporality::Cumulative,
            retry_for: RETRY_FOR,
            limits: Limits::default(),
            proxies: Proxies::default(),
            is_disabled: false,
            is_from_env: false,
            attributes: Vec::new(),
            process: process::id(),
            ignored: Vec::new(),
        };
        options
            .service_name(format!("unknown_service:{}", adapter::program_name()))
            .attribute(INSTANCE, &*detected::instance_id(process::id()))
            .attribute("telemetry.sdk.name", "tach-otlp")
            .attribute("telemetry.sdk.language", "rust")
            .attribute("telemetry.sdk.version", env!("CARGO_PKG_VERSION"))
    }

    /// Creates the options that the environment sets, in [OpenTelemetry's variables][variables]:
    ///
    /// - `OTEL_EXPORTER_OTLP_ENDPOINT`, `_HEADERS`, `_COMPRESSION`, `_TIMEOUT` and `_PROTOCOL`,
    ///   which must be `http/protobuf` or, with the feature `grpc`, `grpc`
    /// - with the feature `grpc`, `OTEL_EXPORTER_OTLP_INSECURE`: with `true`, an endpoint such as
    ///   `localhost:4317` is reached without TLS
    /// - with the feature `tls`, `OTEL_EXPORTER_OTLP_CERTIFICATE`, `_CLIENT_CERTIFICATE` and
    ///   `_CLIENT_KEY`
    /// - the same with `OTEL_EXPORTER_OTLP_LOGS_`, `OTEL_EXPORTER_OTLP_TRACES_` or
    ///   `OTEL_EXPORTER_OTLP_METRICS_`, which take precedence
    /// - `OTEL_BLRP_SCHEDULE_DELAY` for records, `OTEL_BSP_SCHEDULE_DELAY` for spans, and
    ///   `OTEL_METRIC_EXPORT_INTERVAL` for durations
    /// - `OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE`, of which `lowmemory` is `delta` for
    ///   durations
    /// - `OTEL_RESOURCE_ATTRIBUTES` and `OTEL_SERVICE_NAME`
    /// - `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG`, which a pipeline of `tach-pipeline`
    ///   obeys unless it has a sampling of its own
    /// - `OTEL_ATTRIBUTE_COUNT_LIMIT` and `OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT`; the same with
    ///   `OTEL_SPAN_` or `OTEL_LOGRECORD_`, which take precedence
    /// - `OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT` and `OTEL_LINK_ATTRIBUTE_COUNT_LIMIT`, which take
    ///   precedence too, for the events and links of spans
    /// - `OTEL_SPAN_EVENT_COUNT_LIMIT` and `OTEL_SPAN_LINK_COUNT_LIMIT`
    /// - `OTEL_LOGS_EXPORTER`, `OTEL_TRACES_EXPORTER` and `OTEL_METRICS_EXPORTER`: with `none`, the
    ///   signal is not [sent](Self::signals)
    /// - `OTEL_SDK_DISABLED`: with `true`, no signal is
    ///
    /// Over HTTP, the proxies of `HTTPS_PROXY`, `HTTP_PROXY` and `ALL_PROXY` are used, except for
    /// the hosts of `NO_PROXY` and for this machine.
    ///
    /// A length is a number of characters. [`max_attributes`](Self::max_attributes),
    /// [`max_text_chars`](Self::max_text_chars), [`max_events`](Self::max_events) and
    /// [`max_links`](Self::max_links) have the defaults of the limits.
    ///
    /// A variable that can't be used is ignored: see
    /// [`ignored_variables`](Self::ignored_variables). Methods that are called afterwards take
    /// precedence, except [`signals`](Self::signals). A process with privileges that its caller
    /// lacks reads no variable: see [`tach_core::Config::trust_environment`].
    ///
    /// [variables]: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_otlp::Otlp::from_env().attribute("service.version", "1.4.2");
    /// ```
    pub fn from_env() -> Self {
        environment::apply(Self { is_from_env: true, ..Self::new() }, adapter::variable)
    }

    /// Leaves the events of `tracing` out of spans. By default they are within their spans, and the
    /// same events are log records. An event of the level `ERROR` still sets the status of its
    /// span.
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_otlp::Otlp::new().without_span_events();
    /// ```
    pub fn without_span_events(mut self) -> Self {
        self.limits.spans.has_events = false;
        self
    }

    /// Sets which metadata are attributes, of spans, of events within them and of log records. By
    /// default these are the location and the thread, and for events also the level and the target.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_otlp::{Metadata, Otlp};
    ///
    /// let plain = Otlp::new().metadata([]);
    /// let more = Otlp::new().metadata([Metadata::Location, Metadata::Level, Metadata::Target]);
    /// ```
    pub fn metadata(mut self, all: impl IntoIterator<Item = Metadata>) -> Self {
        self.limits.spans.shown = Shown::only(all);
        self
    }

    /// Sets the most attributes of a record, a span, an event of a span, and a link: 128 by
    /// default. The collector is told how many were left out: what tach adds before the program's
    /// own fields, and last the marks of what a span lacks, such as `tach.incomplete`. What is made
    /// of an error, such as `exception.message`, stands where the error does.
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_otlp::Otlp::new().max_attributes(64);
    /// ```
    pub fn max_attributes(mut self, count: u32) -> Self {
        let Limits { spans, records } = &mut self.limits;
        (spans.attributes.count, records.count) = (count, count);
        (spans.event_attributes, spans.link_attributes) = (count, count);
        self.overrides_limit("ATTRIBUTE_COUNT_LIMIT")
    }

    /// Sets the most characters of each text in an attribute's value: not limited by default. A
    /// sink of `tach-pipeline` has bounds of its own.
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_otlp::Otlp::new().max_text_chars(4096);
    /// ```
    pub fn max_text_chars(mut self, count: usize) -> Self {
        let Limits { spans, records } = &mut self.limits;
        (spans.attributes.length, records.length) = (count, count);
        self.overrides_limit("ATTRIBUTE_VALUE_LENGTH_LIMIT")
    }

    /// Sets the most events of a span: 128 by default. The collector is told how many were left
    /// out. `tach-pipeline` keeps as many in memory until the span ends, and sends up to 3 MiB of a
    /// span.
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_otlp::Otlp::new().max_events(1000);
    /// ```
    pub fn max_events(mut self, count: u32) -> Self {
        self.limits.spans.events = count;
        self.overrides_limit("EVENT_COUNT_LIMIT")
    }

    /// Sets the most links of a span: 128 by default. The collector is told how many were left out.
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_otlp::Otlp::new().max_links(16);
    /// ```
    pub fn max_links(mut self, count: u32) -> Self {
        self.limits.spans.links = count;
        self.overrides_limit("LINK_COUNT_LIMIT")
    }

    /// Forgets the faults of variables whose names end in `end`, since a method sets their limit.
    fn overrides_limit(mut self, end: &str) -> Self {
        self.ignored.retain(|fault| !fault.name().ends_with(end));
        self
    }

    /// Sets how often metrics are sent: each minute by default. An interval of less than a
    /// millisecond fails [`exporter`](Self::exporter).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let otlp = tach_otlp::Otlp::new().metric_interval(Duration::from_secs(10));
    /// ```
    pub fn metric_interval(mut self, interval: Duration) -> Self {
        let metrics = self.requests_mut(Signal::Metrics);
        metrics.max_delay = interval;
        metrics.overrides("_EXPORT_INTERVAL");
        self
    }

    /// Sets the period that each metric covers: [`Temporality::Cumulative`] by default.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_otlp::{Otlp, Temporality};
    ///
    /// let otlp = Otlp::new().temporality(Temporality::Delta);
    /// ```
    pub fn temporality(mut self, temporality: Temporality) -> Self {
        self.temporality = temporality;
        self.requests_mut(Signal::Metrics).overrides("_TEMPORALITY_PREFERENCE");
        self
    }

    /// Sets which signals are sent: all by default. An exporter accepts the items of the others,
    /// and sends none. [Variables](Self::from_env) may leave out more.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_otlp::{Otlp, Signal};
    ///
    /// let otlp = Otlp::from_env().signals([Signal::Logs, Signal::Traces]);
    /// assert!(!otlp.sends(Signal::Metrics));
    /// ```
    pub fn signals(mut self, signals: impl IntoIterator<Item = Signal>) -> Self {
        self.requests.iter_mut().for_each(|requests| requests.is_wanted = false);
        signals.into_iter().for_each(|signal| self.requests_mut(signal).is_wanted = true);
        self
    }

    /// Returns whether a signal is sent: see [`signals`](Self::signals).
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_otlp::{Otlp, Signal};
    ///
    /// assert!(Otlp::new().sends(Signal::Logs));
    /// ```
    #[must_use]
    pub fn sends(&self, signal: Signal) -> bool {
        !self.is_disabled && !self.requests(signal).is_left_out && self.wants(signal)
    }

    /// Returns the exporter. Nothing is sent before [`Exporter::send`], and no thread is started.
    ///
    /// # Errors
    ///
    /// If options can't be used: all of them are in the error. A variable is no such option. If a
    /// variable names an endpoint or a file of certificates that can't be used, all items are
    /// rejected for good, with that reason.
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_otlp::Otlp::new().endpoint("collector:4318");
    /// assert_eq!(
    ///     otlp.exporter().unwrap_err().to_string(),
    ///     "can't use the endpoint \"collector:4318\": it must be a URL, such as \
    ///      http://localhost:4318",
    /// );
    /// ```
    pub fn exporter(&self) -> Result<Exporter, Error> {
        let mut connections = Connections::default();
        let mut faults = Vec::new();
        let lanes = Signal::ALL.map(|signal| {
            let requests = self.requests(signal);
            let transport = if self.sends(signal) {
                requests.transport(&self.proxies, &mut connections)
            } else {
                Ok(Transport::Disabled)
            };
            Lane {
                transport: transport.unwrap_or_else(|of_signal| {
                    faults.extend(of_signal);
                    Transport::Disabled
                }),
                endpoint: self.shown_endpoint(signal),
                compresses: requests.compression == Compression::Gzip,
                max_delay: requests.max_delay,
                pauses: Pauses::default(),
            }
        });
        Error::of(&faults)?;
        Ok(Exporter { lanes, resource: self.resource(), retry_for: self.retry_for })
    }

    /// Returns the variables of the environment that [`from_env`](Self::from_env) could not use,
    /// each with its value and the values that would be right. Those whose option was set by a
    /// method afterwards are not among them.
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_otlp::Otlp::from_env();
    /// for ignored in otlp.ignored_variables() {
    ///     eprintln!("{ignored}");
    /// }
    /// ```
    #[must_use]
    pub fn ignored_variables(&self) -> Vec<Error> {
        let signals = self.requests.iter().flat_map(|requests| &requests.ignored);
        error::distinct(signals.chain(&self.ignored)).map(|it| it.clone().into()).collect()
    }

    /// Returns the format of log records, with the limits that the options set.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_otlp::Otlp;
    /// use tach_otlp::encode::LogRecords;
    ///
    /// assert_eq!(Otlp::new().log_records(), LogRecords::new());
    /// ```
    #[must_use]
    pub fn log_records(&self) -> LogRecords {
        LogRecords { limits: self.limits.records, shown: self.limits.spans.shown }
    }

    pub(crate) fn shown_endpoint(&self, signal: Signal) -> String {
        self.requests(signal).url().shown()
    }

    pub(crate) fn wants(&self, signal: Signal) -> bool {
        self.requests(signal).is_wanted
    }

    pub(crate) fn span_limits(&self) -> SpanLimits {
        self.limits.spans
    }

    pub(crate) fn metrics(&self) -> (Duration, Temporality) {
        (self.requests(Signal::Metrics).max_delay, self.temporality)
    }

    fn requests(&self, signal: Signal) -> &Requests {
        &self.requests[signal.index()]
    }

    fn requests_mut(&mut self, signal: Signal) -> &mut Requests {
        &mut self.requests[signal.index()]
    }

    fn each(mut self, set: impl Fn(&mut Requests)) -> Self {
        self.requests.iter_mut().for_each(set);
        self
    }
}

impl Default for Otlp {
    fn default() -> Self {
        Self::new()
    }
}

/// Prints only the names of headers, since their values may be secrets.
impl fmt::Debug for Otlp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers = self.requests(Signal::Logs).headers.iter().map(|(name, _)| shown_name(name));
        f.debug_struct("Otlp")
            .field("logs", &self.shown_endpoint(Signal::Logs))
            .field("traces", &self.shown_endpoint(Signal::Traces))
            .field("metrics", &self.shown_endpoint(Signal::Metrics))
            .field("headers", &headers.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
