//! A collector of OpenTelemetry as a sink.

mod client;
mod environment;
mod exporter;
mod pauses;
mod protobuf;
mod record;

use core::fmt;
use core::time::Duration;
use std::env;

use http::uri::{Scheme, Uri};
use http::{HeaderName, HeaderValue};
use tach_log::Value;

use self::client::Client;
pub(super) use self::exporter::Exporter;
use self::pauses::Pauses;
pub(super) use self::record::Records;
use self::record::{field, key_value};
use crate::error::Error;
use crate::sink::program;

/// The address of a collector on this machine.
const ENDPOINT: &str = "http://localhost:4318";
const LOGS_PATH: &str = "/v1/logs";
const PORT: u16 = 80;
const TIMEOUT: Duration = Duration::from_secs(10);
/// Records of some seconds: a collector that is started again must not cost any.
pub(super) const BUFFER_BYTES: usize = 16 * 1024 * 1024;
const MAX_DELAY: Duration = Duration::from_secs(1);
const RETRIES_FOR: Duration = Duration::from_secs(5 * 60);

/// Options for [`Sink::otlp`](crate::Sink::otlp): the collector, and the resource that the records
/// describe.
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
    logs: String,
    headers: Vec<(String, String)>,
    compresses: bool,
    timeout: Duration,
    max_delay: Duration,
    retries_for: Duration,
    /// The resource's attributes: keys, and whole `KeyValue` messages.
    attributes: Vec<(String, Vec<u8>)>,
    /// The first variable that can't be used: its name, its value and the reason.
    fault: Option<(String, String, &'static str)>,
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
            logs: format!("{ENDPOINT}{LOGS_PATH}"),
            headers: Vec::new(),
            compresses: false,
            timeout: TIMEOUT,
            max_delay: MAX_DELAY,
            retries_for: RETRIES_FOR,
            attributes: Vec::new(),
            fault: None,
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
    ///   which must be `http/protobuf`
    /// - the same with `OTEL_EXPORTER_OTLP_LOGS_`, which take precedence
    /// - `OTEL_BLRP_SCHEDULE_DELAY`
    /// - `OTEL_RESOURCE_ATTRIBUTES` and `OTEL_SERVICE_NAME`
    ///
    /// Methods that follow take precedence.
    ///
    /// [variables]: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_pipeline::Otlp::from_env().attribute("service.version", "1.4.2");
    /// ```
    pub fn from_env() -> Self {
        environment::apply(Self::new(), |name| env::var_os(name))
    }

    /// Sets the collector's address, without a path: `/v1/logs` is appended, after the path if
    /// there is one. By default it is `http://localhost:4318`.
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_pipeline::Otlp::new().endpoint("http://collector:4318");
    /// ```
    pub fn endpoint(mut self, url: &str) -> Self {
        self.logs = format!("{}{LOGS_PATH}", url.trim_end_matches('/'));
        self
    }

    /// Adds a header to each request, such as a key of the collector's. It replaces an earlier one
    /// of that name.
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_pipeline::Otlp::new().header("x-api-key", "secret");
    /// ```
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets whether requests are compressed as gzip does, through the crate `flate2`. By default
    /// they are not.
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_pipeline::Otlp::new().gzip(true);
    /// ```
    pub fn gzip(mut self, compresses: bool) -> Self {
        self.compresses = compresses;
        self
    }

    /// Sets how long a request and its answer may take: 10 s by default. Afterwards the request is
    /// sent again.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let otlp = tach_pipeline::Otlp::new().timeout(Duration::from_secs(3));
    /// ```
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how long a record may wait for others before it is sent: 1 s by default. A request is
    /// sent earlier if 64 KiB wait, or for a flush.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let otlp = tach_pipeline::Otlp::new().max_delay(Duration::from_millis(200));
    /// ```
    pub fn max_delay(mut self, delay: Duration) -> Self {
        self.max_delay = delay;
        self
    }

    /// Sets for how long a request is sent again, with pauses that grow to 5 s, while the collector
    /// can't be reached or asks for patience: 5 minutes by default. Then its records are dropped.
    /// Others wait meanwhile, up to [`Sink::buffer_bytes`](crate::Sink::buffer_bytes).
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
    pub fn service_name(self, name: &str) -> Self {
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
        key_value(&mut attribute, key, value.into());
        self.attributes.push((key.to_owned(), attribute));
        self
    }

    /// Returns the collector's name for messages.
    pub(super) fn name(&self) -> String {
        self.logs.clone()
    }

    /// Returns the sender of requests. Nothing is sent before the first record.
    ///
    /// # Errors
    ///
    /// If an option can't be used.
    pub(super) fn open(self) -> Result<Exporter, Error> {
        if let Some((name, value, reason)) = &self.fault {
            return Err(Error::option(name, value, reason));
        }
        Ok(Exporter {
            resource: self.resource(),
            compresses: self.compresses,
            max_delay: self.max_delay,
            retries_for: self.retries_for,
            pauses: Pauses::default(),
            client: self.client()?,
        })
    }

    /// Returns the `Resource` as a field of `ResourceLogs`.
    fn resource(&self) -> Vec<u8> {
        let mut resource = Vec::new();
        for (_, attribute) in &self.attributes {
            protobuf::bytes(&mut resource, field::RESOURCE_ATTRIBUTES, attribute);
        }
        let mut to = Vec::new();
        protobuf::bytes(&mut to, field::RESOURCE_LOGS_RESOURCE, &resource);
        to
    }

    fn client(self) -> Result<Client, Error> {
        let fault = |reason: &str| Error::option("the endpoint", &self.logs, reason);
        let uri: Uri = self.logs.parse().map_err(|_| fault("it must be a URL"))?;
        match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => {}
            Some(scheme) if *scheme == Scheme::HTTPS => {
                return Err(fault(
                    "TLS is not supported; a collector beside this program needs none",
                ));
            }
            _ => return Err(fault("it must begin with http://")),
        }
        let authority = uri.authority().ok_or_else(|| fault("it must have a host"))?;
        if authority.as_str().contains('@') {
            return Err(fault("a user's name belongs in a header, such as authorization"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let mut head = format!("POST {path} HTTP/1.1\r\nhost: {authority}\r\n");
        head += "content-type: application/x-protobuf\r\n";
        head += concat!("user-agent: tach-pipeline/", env!("CARGO_PKG_VERSION"), "\r\n");
        if self.compresses {
            head += "content-encoding: gzip\r\n";
        }
        for (name, value) in &self.headers {
            let is_name = HeaderName::from_bytes(name.as_bytes()).is_ok();
            if !is_name || HeaderValue::from_str(value).is_err() {
                // The value may be a secret.
                return Err(Error::option("the header", name, "it can't stand in HTTP"));
            }
            head.extend([name, ": ", value, "\r\n"]);
        }
        let address = (host, authority.port_u16().unwrap_or(PORT));
        Ok(Client { address, head, timeout: self.timeout, connection: None })
    }
}

impl Default for Otlp {
    fn default() -> Self {
        Self::new()
    }
}

/// The values of headers may be secrets, so their names stand alone.
impl fmt::Debug for Otlp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |pairs: &[(String, _)]| -> Vec<String> {
            pairs.iter().map(|(name, _)| name.clone()).collect()
        };
        f.debug_struct("Otlp")
            .field("logs", &self.logs)
            .field("headers", &names(&self.headers))
            .finish_non_exhaustive()
    }
}
