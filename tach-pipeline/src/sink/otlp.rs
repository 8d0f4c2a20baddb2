//! A collector of OpenTelemetry as a sink.

mod attributes;
mod client;
#[cfg(feature = "tracing")]
mod durations;
mod environment;
mod exporter;
#[cfg(feature = "otlp-grpc")]
mod grpc;
mod idle;
mod pauses;
mod record;
mod scope;
#[cfg(feature = "tracing")]
mod span;
mod stream;
#[cfg(feature = "otlp-tls")]
mod tls;
mod transport;
mod value;
mod verdict;

use core::fmt;
use core::num::NonZeroU16;
use core::time::Duration;
#[cfg(feature = "otlp-tls")]
use std::path::Path;

use http::uri::{Scheme, Uri};
use http::{HeaderMap, HeaderName, HeaderValue};
use tach_core::adapter;
use tach_log::Value;

use self::client::Client;
#[cfg(feature = "tracing")]
pub(super) use self::durations::write_durations;
pub(super) use self::exporter::Exporter;
use self::idle::Idle;
use self::pauses::Pauses;
pub(super) use self::record::Records;
use self::scope::field;
#[cfg(feature = "tracing")]
pub(crate) use self::scope::of_resource;
#[cfg(feature = "tracing")]
pub(crate) use self::span::write_span;
use self::stream::Server;
#[cfg(feature = "otlp-tls")]
use self::tls::{File, Files, Tls};
use self::transport::Transport;
use self::value::key_value;
use crate::durations::Temporality;
use crate::error::Error;
use crate::host::program;
use crate::protobuf;
use crate::secret::Secret;
use crate::trace::limits::{AttributeLimits, SpanLimits};

/// The addresses of a collector on this machine.
const ENDPOINT: &str = "http://localhost:4318";
#[cfg(feature = "otlp-grpc")]
const GRPC_ENDPOINT: &str = "http://localhost:4317";
const USER_AGENT: &str = concat!("tach-pipeline/", env!("CARGO_PKG_VERSION"));
/// The ports of HTTP and HTTPS.
const PORT: u16 = 80;
const SECURE_PORT: u16 = 443;
/// The headers that frame a request, which are the protocol's own.
const OF_PROTOCOL: [&str; 11] = [
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "grpc-encoding",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];
const NO_URL: &str = "it must be a URL, such as http://localhost:4318";
const SERVICE_NAME: &str = "OTEL_SERVICE_NAME";
const TIMEOUT: Duration = Duration::from_secs(10);
/// Records of some seconds: a collector that is started again must not cost any.
pub(super) const BUFFER_BYTES: usize = 16 * 1024 * 1024;
/// The most bytes of records in a request. While a collector far away answers, records gather for
/// the next request. Some proxies refuse a body of more than 1 MiB.
pub(super) const MOST_BYTES: usize = 512 * 1024;
const MAX_DELAY: Duration = Duration::from_secs(1);
const METRIC_INTERVAL: Duration = Duration::from_secs(60);
const RETRIES_FOR: Duration = Duration::from_secs(5 * 60);

/// Options for [`Sink::otlp`](crate::Sink::otlp), `Sink::otlp_spans` and `Sink::otlp_durations`:
/// the collector, and the resource that the records and spans describe.
///
/// A value that can't be used, such as an endpoint that is no URL, fails
/// [`Builder::build`](crate::Builder::build).
///
/// # Examples
///
/// ```no_run
/// use tach_pipeline::{Otlp, Pipeline, Sink};
///
/// let otlp = Otlp::from_env().service_name("checkout").gzip(true);
/// let pipeline = Pipeline::builder().sink(Sink::otlp(otlp)).build()?;
/// # Ok::<(), tach_pipeline::Error>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct Otlp {
    logs: Requests,
    traces: Requests,
    metrics: Requests,
    temporality: Temporality,
    retries_for: Duration,
    limits: Limits,
    /// The resource's attributes: keys, and whole `KeyValue` messages.
    attributes: Vec<(String, Vec<u8>)>,
    /// The variables of the resource that can't be used.
    faults: Vec<Fault>,
}

/// The limits that variables set.
#[derive(Debug, Clone, Copy, Default)]
struct Limits {
    spans: SpanLimits,
    records: AttributeLimits,
}

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    Logs,
    Traces,
    Metrics,
}

