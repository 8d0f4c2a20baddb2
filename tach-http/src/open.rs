//! A request that is open: its span, and what the span is told at the end.

use core::fmt::Display;
use std::sync::Arc;
use std::thread;

use http::{Extensions, HeaderMap, HeaderValue, StatusCode};
use tach_log::Value;
use tach_pipeline::adapter::set_attributes;
use tach_tower::Exhausted;
use tracing::{Span, span};

use crate::current::{self, CLIENT, KNOWS_ROUTE, Outer, SERVER};
use crate::failure::Failure;
use crate::grpc::{self, Protocol};
use crate::method;

/// A request whose span is open. If it is dropped before it is over, the request was cancelled, or
/// its handler panics.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) span: Span,
    /// What the caller passes on to the calls of this task.
    pub(crate) baggage: Option<Arc<HeaderValue>>,
    /// The method that a server's gRPC request asks for.
    pub(crate) rpc: Option<Box<str>>,
    kind: Kind,
    has_route: bool,
    /// Whether the span has gRPC's status.
    has_status: bool,
    stage: Stage,
}

/// How far a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Called,
    /// The response has begun.
    Answered,
    Over,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) is_client: bool,
    /// One of the methods that HTTP defines.
    pub(crate) method: &'static str,
    pub(crate) protocol: Protocol,
}

impl Open {
    #[inline]
    pub(crate) fn new(span: Span, kind: Kind, has_route: bool) -> Self {
        let (baggage, rpc, has_status, stage) = (None, None, false, Stage::Called);
        Self { span, baggage, rpc, kind, has_route, has_status, stage }
    }

