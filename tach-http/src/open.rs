//! A request that is open: its span, and the attributes recorded at its end.

use core::fmt::Display;
use std::sync::Arc;

use http::{HeaderMap, Method, Response, StatusCode};
use tach_log::Value;
use tach_pipeline::adapter::{record_times, set_attributes};
use tach_tower::adapter::{Protocol, replace_arrived};
use tach_tower::{Budget, Exhausted};
use tracing::{Span, span};

use crate::current::{CLIENT, KNOWS_ROUTE, Outer, Passed, SERVER};
use crate::failure::Failure;
use crate::grpc;
use crate::method::{self, version};

/// A request whose span is open. If it is dropped before it is over, the request was cancelled, or
/// its handler panics.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) span: Span,
    /// What the calls of this task pass on.
    pub(crate) passed: Option<Arc<Passed>>,
    /// The span's name: HTTP's method and the route, or gRPC's method. `None` without a route, and
    /// of a gRPC client.
    name: Option<Box<str>>,
    /// Whether the name is a method of gRPC that the caller claims. The span gets the name once the
    /// server has shown that the method exists.
    is_claim: bool,
    kind: Kind,
    /// The budget of a layer inside, until the answer.
    arrived: Option<Budget>,
    /// Whether the span has gRPC's status.
    has_status: bool,
    /// Whether the service or the body runs. If the request is dropped while it runs, it panicked.
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
    /// One of the methods that are known.
    pub(crate) method: &'static str,
    pub(crate) is_head: bool,
    pub(crate) protocol: Protocol,
}

impl Kind {
    #[inline]
    pub(crate) fn new(is_client: bool, method: &Method, protocol: Protocol) -> Self {
        let is_head = method == Method::HEAD;
        Self { is_client, method: method::known(method), is_head, protocol }
    }
}

impl Open {
    #[inline]
    pub(crate) fn new(span: Span, kind: Kind, method: &Method, name: Option<String>) -> Self {
        if kind.method == method::OTHER {
            span.record("http.request.method_original", method.as_str());
        }
        Self {
            span,
            passed: None,
            is_claim: kind.protocol != Protocol::Http && name.is_some(),
            name: name.map(String::into_boxed_str),
            kind,
            arrived: None,
            has_status: false,
            is_running: false,
            stage: Stage::Called,
        }
    }

    /// Calls `poll`, which calls the service or polls, within the request.
    #[inline]
    pub(crate) fn during<R>(&mut self, poll: impl FnOnce() -> R) -> R {
        self.is_running = true;
        let side = if self.kind.is_client { CLIENT } else { SERVER };
        let flags = side | if self.name.is_some() { KNOWS_ROUTE } else { 0 };
        let outer = Outer::enter(flags, self.passed.as_ref());
        let around = replace_arrived(None);
        let Self { span, kind, name, arrived, .. } = self;
        let entered = Entered { span, kind, name, arrived, around, outer, _inside: span.enter() };
        let result = poll();
        drop(entered);
        self.is_running = false;
        result
    }

    /// Records how much time a request with a limit had: on arrival, and if it is answered now.
    fn record_left(&mut self, is_answered: bool) {
        let Some(budget) = self.arrived.take() else { return };
        let times = [
            ("tach.budget.left_on_arrival", budget.total()),
            ("tach.budget.left_at_answer", budget.remaining()),
        ];
        let name = self.name.as_deref().filter(|_| !self.is_claim);
        let by = match self.kind.protocol {
            Protocol::Http => name.and_then(|name| Some(("http.route", name.split_once(' ')?.1))),
            _ => name.map(|name| ("rpc.method", name)),
        };
        let by = by.map(|(key, text)| (key, Value::Str(text)));
        record_times(&self.span, &times[..=usize::from(is_answered)], by.as_slice());
    }