impl Signal {
    const ALL: [Self; 3] = [Self::Logs, Self::Traces, Self::Metrics];

    /// Returns the path of a method of gRPC.
    #[cfg(feature = "otlp-grpc")]
    fn method(self) -> &'static str {
        match self {
            Self::Logs => "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
            Self::Traces => "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
            Self::Metrics => "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Logs => "/v1/logs",
            Self::Traces => "/v1/traces",
            Self::Metrics => "/v1/metrics",
        }
    }
}

/// The collector's address.
#[derive(Clone)]
enum Endpoint {
    /// This machine.
    Default,
    /// Without the signal's path.
    Base(Secret),
    Whole(Secret),
}

/// What is below a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Http,
    #[cfg(feature = "otlp-grpc")]
    Grpc,
}

/// The options of one signal's requests.
#[derive(Clone)]
struct Requests {
    signal: Signal,
    endpoint: Endpoint,
    protocol: Protocol,
    headers: Vec<(String, Secret)>,
    compresses: bool,
    timeout: Duration,
    /// For metrics the time from one export to the next.
    max_delay: Duration,
    #[cfg(feature = "otlp-tls")]
    files: Files,
    /// The variables that can't be used.
    faults: Vec<Fault>,
}

/// A variable that can't be used.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(Debug))]
struct Fault {
    name: String,
    value: String,
    reason: &'static str,
}

impl Requests {
    fn new(signal: Signal) -> Self {
        Self {
            signal,
            endpoint: Endpoint::Default,
            protocol: Protocol::Http,
            headers: Vec::new(),
            compresses: false,
            timeout: TIMEOUT,
            max_delay: if signal == Signal::Metrics { METRIC_INTERVAL } else { MAX_DELAY },
            #[cfg(feature = "otlp-tls")]
            files: Files::default(),
            faults: Vec::new(),
        }
    }

    /// Returns the address of the requests.
    fn url(&self) -> Secret {
        let (default, path) = match self.protocol {
            Protocol::Http => (ENDPOINT, self.signal.path()),
            #[cfg(feature = "otlp-grpc")]
            Protocol::Grpc => (GRPC_ENDPOINT, self.signal.method()),
        };
        let base = match &self.endpoint {
            Endpoint::Default => default,
            Endpoint::Whole(url) if self.protocol == Protocol::Http => return url.clone(),
            // gRPC has the same method for all collectors.
            Endpoint::Base(base) | Endpoint::Whole(base) => base.expose(),
        };
        let (base, query) = base.split_at(base.find('?').unwrap_or(base.len()));
        Secret::new(format!("{}{path}{query}", base.trim_end_matches('/')))
    }

    /// Forgets the faults of the variables whose names end so: a method has set their option.
    fn overrides(&mut self, variable: &str) {
        self.faults.retain(|fault| !fault.name.ends_with(variable));
    }

    /// Adds a header, in place of an earlier one of that name.
    fn header(&mut self, name: &str, value: &str) {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), Secret::new(value)));
    }
}

impl Otlp {
    /// Creates the specification's default options, without a look at the environment: a collector
    /// at `http://localhost:4318`, and the program's name as the service.
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_pipeline::Otlp::new().endpoint("http://collector:4318");
    /// ```
    pub fn new() -> Self {
        let options = Self {
            logs: Requests::new(Signal::Logs),
            traces: Requests::new(Signal::Traces),
            metrics: Requests::new(Signal::Metrics),
            temporality: Temporality::Cumulative,
            retries_for: RETRIES_FOR,
            limits: Limits::default(),
            attributes: Vec::new(),
            faults: Vec::new(),
        };
        options
            .service_name(&format!("unknown_service:{}", program::name()))
            .attribute("telemetry.sdk.name", "tach-pipeline")
            .attribute("telemetry.sdk.language", "rust")
            .attribute("telemetry.sdk.version", env!("CARGO_PKG_VERSION"))
    }

