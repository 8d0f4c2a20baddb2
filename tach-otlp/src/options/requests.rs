//! The options of one signal's requests.

use core::cell::Cell;
use core::time::Duration;
use std::borrow::Cow;
use std::sync::Arc;

use ::http::uri::{Scheme, Uri};
use ::http::{HeaderMap, HeaderName, HeaderValue};

use super::choices::{Compression, Protocol};
use super::connections::{Connections, Means};
use super::proxy::Proxies;
use crate::advice::Advice;
use crate::error::{Error, Fault};
use crate::exporter::Transport;
use crate::http;
use crate::secret::{Secret, Secrets};
use crate::security::{Files, Security};
use crate::signal::Signal;

/// The addresses of a collector on this machine.
const ENDPOINT: &str = "http://localhost:4318";
const GRPC_ENDPOINT: &str = "http://localhost:4317";
/// The exporter and its language, as OpenTelemetry's specification asks for.
const USER_AGENT: &str = concat!("tach-OTLP-Exporter-Rust/", env!("CARGO_PKG_VERSION"));
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
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest timeout. The clock and the sockets of some systems can't represent much more.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);
const MAX_DELAY: Duration = Duration::from_secs(1);
const METRIC_INTERVAL: Duration = Duration::from_secs(60);
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);

/// The collector's address.
#[derive(Clone)]
pub(super) struct Endpoint {
    url: Secret,
    /// The option or the variable, for messages.
    name: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// This machine, at the port of the protocol.
    Default,
    /// Without the signal's path.
    Base,
    Whole,
}

impl Endpoint {
    pub(super) fn of_program(url: &str) -> Self {
        Self { url: Secret::new(url), name: "the endpoint".to_owned(), kind: Kind::Base }
    }

    pub(super) fn of_variable(name: &str, url: &str, is_whole: bool) -> Self {
        let kind = if is_whole { Kind::Whole } else { Kind::Base };
        Self { url: Secret::new(url), name: name.to_owned(), kind }
    }
}

#[derive(Clone)]
pub(super) struct Requests {
    pub(super) signal: Signal,
    /// Whether the program's options send the signal.
    pub(super) is_wanted: bool,
    /// Whether a variable excludes the signal.
    pub(super) is_left_out: bool,
    pub(super) endpoint: Endpoint,
    pub(super) protocol: Protocol,
    /// Whether an endpoint of gRPC without a scheme is reached without TLS.
    pub(super) is_insecure: bool,
    pub(super) headers: Vec<(String, Secret)>,
    pub(super) compression: Compression,
    pub(super) timeout: Duration,
    /// For metrics the time from one export to the next.
    pub(super) max_delay: Duration,
    pub(super) files: Files,
    /// The variables that can't be used.
    pub(super) ignored: Vec<Fault>,
}

impl Requests {
    pub(super) fn new(signal: Signal) -> Self {
        Self {
            signal,
            is_wanted: true,
            is_left_out: false,
            endpoint: Endpoint { kind: Kind::Default, ..Endpoint::of_program("") },
            protocol: Protocol::HttpProtobuf,
            is_insecure: false,
            headers: Vec::new(),
            compression: Compression::None,
            timeout: TIMEOUT,
            max_delay: if signal == Signal::Metrics { METRIC_INTERVAL } else { MAX_DELAY },
            files: Files::default(),
            ignored: Vec::new(),
        }
    }

    /// Returns the address of the requests.
    pub(super) fn url(&self) -> Secret {
        let (default, path) = match self.protocol {
            Protocol::HttpProtobuf => (ENDPOINT, self.signal.path()),
            Protocol::Grpc => (GRPC_ENDPOINT, self.signal.method()),
        };
        let base = match self.endpoint.kind {
            Kind::Default => default,
            Kind::Whole if self.protocol == Protocol::HttpProtobuf => {
                return self.endpoint.url.clone();
            }
            // Append gRPC's path to any endpoint: the path names the method, which no collector can
            // choose.
            Kind::Base | Kind::Whole => self.endpoint.url.expose(),
        };
        let base = &*self.with_scheme(base);
        let (base, query) = base.split_at(base.find('?').unwrap_or(base.len()));
        Secret::new(format!("{}{path}{query}", base.trim_end_matches('/')))
    }

