//! The settings of a layer.

use core::time::Duration;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, request};

use crate::exhausted::Exhausted;
use crate::header::{Form, GRPC_TIMEOUT, Header, REQUEST_TIMEOUT, Syntax};
use crate::hook::Hook;

/// The settings of a [`BudgetLayer`](crate::BudgetLayer).
///
/// # The time of a request
///
/// A request with its response and the response's body has the least of
///
/// - the caller's deadline: the headers of the request, the budget in its extensions, and the
///   [`current`](crate::current()) one. It always holds, also beside the limits below;
/// - the [cap](Self::cap);
/// - the [default](Self::default_time), if the caller has no deadline.
///
/// [`head`](Self::head), [`body`](Self::body) and [`idle`](Self::idle) limit parts of it. Without
/// any limit a request runs as long as it likes.
///
/// # Headers
///
/// A server's layer reads `grpc-timeout` of a request that speaks gRPC, and `request-timeout`, in
/// seconds, of any other. A client's layer writes the same, so that both understand each other
/// without settings. [`header`](Self::header) and [`header_by`](Self::header_by) replace them.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_tower::{BudgetLayer, Settings};
///
/// let settings = Settings::new()
///     .default_time(Duration::from_secs(5))
///     .cap(Duration::from_secs(60))
///     .idle(Duration::from_secs(30));
/// let layer = BudgetLayer::server(settings);
/// ```
#[derive(Debug, Clone)]
pub struct Settings {
    /// The headers of requests that do not speak gRPC, and those of requests that do.
    pub(crate) headers: [Vec<Header>; 2],
    pub(crate) default_ns: u64,
    pub(crate) cap_ns: u64,
    pub(crate) cap_by: Option<Hook<CapBy>>,
    pub(crate) head_ns: u64,
    pub(crate) body_ns: u64,
    pub(crate) idle_ns: u64,
    pub(crate) reserve_ns: u64,
    pub(crate) floor_ns: u64,
    pub(crate) response: Option<Hook<Answer>>,
}

pub(crate) type Answer = dyn Fn(&Exhausted) -> Response<Bytes> + Send + Sync;
pub(crate) type CapBy = dyn Fn(&request::Parts) -> Option<Duration> + Send + Sync;

impl Settings {
    /// Creates settings without a limit, for the headers that gRPC and this crate use.
    ///
    /// # Examples
    ///
    /// ```
    /// let settings = tach_tower::Settings::new();
    /// ```
    #[must_use]
    pub fn new() -> Self {
        let header =
            |name, syntax| vec![Header { name, form: Form::Known(syntax), is_default: true }];
        Self {
            headers: [header(REQUEST_TIMEOUT, Syntax::Seconds), header(GRPC_TIMEOUT, Syntax::Grpc)],
            default_ns: u64::MAX,
            cap_ns: u64::MAX,
            cap_by: None,
            head_ns: u64::MAX,
            body_ns: u64::MAX,
            idle_ns: u64::MAX,
            reserve_ns: 0,
            floor_ns: 0,
            response: None,
        }
    }

    /// Limits every request, with its response and the response's body, to `time`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let settings = tach_tower::Settings::new().cap(Duration::from_secs(60));
    /// ```
    #[must_use]
    pub fn cap(self, time: Duration) -> Self {
        Self { cap_ns: ns(time), ..self }
    }

    /// Replaces the [cap](Self::cap) by the result of a function of the request's parts. `None`
    /// leaves the cap as it is.
    ///
    /// # Examples
    ///
    /// By the path, or by the route if the layer is one of axum's `Router::layer`, which has
    /// matched the route by then:
    ///
    /// ```
    /// use std::time::Duration;
    /// use axum::extract::MatchedPath;
    ///
    /// const MINUTE: Duration = Duration::from_secs(60);
    ///
    /// let settings = tach_tower::Settings::new().cap(Duration::from_secs(5)).cap_by(|parts| {
    ///     let route = parts.extensions.get::<MatchedPath>().map(MatchedPath::as_str);
    ///     let is_slow = route == Some("/reports/{id}") || parts.uri.path().starts_with("/export/");
    ///     is_slow.then_some(MINUTE)
    /// });
    /// ```
    #[must_use]
    pub fn cap_by<F>(self, cap: F) -> Self
    where
        F: Fn(&request::Parts) -> Option<Duration> + Send + Sync + 'static,
    {
        Self { cap_by: Some(Hook(Arc::new(cap))), ..self }
    }

    /// Gives `time` to a request whose caller has no deadline. A caller may ask for more, up to the
    /// [cap](Self::cap).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let settings = tach_tower::Settings::new()
    ///     .default_time(Duration::from_secs(5))
    ///     .cap(Duration::from_secs(60));
    /// ```
    #[must_use]
    pub fn default_time(self, time: Duration) -> Self {
        Self { default_ns: ns(time), ..self }
    }

    /// Limits the time until the head of the response to `time`, and leaves its body alone: for
    /// downloads and for streams of events.
    ///
    /// A client's layer does not announce this limit, but only what limits the response with its
    /// body: to a peer, its header means the whole.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let settings = tach_tower::Settings::new().head(Duration::from_secs(5));
    /// ```
    #[must_use]
    pub fn head(self, time: Duration) -> Self {
        Self { head_ns: ns(time), ..self }
    }