    /// Creates the options that the environment sets, in [OpenTelemetry's variables][variables]:
    ///
    /// - `OTEL_EXPORTER_OTLP_ENDPOINT`, `_HEADERS`, `_COMPRESSION`, `_TIMEOUT` and `_PROTOCOL`,
    ///   which must be `http/protobuf` or, with the feature `otlp-grpc`, `grpc`
    /// - with the feature `otlp-tls`, `OTEL_EXPORTER_OTLP_CERTIFICATE`, `_CLIENT_CERTIFICATE` and
    ///   `_CLIENT_KEY`
    /// - the same with `OTEL_EXPORTER_OTLP_LOGS_`, `OTEL_EXPORTER_OTLP_TRACES_` or
    ///   `OTEL_EXPORTER_OTLP_METRICS_`, which take precedence
    /// - `OTEL_BLRP_SCHEDULE_DELAY` for records, `OTEL_BSP_SCHEDULE_DELAY` for spans, and
    ///   `OTEL_METRIC_EXPORT_INTERVAL` for durations
    /// - `OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE`, of which `lowmemory` is `delta` for
    ///   durations
    /// - `OTEL_RESOURCE_ATTRIBUTES` and `OTEL_SERVICE_NAME`
    /// - `OTEL_ATTRIBUTE_COUNT_LIMIT` and `OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT`; the same with
    ///   `OTEL_SPAN_` or `OTEL_LOGRECORD_`, which take precedence
    /// - `OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT` and `OTEL_LINK_ATTRIBUTE_COUNT_LIMIT`, which take
    ///   precedence too, for the events and links of spans
    /// - `OTEL_SPAN_EVENT_COUNT_LIMIT` and `OTEL_SPAN_LINK_COUNT_LIMIT`
    ///
    /// Without variables the limits of counts are 128, and the lengths of values have none. A
    /// length is one of characters. The collector gets the numbers of the attributes, events and
    /// links beyond.
    ///
    /// Methods that follow take precedence, also over a variable that can't be used. A process with
    /// privileges that its caller lacks reads no variable: see
    /// [`tach_core::Config::trust_environment`].
    ///
    /// [variables]: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_pipeline::Otlp::from_env().attribute("service.version", "1.4.2");
    /// ```
    pub fn from_env() -> Self {
        environment::apply(Self::new(), adapter::variable)
    }

    /// Sets the collector's address, without a path: `/v1/logs`, `/v1/traces` or `/v1/metrics` is
    /// appended, after the path if there is one. By default it is `http://localhost:4318`.
    ///
    /// A query, which may have a key, is sent and never printed. A user and a password are refused:
    /// a [header](Self::header) such as `authorization` has them.
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_pipeline::Otlp::new().endpoint("http://collector:4318");
    /// ```
    pub fn endpoint(mut self, url: &str) -> Self {
        for signal in Signal::ALL {
            self.of(signal).endpoint = Endpoint::Base(Secret::new(url));
        }
        self
    }

    /// Adds a header to each request, such as a key of the collector's. Its value is never printed.
    /// It replaces an earlier header of that name, and this crate's `user-agent`. A header that
    /// frames the request, such as `content-type` or `host`, fails
    /// [`Builder::build`](crate::Builder::build).
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_pipeline::Otlp::new().header("x-api-key", "secret");
    /// ```
    pub fn header(self, name: &str, value: &str) -> Self {
        self.each(|requests| requests.header(name, value))
    }

    /// Sets whether requests are compressed as gzip does, through the crate `flate2`. By default
    /// they are not.
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_pipeline::Otlp::new().gzip(true);
    /// ```
    pub fn gzip(self, compresses: bool) -> Self {
        self.each(|requests| {
            requests.compresses = compresses;
            requests.overrides("_COMPRESSION");
        })
    }

    /// Sets the file with the certificates of the authorities that may have signed the collector's,
    /// in PEM, for endpoints that begin with `https://`. By default these are the authorities that
    /// this machine trusts, or that the variables `SSL_CERT_FILE` and `SSL_CERT_DIR` name.
    ///
    /// The file is read once, by [`Builder::build`](crate::Builder::build).
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Otlp;
    ///
    /// let otlp = Otlp::new().endpoint("https://collector:4318").certificate("/etc/tls/ca.pem");
    /// ```
    #[cfg(feature = "otlp-tls")]
    pub fn certificate(self, path: impl AsRef<Path>) -> Self {
        let file = File::of("the certificate's file", path.as_ref());
        self.each(|requests| requests.files.roots = Some(file.clone()))
    }

