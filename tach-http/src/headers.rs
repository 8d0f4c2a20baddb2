//! W3C's headers, whose values tach-pipeline reads and writes.

use core::fmt::Write as _;

use http::{HeaderMap, HeaderName, HeaderValue};
use tach_pipeline::TraceContext;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");
pub(crate) const BAGGAGE: HeaderName = HeaderName::from_static("baggage");
/// The most bytes that are passed on: W3C's recommendation asks for no more.
const MOST_BAGGAGE: usize = 8192;

/// What a server reads of a request's headers. One pass finds all three: three look-ups cost more
/// than ten comparisons.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen<'a> {
    pub(crate) host: Option<&'a str>,
    /// `None` if there are several.
    parent: Option<&'a str>,
    has_parent: bool,
    has_baggage: bool,
}

impl<'a> Seen<'a> {
    #[inline]
    pub(crate) fn of(headers: &'a HeaderMap) -> Self {
        let mut seen = Self::default();
        for (name, value) in headers {
            match name.as_str() {
                "host" => seen.host = seen.host.or(value.to_str().ok()),
                "traceparent" => {
                    seen.parent = value.to_str().ok().filter(|_| !seen.has_parent);
                    seen.has_parent = true;
                }
                "baggage" => seen.has_baggage = true,
                _ => {}
            }
        }
        seen
    }

    /// Returns the caller's span.
    #[inline]
    pub(crate) fn parent(&self, headers: &HeaderMap) -> Option<TraceContext> {
        let parent = self.parent?;
        let states = headers.get_all(TRACESTATE).iter().filter_map(|it| it.to_str().ok());
        TraceContext::from_headers(parent, &states.collect::<Vec<_>>().join(","))
    }

    /// Returns the caller's baggage unchanged, but joined if a proxy has split it. Returns `None`
    /// if it is too long: a part of it would be another baggage.
    #[inline]
    pub(crate) fn baggage(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        if !self.has_baggage {
            return None;
        }
        let all: Vec<_> = headers.get_all(BAGGAGE).iter().map(HeaderValue::as_bytes).collect();
        let all = Some(all.join(&b',')).filter(|all| all.len() <= MOST_BAGGAGE)?;
        HeaderValue::from_bytes(&all).ok()
    }
}

/// Returns the number of bytes of a response's body after which a server may drop it, if the
/// headers say so. hyper drops a body after as many bytes as the header says, without a look at its
/// end. A stream of events has no end, so its caller leaves when it likes.
#[inline]
pub(crate) fn bytes_to_send(headers: &HeaderMap) -> Option<u64> {
    headers.iter().find_map(|(name, value)| match name.as_str() {
        "content-length" => value.to_str().ok()?.parse().ok(),
        "content-type" => value.as_bytes().starts_with(b"text/event-stream").then_some(0),
        _ => None,
    })
}

/// Makes the span the parent of the next service's span.
pub(crate) fn write_parent(context: &TraceContext, headers: &mut HeaderMap) {
    let mut text = String::with_capacity("00-".len() + 32 + "-".len() + 16 + "-00".len());
    let _no_error = write!(text, "{context}");
    if let Ok(value) = HeaderValue::try_from(text) {
        headers.insert(TRACEPARENT, value);
    }
    // Replace the state too: it belongs to the parent, and another parent's would be wrong.
    match HeaderValue::from_str(context.tracestate()) {
        Ok(state) if !state.is_empty() => _ = headers.insert(TRACESTATE, state),
        _ => _ = headers.remove(TRACESTATE),
    }
}