    /// Limits the response's body to `time` after its head.
    ///
    /// It has no effect on a client of reqwest, whose bodies are its own.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let settings = tach_tower::Settings::new().body(Duration::from_secs(600));
    /// ```
    #[must_use]
    pub fn body(self, time: Duration) -> Self {
        Self { body_ns: ns(time), ..self }
    }

    /// Ends a response's body that pauses for longer than `time`. A pause is the time in which the
    /// server or the client waits for the body; a reader that is slow makes none.
    ///
    /// It has no effect on a client of reqwest, which has a `read_timeout`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let settings = tach_tower::Settings::new().idle(Duration::from_secs(30));
    /// ```
    #[must_use]
    pub fn idle(self, time: Duration) -> Self {
        Self { idle_ns: ns(time), ..self }
    }

    /// Subtracts `reserve` from the caller's deadline: for the way of a server's answer, or for the
    /// work that follows a client's call. A header that a client's request has already is the
    /// deadline of the call alone, and is not reduced.
    ///
    /// Reserve more than 2 ms for an answer of failure: a server's layer
    /// [replaces](crate::ResponseFuture) one that comes later.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let settings = tach_tower::Settings::new().reserve(Duration::from_millis(10));
    /// ```
    #[must_use]
    pub fn reserve(self, reserve: Duration) -> Self {
        Self { reserve_ns: ns(reserve), ..self }
    }

    /// Refuses a request that has less than `floor` at once, without a call of the inner service.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let settings = tach_tower::Settings::new().floor(Duration::from_millis(5));
    /// ```
    #[must_use]
    pub fn floor(self, floor: Duration) -> Self {
        Self { floor_ns: ns(floor), ..self }
    }

    /// Reads or writes the header `name`, for every peer. The first call replaces the headers of
    /// [`new`](Self::new), and each other call adds one.
    ///
    /// The least value counts, of all headers and of all that have the same name. An invalid value
    /// is ignored and [counted](crate::Stats::unparsable_headers). A client's call that has so
    /// little time that a header would say zero is refused: some peers take zero for no limit.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::HeaderName;
    /// use tach_tower::{Settings, Syntax};
    ///
    /// let name = HeaderName::from_static("x-envoy-expected-rq-timeout-ms");
    /// let settings = Settings::new().header(name, Syntax::Millis);
    /// ```
    #[must_use]
    pub fn header(self, name: HeaderName, syntax: Syntax) -> Self {
        self.with_header(name, Form::Known(syntax))
    }

    /// Like [`header`](Self::header), for a syntax of your own: `read` returns the time that a
    /// value allows, or `None` if it is invalid, and `write` the value for the time that is left,
    /// or `None` to leave the header out.
    ///
    /// # Examples
    ///
    /// Linkerd's header has durations of Go, such as `10s` and `250ms`:
    ///
    /// ```
    /// use std::time::Duration;
    /// use http::{HeaderName, HeaderValue};
    /// use tach_tower::Settings;
    ///
    /// fn read(value: &[u8]) -> Option<Duration> {
    ///     let text = std::str::from_utf8(value).ok()?;
    ///     if let Some(ms) = text.strip_suffix("ms") {
    ///         return ms.parse().ok().map(Duration::from_millis);
    ///     }
    ///     text.strip_suffix('s')?.parse().ok().map(Duration::from_secs)
    /// }
    ///
    /// fn write(left: Duration) -> Option<HeaderValue> {
    ///     HeaderValue::try_from(format!("{}ms", left.as_millis())).ok()
    /// }
    ///
    /// let name = HeaderName::from_static("l5d-request-timeout");
    /// let settings = Settings::new().header_by(name, read, write);
    /// ```
    #[must_use]
    pub fn header_by<R, W>(self, name: HeaderName, read: R, write: W) -> Self
    where
        R: Fn(&[u8]) -> Option<Duration> + Send + Sync + 'static,
        W: Fn(Duration) -> Option<HeaderValue> + Send + Sync + 'static,
    {
        let (read, write) = (Hook(Arc::new(read) as _), Hook(Arc::new(write) as _));
        self.with_header(name, Form::Own { read, write })
    }

    /// Answers an exhausted request of a server with this response instead of an empty 504, unless
    /// it speaks gRPC. A client's call fails with the [`Exhausted`] itself.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::{Response, StatusCode};
    /// use tach_tower::Settings;
    ///
    /// let settings = Settings::new().response(|exhausted| {
    ///     let mut response = Response::new(format!("{exhausted}\n").into());
    ///     *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    ///     response
    /// });
    /// ```
    #[must_use]
    pub fn response<F>(self, response: F) -> Self
    where
        F: Fn(&Exhausted) -> Response<Bytes> + Send + Sync + 'static,
    {
        Self { response: Some(Hook(Arc::new(response))), ..self }
    }

    fn with_header(mut self, name: HeaderName, form: Form) -> Self {
        let header = Header { name, form, is_default: false };
        for headers in &mut self.headers {
            headers.retain(|old| !old.is_default && old.name != header.name);
            headers.push(header.clone());
        }
        self
    }
}

/// Returns nanoseconds. Limits are compared for each request, and one word is compared faster than
/// the two of a `Duration`.
pub(crate) fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Default for Settings {
    fn default() -> Self {
        Self::new()
    }
}