    /// Sets the files with this program's own certificate and its private key, in PEM, for a
    /// collector that accepts known clients alone. Certificates between it and its authority follow
    /// it in the file.
    ///
    /// The files are read once, by [`Builder::build`](crate::Builder::build).
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Otlp;
    ///
    /// let otlp = Otlp::new().client_certificate("/etc/tls/client.pem", "/etc/tls/client.key");
    /// ```
    #[cfg(feature = "otlp-tls")]
    pub fn client_certificate(self, certificate: impl AsRef<Path>, key: impl AsRef<Path>) -> Self {
        let certificate = File::of("the client's certificate", certificate.as_ref());
        let key = File::of("the client's key", key.as_ref());
        self.each(|requests| {
            requests.files.certificate = Some(certificate.clone());
            requests.files.key = Some(key.clone());
        })
    }

    /// Sets whether requests are calls of gRPC, in place of posts of HTTP/1.1. Then the default
    /// endpoint is `http://localhost:4317`, and the service's method is appended to an endpoint.
    ///
    /// The sink's own thread drives the connection. No runtime is needed or touched.
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_pipeline::Otlp::new().grpc(true).endpoint("http://collector:4317");
    /// ```
    #[cfg(feature = "otlp-grpc")]
    pub fn grpc(self, uses_grpc: bool) -> Self {
        let protocol = if uses_grpc { Protocol::Grpc } else { Protocol::Http };
        self.each(|requests| {
            requests.protocol = protocol;
            requests.overrides("_PROTOCOL");
        })
    }

    /// Sets how long a request and its answer may take: 10 s by default, and a day at most.
    /// Afterwards the request is sent again. A timeout of zero fails
    /// [`Builder::build`](crate::Builder::build). The look-up of the host's name is the system's,
    /// and has a timeout of its own.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let otlp = tach_pipeline::Otlp::new().timeout(Duration::from_secs(3));
    /// ```
    pub fn timeout(self, timeout: Duration) -> Self {
        self.each(|requests| {
            requests.timeout = timeout;
            requests.overrides("_TIMEOUT");
        })
    }

    /// Sets how long a record or a span may wait for others before it is sent: 1 s by default. A
    /// request is sent earlier if 64 KiB wait, or for a flush. Records that come while another
    /// request is on its way are sent together afterwards, up to 512 KiB of them.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let otlp = tach_pipeline::Otlp::new().max_delay(Duration::from_millis(200));
    /// ```
    pub fn max_delay(mut self, delay: Duration) -> Self {
        for requests in [&mut self.logs, &mut self.traces] {
            requests.max_delay = delay;
            requests.overrides("_SCHEDULE_DELAY");
        }
        self
    }

    /// Sets whether spans have the events of `tracing` within them. By default they have, and
    /// [`Sink::otlp`](crate::Sink::otlp) sends the same events as log records. With `false` they
    /// are log records alone, with the ids of their span. An event of the level `ERROR` sets the
    /// status of its span nevertheless.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Otlp, Pipeline, Sink};
    ///
    /// let otlp = Otlp::new().span_events(false);
    /// let builder = Pipeline::builder().sink(Sink::otlp(otlp.clone()));
    /// let builder = builder.sink(Sink::otlp_spans(otlp));
    /// ```
    #[cfg(feature = "tracing")]
    pub fn span_events(mut self, has_events: bool) -> Self {
        self.limits.spans.has_events = has_events;
        self
    }

    /// Sets how often the durations of spans are sent: each minute by default.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let otlp = tach_pipeline::Otlp::new().metric_interval(Duration::from_secs(10));
    /// ```
    #[cfg(feature = "tracing")]
    pub fn metric_interval(mut self, interval: Duration) -> Self {
        self.metrics.max_delay = interval;
        self.metrics.overrides("_EXPORT_INTERVAL");
        self
    }

    /// Sets whether the durations that are sent are those since they were sent last (delta
    /// temporality), and not those since the start (cumulative temporality). By default they are
    /// cumulative. A delta that is lost on its way is missing from then on.
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_pipeline::Otlp::new().delta_temporality(true);
    /// ```
    #[cfg(feature = "tracing")]
    pub fn delta_temporality(mut self, is_delta: bool) -> Self {
        self.temporality = if is_delta { Temporality::Delta } else { Temporality::Cumulative };
        self.metrics.overrides("_TEMPORALITY_PREFERENCE");
        self
    }