    /// Enters the span, and makes the request the current one.
    #[inline]
    pub(crate) fn enter(&self) -> Entered<'_> {
        let side = if self.kind.is_client { CLIENT } else { SERVER };
        let flags = side | if self.has_route { KNOWS_ROUTE } else { 0 };
        let outer = Outer::enter(flags, self.baggage.as_ref());
        Entered { open: self, outer, _span: self.span.enter() }
    }

    /// Calls `poll` within the request.
    #[inline]
    pub(crate) fn during<R>(&mut self, poll: impl FnOnce() -> R) -> R {
        let entered = self.enter();
        let result = poll();
        let has_found = current::has_route();
        drop(entered);
        self.has_route |= has_found;
        result
    }

    fn record_route(&self, route: &str) {
        let name = [method::in_name(self.kind.method), " ", route].concat();
        self.set(&[("http.route", Value::Str(route)), ("otel.name", Value::Str(&name))]);
    }

    /// Sets attributes, which the span has declared as fields.
    #[inline]
    fn set(&self, attributes: &[(&'static str, Value<'_>)]) {
        if !set_attributes(&self.span, attributes) {
            self.record(attributes);
        }
    }

    /// Records attributes for a subscriber other than the pipeline's own.
    #[cold]
    fn record(&self, attributes: &[(&'static str, Value<'_>)]) {
        for (key, value) in attributes {
            match value {
                Value::Str(text) => self.span.record(*key, *text),
                Value::I64(number) => self.span.record(*key, *number),
                _ => continue,
            };
        }
    }

    /// Records the head of the response. Returns whether there is no body to wait for.
    #[inline]
    pub(crate) fn answered(
        &mut self,
        status: StatusCode,
        headers: &HeaderMap,
        extensions: &Extensions,
    ) -> bool {
        if self.kind.protocol == Protocol::Http {
            let code = ("http.response.status_code", Value::I64(status.as_u16().into()));
            let least = if self.kind.is_client { 400 } else { 500 };
            if status.as_u16() < least {
                self.set(&[code]);
            } else {
                self.fail(status.as_str(), None, &[code]);
            }
        } else {
            self.trailers(headers);
        }
        if let Some(exhausted) = extensions.get::<Exhausted>() {
            self.record_outcome(exhausted);
        }
        self.stage = Stage::Answered;
        let has_body = self.kind.method != "HEAD"
            && !status.is_informational()
            && !matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        self.has_status || !has_body
    }

    /// Records the status of gRPC, if these are its trailers.
    pub(crate) fn trailers(&mut self, trailers: &HeaderMap) {
        if self.kind.protocol != Protocol::Http {
            if let Some(status) = grpc::status(trailers) {
                self.record_status(status);
            }
        }
    }

    fn record_status(&mut self, status: &'static str) {
        self.has_status = true;
        let code = ("rpc.response.status_code", Value::Str(status));
        let is_error =
            if self.kind.is_client { status != "OK" } else { grpc::is_server_error(status) };
        if is_error {
            self.fail(status, None, &[code]);
        } else {
            self.set(&[code]);
        }
        if let (grpc::UNIMPLEMENTED, Some(rpc)) = (status, self.rpc.take()) {
            // Most likely no handler has this name, and any caller can choose one.
            self.set(&[
                ("rpc.method", Value::Str(method::OTHER)),
                ("rpc.method_original", Value::Str(&rpc)),
                ("otel.name", Value::Str("grpc")),
            ]);
        }
    }

    /// Records an error in place of a response, or of the rest of its body, and ends the request.
    #[cold]
    pub(crate) fn failed<E: Display + 'static>(mut self, error: &E) {
        let Failure { kind, description, exhausted } = Failure::of(error, self.kind.is_client);
        self.fail(kind, Some(&*description).filter(|text| !text.is_empty()), &[]);
        if let Some(exhausted) = exhausted {
            self.record_outcome(exhausted);
        }
        self.stage = Stage::Over;
    }

    fn record_outcome(&self, exhausted: &Exhausted) {
        let outcome = match self.stage {
            _ if exhausted.is_refused() => "refused",
            Stage::Called => "exhausted",
            Stage::Answered | Stage::Over => "ended_body",
        };
        self.set(&[("tach.budget.outcome", Value::Str(outcome))]);
    }

    /// Records an error of a kind, one of few texts, beside other attributes.
    #[cold]
    fn fail(&self, kind: &str, description: Option<&str>, more: &[(&'static str, Value<'_>)]) {
        let mut all = more.to_vec();
        all.extend([("otel.status_code", Value::Str("error")), ("error.type", Value::Str(kind))]);
        all.extend(description.map(|text| ("otel.status_description", Value::Str(text))));
        self.set(&all);
    }

    /// Ends the request.
    #[inline]
    pub(crate) fn end(mut self) {
        if self.kind.protocol == Protocol::Grpc && !self.has_status {
            self.record_status(grpc::UNKNOWN);
        }
        self.stage = Stage::Over;
    }

    /// Ends the request whose body was dropped before it said its end. `may_be` says whether the
    /// peer had all of it. A client's program need not read a body, while gRPC calls that cancelled.
    pub(crate) fn end_dropped(mut self, may_be: bool) {
        if may_be || self.kind.is_client && self.kind.protocol == Protocol::Http {
            self.stage = Stage::Over;
        }
    }

    #[cold]
    fn cancelled(&mut self) {
        if thread::panicking() {
            return self.fail("panic", Some("panicked"), &[]);
        }
        // The span ends when a thread leaves it for the last time, which is now.
        let span = self.span.clone();
        let _entered = span.enter();
        if self.kind.protocol == Protocol::Grpc {
            if !self.has_status {
                self.record_status(grpc::CANCELLED);
            }
        } else {
            self.fail("cancelled", None, &[]);
        }
    }
}

impl Drop for Open {
    #[inline]
    fn drop(&mut self) {
        if self.stage != Stage::Over {
            self.cancelled();
        }
    }
}

/// A request while its service or its body runs.
pub(crate) struct Entered<'a> {
    open: &'a Open,
    outer: Outer,
    _span: span::Entered<'a>,
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(route) = self.outer.leave() {
            self.open.record_route(&route);
        }
    }
}