    /// Records the head of the response. Returns whether there is no body to wait for.
    #[inline]
    pub(crate) fn answered<B>(&mut self, response: &Response<B>) -> bool {
        let (status, headers) = (response.status(), response.headers());
        let exhausted = response.extensions().get::<Exhausted>();
        if self.is_claim {
            self.answered_rpc(headers, exhausted.is_some_and(Exhausted::is_refused));
        }
        if self.kind.protocol == Protocol::Http {
            let version = ("network.protocol.version", Value::Str(version(response.version())));
            let code = ("http.response.status_code", Value::I64(status.as_u16().into()));
            // A server's span contains the request's version already.
            let (least, late) = if self.kind.is_client { (400, 0) } else { (500, 1) };
            let late = &[version, code][late..];
            if status.as_u16() < least {
                set(&self.span, late);
            } else {
                self.fail(status.as_str(), None, late);
            }
        } else if let Some(status) = grpc::status(headers).or_else(|| grpc::of_http(status)) {
            self.record_status(status);
        }
        if let Some(exhausted) = exhausted {
            self.record_outcome(exhausted);
        }
        self.record_left(true);
        self.stage = Stage::Answered;
        let has_body = !self.kind.is_head
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
            set(&self.span, &[code]);
        }
    }

    /// Records the method that a caller of gRPC asked for, if the response is one of that method.
    /// Any caller can choose the header by which the request is one of gRPC, and the name.
    fn answered_rpc(&mut self, headers: &HeaderMap, is_refused: bool) {
        match grpc::status(headers) {
            None if Protocol::of(&Method::POST, headers) == Protocol::Http => {
                self.kind.protocol = Protocol::Http;
            }
            status if is_refused || status == Some(grpc::UNIMPLEMENTED) => {}
            _ => {
                let rpc = Value::Str(self.name.as_deref().unwrap_or_default());
                set(&self.span, &[("rpc.method", rpc), ("otel.name", rpc)]);
                self.is_claim = false;
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
        self.record_left(true);
        self.stage = Stage::Over;
    }

    fn record_outcome(&self, exhausted: &Exhausted) {
        let outcome = match self.stage {
            _ if exhausted.is_refused() => "refused",
            Stage::Called => "exhausted",
            Stage::Answered | Stage::Over => "ended_body",
        };
        set(&self.span, &[("tach.budget.outcome", Value::Str(outcome))]);
    }

    /// Records an error of a kind, one of few texts, beside other attributes.
    #[cold]
    fn fail(&self, kind: &str, description: Option<&str>, more: &[(&'static str, Value<'_>)]) {
        let mut all = more.to_vec();
        all.extend([("otel.status_code", Value::Str("error")), ("error.type", Value::Str(kind))]);
        all.extend(description.map(|text| ("otel.status_description", Value::Str(text))));
        set(&self.span, &all);
    }

    /// Records an error for which there is no response. `status` is its code in gRPC.
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

    /// Ends the request whose body was dropped before it reported its end. `may_be` says whether
    /// the peer may have the whole body. A client's program need not read a body, but gRPC counts
    /// that as cancelled.
    pub(crate) fn end_dropped(mut self, may_be: bool) {
        if may_be || self.kind.is_client && self.kind.protocol == Protocol::Http {
            self.stage = Stage::Over;
        }
    }

    #[cold]
    fn cancelled(&mut self) {
        self.record_left(false);
        if self.is_running {
            return self.fail_without_status("panic", Some("panicked"), grpc::UNKNOWN);
        }
        // The span ends when a thread leaves it for the last time, which is now.
        let span = self.span.clone();
        let _entered = span.enter();
        if self.kind.protocol != Protocol::Grpc {
            self.fail("cancelled", None, &[]);
        } else if !self.has_status {
            self.record_status(grpc::CANCELLED);
        }
    }
}

impl Drop for Open {
    #[inline]
    fn drop(&mut self) {
        if self.stage != Stage::Over {
            self.cancelled();
        }
        if self.is_claim {
            let other = ("rpc.method", Value::Str(method::OTHER));
            let rpc = Value::Str(self.name.as_deref().unwrap_or_default());
            set(&self.span, &[other, ("rpc.method_original", rpc)]);
        }
    }
}

/// A request while its service or its body runs, which may panic.
struct Entered<'a> {
    span: &'a Span,
    kind: &'a Kind,
    name: &'a mut Option<Box<str>>,
    arrived: &'a mut Option<Budget>,
    /// The budget that arrived for a request around this one.
    around: Option<Budget>,
    outer: Outer,
    _inside: span::Entered<'a>,
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        let arrived = replace_arrived(self.around);
        if !self.kind.is_client && self.arrived.is_none() {
            *self.arrived = arrived;
        }
        let route = self.outer.leave();
        if let Some(route) = route.filter(|_| self.kind.protocol == Protocol::Http) {
            let name = [method::in_name(self.kind.method), " ", &*route].concat();
            let route = ("http.route", Value::Str(&route));
            set(self.span, &[route, ("otel.name", Value::Str(&name))]);
            *self.name = Some(name.into());
        }
    }
}

/// Sets attributes, which the span has declared as fields.
#[inline]
fn set(span: &Span, attributes: &[(&'static str, Value<'_>)]) {
    if !set_attributes(span, attributes) {
        record(span, attributes);
    }
}

/// Records attributes for a subscriber other than the pipeline's own.
#[cold]
fn record(span: &Span, attributes: &[(&'static str, Value<'_>)]) {
    for (key, value) in attributes {
        match value {
            Value::Str(text) => span.record(*key, *text),
            Value::I64(number) => span.record(*key, *number),
            _ => continue,
        };
    }
}