    /// Sets for how long a request is sent again while the collector can't be reached or asks for
    /// patience: 5 minutes by default. Then its records are dropped. Others wait meanwhile, up to
    /// [`Sink::buffer_bytes`](crate::Sink::buffer_bytes), and are then sent for as long.
    ///
    /// The pauses between grow to 5 s, each half as long or as much longer at random, unless the
    /// collector asks for another one in seconds: it is kept up to a minute.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let otlp = tach_pipeline::Otlp::new().retry_for(Duration::from_secs(60));
    /// ```
    pub fn retry_for(mut self, time: Duration) -> Self {
        self.retries_for = time;
        self
    }

    /// Sets the resource's `service.name`: by default `unknown_service:` and the program's name.
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_pipeline::Otlp::new().service_name("checkout");
    /// ```
    pub fn service_name(mut self, name: &str) -> Self {
        self.faults.retain(|fault| fault.name != SERVICE_NAME);
        self.attribute("service.name", name)
    }

    /// Sets an attribute of the resource. It replaces an earlier one of that key.
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_pipeline::Otlp::new().attribute("service.instance.id", 3);
    /// ```
    pub fn attribute<'a>(mut self, key: &str, value: impl Into<Value<'a>>) -> Self {
        self.attributes.retain(|(known, _)| known != key);
        let mut attribute = Vec::new();
        key_value(&mut attribute, key, value.into(), usize::MAX);
        self.attributes.push((key.to_owned(), attribute));
        self
    }

    fn of(&mut self, signal: Signal) -> &mut Requests {
        match signal {
            Signal::Logs => &mut self.logs,
            Signal::Traces => &mut self.traces,
            Signal::Metrics => &mut self.metrics,
        }
    }

    fn each(mut self, set: impl Fn(&mut Requests)) -> Self {
        set(&mut self.logs);
        set(&mut self.traces);
        set(&mut self.metrics);
        self
    }

    /// Returns the format of records.
    pub(super) fn records(&self) -> Records {
        Records { limits: self.limits.records }
    }

    #[cfg(feature = "tracing")]
    pub(crate) fn span_limits(&self) -> SpanLimits {
        self.limits.spans
    }

    /// Returns how often metrics are sent, and which time they are about.
    #[cfg(feature = "tracing")]
    pub(super) fn of_metrics(&self) -> (Duration, Temporality) {
        (self.metrics.max_delay, self.temporality)
    }

    /// Returns the collector's name for messages.
    pub(super) fn name(&self, signal: Signal) -> String {
        match signal {
            Signal::Logs => self.logs.url().shown(),
            Signal::Traces => self.traces.url().shown(),
            Signal::Metrics => self.metrics.url().shown(),
        }
    }

    /// Returns the sender of requests. Nothing is sent before the first record or span.
    ///
    /// # Errors
    ///
    /// If an option can't be used.
    pub(super) fn open(self, signal: Signal) -> Result<Exporter, Error> {
        let resource = self.resource();
        let retries_for = self.retries_for;
        let requests = match signal {
            Signal::Logs => self.logs,
            Signal::Traces => self.traces,
            Signal::Metrics => self.metrics,
        };
        let fault = requests.faults.first().or(self.faults.first());
        if let Some(Fault { name, value, reason }) = fault {
            return Err(Error::option(name, value, reason));
        }
        Ok(Exporter {
            resource,
            compresses: requests.compresses,
            // Metrics are sent at once: they were gathered on the back end.
            max_delay: match signal {
                Signal::Metrics => Duration::ZERO,
                Signal::Logs | Signal::Traces => requests.max_delay,
            },
            retries_for,
            pauses: Pauses::default(),
            transport: requests.transport()?,
        })
    }

    /// Returns the `Resource` as a field of `ResourceLogs` or `ResourceSpans`.
    pub(crate) fn resource(&self) -> Vec<u8> {
        let mut resource = Vec::new();
        for (_, attribute) in &self.attributes {
            protobuf::bytes(&mut resource, field::RESOURCE_ATTRIBUTES, attribute);
        }
        let mut to = Vec::new();
        protobuf::bytes(&mut to, field::RESOURCE, &resource);
        to
    }
}

