//! A request that is open: its span, and the attributes recorded at its end.

use core::fmt::Display;
use std::sync::Arc;

use http::{Extensions, HeaderMap, Method, StatusCode};
use tach_log::Value;
use tach_pipeline::adapter::set_attributes;
use tach_tower::Exhausted;
use tracing::{Span, span};

use crate::current::{self, CLIENT, KNOWS_ROUTE, Outer, Passed, SERVER};
use crate::failure::Failure;
use crate::grpc::{self, Protocol};
use crate::method;

/// A request whose span is open. If it is dropped before it is over, the request was cancelled, or
/// its handler panics.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) span: Span,
    /// What the calls of this task pass on.
    pub(crate) passed: Option<Arc<Passed>>,
    /// The method that a server's gRPC request asks for, until the server has shown that it exists.
    pub(crate) rpc: Option<Box<str>>,
    kind: Kind,
    has_route: bool,
    /// Whether the span has gRPC's status.
    has_status: bool,
    /// Whether the service or the body runs. If the request is dropped meanwhile, that panics.
    is_running: bool,
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
    pub(crate) fn new(span: Span, kind: Kind, method: &Method, has_route: bool) -> Self {
        if kind.method == method::OTHER {
            span.record("http.request.method_original", method.as_str());
        }
        let (passed, rpc, stage) = (None, None, Stage::Called);
        Self { span, passed, rpc, kind, has_route, has_status: false, is_running: false, stage }
    }

    /// Calls `poll`, which calls the service or polls, within the request.
    #[inline]
    pub(crate) fn during<R>(&mut self, poll: impl FnOnce() -> R) -> R {
        self.is_running = true;
        let side = if self.kind.is_client { CLIENT } else { SERVER };
        let flags = side | if self.has_route { KNOWS_ROUTE } else { 0 };
        let outer = Outer::enter(flags, self.passed.as_ref());
        let entered = Entered { open: self, outer, _span: self.span.enter() };
        let result = poll();
        let has_found = current::has_route();
        drop(entered);
        self.has_route |= has_found;
        self.is_running = false;
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
        let exhausted = extensions.get::<Exhausted>();
        if self.rpc.is_some() {
            self.answered_rpc(headers, exhausted.is_some_and(Exhausted::is_refused));
        }
        if self.kind.protocol == Protocol::Http {
            let code = ("http.response.status_code", Value::I64(status.as_u16().into()));
            let least = if self.kind.is_client { 400 } else { 500 };
            if status.as_u16() < least {
                self.set(&[code]);
            } else {
                self.fail(status.as_str(), None, &[code]);
            }
        } else if let Some(status) = grpc::status(headers).or_else(|| grpc::of_http(status)) {
            self.record_status(status);
        }
        if let Some(exhausted) = exhausted {
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
    }

    /// Records the method that a caller of gRPC asked for, if the response is one of that method. Any
    /// caller can choose the header by which the request is one of gRPC, and the name.
    fn answered_rpc(&mut self, headers: &HeaderMap, is_refused: bool) {
        match grpc::status(headers) {
            None if Protocol::of(&Method::POST, headers) == Protocol::Http => {
                self.kind.protocol = Protocol::Http;
            }
            status if is_refused || status == Some(grpc::UNIMPLEMENTED) => {}
            _ => {
                let rpc = self.rpc.take().unwrap_or_default();
                self.set(&[("rpc.method", Value::Str(&rpc)), ("otel.name", Value::Str(&rpc))]);
            }
        }
    }

    /// Records an error in place of a response, or of the rest of its body, and ends the request.
    #[cold]
    pub(crate) fn failed<E: Display + 'static>(mut self, error: &E) {
        let Failure { kind, description, exhausted } = Failure::of(error, self.kind.is_client);
        let status = if kind == "timeout" { grpc::DEADLINE_EXCEEDED } else { grpc::UNAVAILABLE };
        let description = Some(&*description).filter(|text| !text.is_empty());
        self.fail_without_status(kind, description, status);
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

    /// Records an error that no response says. `status` is its code in gRPC.
    fn fail_without_status(&self, kind: &str, description: Option<&str>, status: &'static str) {
        let code = ("rpc.response.status_code", Value::Str(status));
        let is_rpc = self.kind.protocol != Protocol::Http && !self.has_status;
        self.fail(kind, description, &[code][usize::from(!is_rpc)..]);
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
        if self.is_running {
            return self.fail_without_status("panic", Some("panicked"), grpc::UNKNOWN);
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
        if let Some(rpc) = &self.rpc {
            let other = ("rpc.method", Value::Str(method::OTHER));
            self.set(&[other, ("rpc.method_original", Value::Str(rpc))]);
        }
    }
}

/// A request while its service or its body runs.
struct Entered<'a> {
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