    /// Returns the address with a scheme. Only for gRPC, whose targets need no scheme, a missing
    /// one is added, unless the address is empty.
    fn with_scheme<'a>(&self, base: &'a str) -> Cow<'a, str> {
        if self.protocol != Protocol::Grpc || base.is_empty() || base.contains("://") {
            return base.into();
        }
        format!("{}://{base}", if self.is_insecure { "http" } else { "https" }).into()
    }

    /// Forgets the unusable variables whose names end in `variable`. Call after a method has set
    /// their option.
    pub(super) fn overrides(&mut self, variable: &str) {
        self.ignored.retain(|fault| !fault.name().ends_with(variable));
    }

    /// Adds a header, in place of an earlier one of that name.
    pub(super) fn header(&mut self, name: &str, value: &str) {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), Secret::new(value)));
    }

    /// Returns the client, with a connection of `connections`. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// Returns the options of the program's that can't be used. If a variable can't, the transport
    /// refuses all items.
    pub(super) fn transport(
        &self,
        proxies: &Proxies,
        connections: &mut Connections,
    ) -> Result<Transport, Vec<Fault>> {
        let mut faults = Vec::new();
        let mut checked = |result: Result<(), Fault>| faults.extend(result.err());
        let (mut address, mut headers) = (None, HeaderMap::new());
        checked(self.address().map(|found| address = Some(found)));
        for header in &self.headers {
            checked(known_header(header).map(|(name, value)| _ = headers.insert(name, value)));
        }
        if self.timeout.is_zero() {
            checked(Err(Fault::new("the timeout", "0ns", "it must be longer than zero")));
        }
        if self.signal == Signal::Metrics && self.max_delay < SHORTEST_INTERVAL {
            let interval = format!("{:?}", self.max_delay);
            let reason = "it must be at least 1 ms";
            checked(Err(Fault::new("the interval of metrics", &interval, reason)));
        }
        let mut security = None;
        if address.as_ref().is_some_and(is_secure) {
            checked(self.security().map(|read| security = Some(read)));
        }
        let Some(address) = address.filter(|_| faults.is_empty()) else {
            return unusable(faults);
        };
        let mut all_headers = self.protocol_headers();
        all_headers.extend(headers);
        let timeout = self.timeout.min(LONGEST_TIMEOUT);
        let advice = Advice {
            option: self.endpoint.name.clone(),
            signal: self.signal,
            port: port(&address).unwrap_or_default(),
            is_grpc: self.protocol == Protocol::Grpc,
            is_known: Cell::new(security.is_some()),
            secrets: self.secrets(&address),
        };
        let means = |proxy| Means {
            origin: (address.scheme().cloned(), address.authority().cloned()),
            proxy,
            files: self.files.clone(),
        };
        match self.protocol {
            Protocol::HttpProtobuf => {
                let proxy = match proxies.proxy_for(&address) {
                    Ok(proxy) => proxy,
                    // Never connect directly instead: whoever set the variable wants no request to
                    // bypass the proxy.
                    Err(fault) => return Ok(Transport::Unusable(fault.into())),
                };
                let agent = connections
                    .http
                    .of(means(proxy.clone()), || http::agent(proxy, security.as_deref()));
                let (uri, headers) = (address, all_headers);
                let client = http::Client { agent, security, uri, headers, timeout, advice };
                Ok(Transport::Client(Box::new(client)))
            }
            #[cfg(feature = "grpc")]
            Protocol::Grpc => {
                let host = host(&address).to_owned();
                let secure = match security.map(|security| security.for_grpc(&host)) {
                    Some(None) => {
                        let reason = "its host must be a name or an address";
                        return unusable(vec![self.fault(reason)]);
                    }
                    secure => secure.flatten(),
                };
                let open = || crate::grpc::Server::new(host, advice.port, secure);
                let server = connections.grpc.of(means(None), open);
                let compresses = self.compression == Compression::Gzip;
                let (uri, headers) = (address, all_headers);
                let client =
                    crate::grpc::Client { server, uri, headers, compresses, timeout, advice };
                Ok(Transport::Client(Box::new(client)))
            }
            #[cfg(not(feature = "grpc"))]
            Protocol::Grpc => {
                let reason = "it needs the feature grpc of tach-otlp";
                Err(vec![Fault::new("the protocol", "grpc", reason)])
            }
        }
    }

    /// Returns the parts of a request to that address that no message may contain.
    fn secrets(&self, address: &Uri) -> Secrets {
        let query = address.query().unwrap_or_default();
        let parameters = query.split('&').filter_map(|pair| pair.split_once('='));
        let headers = self.headers.iter().map(|(name, value)| (&**name, value.expose()));
        Secrets::of(headers.chain(parameters).chain([("key", query)]))
    }

    /// Reads the files that connections to an endpoint with `https://` need.
    fn security(&self) -> Result<Arc<dyn Security>, Fault> {
        #[cfg(feature = "tls")]
        return crate::tls::read(&self.files);
        #[cfg(not(feature = "tls"))]
        Err(self.fault(
            "TLS needs the feature tls of tach-otlp; a collector beside this program needs none, \
             with http://",
        ))
    }

    /// A fault of the endpoint.
    fn fault(&self, reason: &str) -> Fault {
        Fault::new(&self.endpoint.name, self.endpoint.url.expose(), reason)
    }

    fn address(&self) -> Result<Uri, Fault> {
        let fault = |reason: &str| self.fault(reason);
        let uri: Uri = self.url().expose().parse().map_err(|_| fault(NO_URL))?;
        if ![Some(&Scheme::HTTP), Some(&Scheme::HTTPS)].contains(&uri.scheme()) {
            return Err(fault(NO_URL));
        }
        let authority = uri.authority().ok_or_else(|| fault("it must have a host"))?;
        if authority.as_str().contains('@') {
            return Err(fault("a user's name belongs in a header, such as authorization"));
        }
        if self.protocol == Protocol::Grpc && uri.query().is_some() {
            return Err(fault("gRPC has no query; a key belongs in a header"));
        }
        if host(&uri).is_empty() {
            return Err(fault("it must have a host"));
        }
        port(&uri).ok_or_else(|| fault("the port must be 1 to 65535"))?;
        let is_whole = self.endpoint.kind == Kind::Whole && self.protocol != Protocol::Grpc;
        let set = self.endpoint.url.expose();
        let set = set.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        let path = Signal::ALL.map(Signal::path).into_iter().find(|path| set.ends_with(path));
        if let Some(path) = path.filter(|_| !is_whole) {
            let reason = format!("it must be without {path}: the exporter appends the path");
            return Err(fault(&reason));
        }
        Ok(uri)
    }

    /// Returns the protocol's headers, except for the host and the length.
    fn protocol_headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let (content, encoding) = match self.protocol {
            Protocol::HttpProtobuf => ("application/x-protobuf", "content-encoding"),
            Protocol::Grpc => {
                headers.insert("te", HeaderValue::from_static("trailers"));
                ("application/grpc", "grpc-encoding")
            }
        };
        headers.insert("content-type", HeaderValue::from_static(content));
        headers.insert("user-agent", HeaderValue::from_static(USER_AGENT));
        if self.compression == Compression::Gzip {
            headers.insert(encoding, HeaderValue::from_static("gzip"));
        }
        headers
    }
}