impl Requests {
    /// Returns the client. Nothing is sent yet.
    fn transport(self) -> Result<Transport, Error> {
        let url = self.url();
        let given = match &self.endpoint {
            Endpoint::Default => &url,
            Endpoint::Base(given) | Endpoint::Whole(given) => given,
        };
        let fault = |reason: &str| Error::option("the endpoint", given.expose(), reason);
        let uri: Uri = url.expose().parse().map_err(|_| fault(NO_URL))?;
        let is_secure = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            _ => return Err(fault(NO_URL)),
        };
        if is_secure && cfg!(not(feature = "otlp-tls")) {
            return Err(fault(
                "TLS needs the feature otlp-tls of tach-pipeline; a collector beside this program \
                 needs none, with http://",
            ));
        }
        let authority = uri.authority().ok_or_else(|| fault("it must have a host"))?;
        if authority.as_str().contains('@') {
            return Err(fault("a user's name belongs in a header, such as authorization"));
        }
        #[cfg(feature = "otlp-grpc")]
        if self.protocol == Protocol::Grpc && uri.query().is_some() {
            return Err(fault("gRPC has no query; a key belongs in a header"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return Err(fault("it must have a host"));
        }
        let port = match &authority.as_str()[authority.host().len()..] {
            "" if is_secure => SECURE_PORT,
            "" => PORT,
            text => {
                let port = text.strip_prefix(':').and_then(|port| port.parse().ok());
                port.map(NonZeroU16::get).ok_or_else(|| fault("the port must be 1 to 65535"))?
            }
        };
        let server = Server {
            #[cfg(feature = "otlp-tls")]
            tls: is_secure.then(|| Tls::new(&host, &self.files, self.alpn())).transpose()?,
            host,
            port,
        };
        let headers = self.all_headers()?;
        if self.timeout.is_zero() {
            return Err(Error::option("the timeout", "0 ns", "it must be longer than zero"));
        }
        let Self { timeout, .. } = self;
        Ok(match self.protocol {
            Protocol::Http => {
                let head = client::head(&uri, &headers);
                Transport::Http(Client { server, head, timeout, connection: Idle::none() })
            }
            #[cfg(feature = "otlp-grpc")]
            Protocol::Grpc => {
                let compresses = self.compresses;
                let connection = Idle::none();
                let client = grpc::Client { server, uri, headers, compresses, timeout, connection };
                Transport::Grpc(Box::new(client))
            }
        })
    }

    /// Returns the name of the protocol that TLS agrees on.
    #[cfg(feature = "otlp-tls")]
    fn alpn(&self) -> &'static str {
        match self.protocol {
            Protocol::Http => "http/1.1",
            #[cfg(feature = "otlp-grpc")]
            Protocol::Grpc => "h2",
        }
    }

    /// Returns the protocol's headers and the user's, but the host and the length.
    fn all_headers(&self) -> Result<HeaderMap, Error> {
        let mut headers = HeaderMap::new();
        let (content, encoding) = match self.protocol {
            Protocol::Http => ("application/x-protobuf", "content-encoding"),
            #[cfg(feature = "otlp-grpc")]
            Protocol::Grpc => {
                headers.insert("te", HeaderValue::from_static("trailers"));
                ("application/grpc", "grpc-encoding")
            }
        };
        headers.insert("content-type", HeaderValue::from_static(content));
        headers.insert("user-agent", HeaderValue::from_static(USER_AGENT));
        if self.compresses {
            headers.insert(encoding, HeaderValue::from_static("gzip"));
        }
        for (name, value) in &self.headers {
            let fault = |reason: &str| Error::option("the header", shown_name(name), reason);
            let invalid = || fault("it can't stand in HTTP");
            let known = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
            if OF_PROTOCOL.contains(&known.as_str()) {
                return Err(fault("it is the protocol's, which sets it"));
            }
            let mut value = HeaderValue::from_str(value.expose()).map_err(|_| invalid())?;
            // HTTP/2's compression must not keep it.
            value.set_sensitive(true);
            headers.insert(known, value);
        }
        Ok(headers)
    }
}

/// Returns the name of a header for messages: nothing if it is none, as when somebody wrote the
/// value there.
fn shown_name(name: &str) -> &str {
    if HeaderName::from_bytes(name.as_bytes()).is_ok() { name } else { "" }
}

impl Default for Otlp {
    fn default() -> Self {
        Self::new()
    }
}

/// The values of headers may be secrets, so their names stand alone.
impl fmt::Debug for Otlp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers = self.logs.headers.iter().map(|(name, _)| shown_name(name));
        f.debug_struct("Otlp")
            .field("logs", &self.name(Signal::Logs))
            .field("traces", &self.name(Signal::Traces))
            .field("metrics", &self.name(Signal::Metrics))
            .field("headers", &headers.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
