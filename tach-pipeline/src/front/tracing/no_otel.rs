//! Stands in for the bridge to `opentelemetry` if that feature is off.
#![expect(
    clippy::unnecessary_wraps,
    clippy::unused_self,
    reason = "the calls are those of the room in whose place it is"
)]

use tracing_core::Metadata;
use tracing_core::span::Attributes;

use crate::frame::{Code, Origin};
use crate::ids::SpanContext;
use crate::pipeline::Pipeline;
use crate::shared::Shared;
use crate::trace::otel::Active;
use crate::trace::slots::Open;
use crate::trace::w3c::TraceContext;

/// What a span that starts takes from the thread's context: nothing.
pub(super) struct Surroundings {
    pub(super) attached: Option<(SpanContext, u64)>,
    pub(super) foreign: Option<(TraceContext, Origin)>,
    pub(super) is_active: bool,
    pub(super) values: (),
}

/// What the thread's context has for a span that starts: nothing.
#[derive(Clone, Copy)]
pub(super) struct Found;

impl Found {
    #[inline]
    pub(super) const fn is_around(self) -> bool {
        false
    }

    #[inline]
    pub(super) const fn is_active(self) -> bool {
        false
    }
}

impl Shared {
    #[inline]
    pub(super) const fn found(&self, _: &Attributes<'_>, _: Option<Code>) -> Found {
        Found
    }

    #[inline]
    pub(super) fn surroundings(
        &self,
        _: &Attributes<'_>,
        _: Option<Code>,
        _: Found,
    ) -> Option<Surroundings> {
        Some(Surroundings { attached: None, foreign: None, is_active: false, values: () })
    }
}

impl Pipeline {
    #[inline]
    #[expect(
        clippy::too_many_arguments,
        reason = "they are those of the room in whose place it is"
    )]
    pub(super) fn keep_context(
        &self,
        _: Open,
        _: &'static Metadata<'static>,
        _: SpanContext,
        _: Option<SpanContext>,
        _: bool,
        _: Option<Open>,
        (): (),
    ) {
    }

    #[inline]
    pub(super) fn keep_active_alone(
        &self,
        _: Open,
        _: &Attributes<'_>,
        _: SpanContext,
        _: Option<SpanContext>,
    ) {
    }

    #[inline]
    pub(super) fn renew_context(&self, _: Open, _: SpanContext, _: Option<&()>) {}

    pub(super) fn attach(&self, _: Open) -> Active {
        Active::leave()
    }
}