/// Returns the options of the program's or, if there are none, a transport that refuses all items
/// because of the variables.
fn unusable(faults: Vec<Fault>) -> Result<Transport, Vec<Fault>> {
    let is_of_variable = |fault: &Fault| fault.name().starts_with("OTEL_");
    let (of_variables, of_program): (_, Vec<_>) = faults.into_iter().partition(is_of_variable);
    if of_program.is_empty() {
        Ok(Transport::Unusable(Error::of_some(of_variables)))
    } else {
        Err(of_program)
    }
}

fn is_secure(address: &Uri) -> bool {
    address.scheme() == Some(&Scheme::HTTPS)
}

/// Returns the host, without the brackets of an IPv6 address.
fn host(address: &Uri) -> &str {
    address.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
}

/// Returns the port, or `None` if it is not valid.
fn port(address: &Uri) -> Option<u16> {
    let authority = address.authority()?;
    match &authority.as_str()[authority.host().len()..] {
        "" => Some(if is_secure(address) { 443 } else { 80 }),
        text => text.strip_prefix(':')?.parse().ok().filter(|&port| port != 0),
    }
}

/// Checks a header of the program's.
pub(super) fn known_header(
    (name, value): &(String, Secret),
) -> Result<(HeaderName, HeaderValue), Fault> {
    let fault = |reason: &str| Fault::new("the header", shown_name(name), reason);
    let invalid = || fault("it can't stand in HTTP");
    let known = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
    if OF_PROTOCOL.contains(&known.as_str()) {
        return Err(fault("it is the protocol's, which sets it"));
    }
    let mut value = HeaderValue::from_str(value.expose()).map_err(|_| invalid())?;
    // The compression of headers in HTTP/2 must not store a value that may be a secret.
    value.set_sensitive(true);
    Ok((known, value))
}

/// Returns the name of a header for messages. If it is not a valid name, returns an empty text:
/// somebody may have written the value there.
pub(super) fn shown_name(name: &str) -> &str {
    if HeaderName::from_bytes(name.as_bytes()).is_ok() { name } else { "" }
}
