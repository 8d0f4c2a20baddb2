//! In place of the bridge to `opentelemetry`, without its feature.
#![expect(
    clippy::unnecessary_wraps,
    clippy::unused_self,
    reason = "the calls are those of the room in whose place it is"
)]

use tracing_core::Metadata;
use tracing_core::span::Attributes;

use crate::frame::Origin;
use crate::ids::SpanContext;
use crate::pipeline::Pipeline;
use crate::shared::Shared;
use crate::trace::Contexts;
use crate::trace::key::Key;
use crate::trace::otel::active::Active;
use crate::trace::w3c::TraceContext;

/// What a span that starts takes from the thread's context: nothing.
pub(super) struct Surroundings {
    pub(super) attached: Option<SpanContext>,
    pub(super) foreign: Option<(TraceContext, Origin)>,
    pub(super) is_active: bool,
    pub(super) values: (),
}

impl Shared {
    #[inline]
    pub(super) fn surroundings(&self, _: &Attributes<'_>) -> Option<Surroundings> {
        Some(Surroundings { attached: None, foreign: None, is_active: false, values: () })
    }
}

impl Pipeline {
    #[inline]
    pub(super) fn keep_context(
        &self,
        _: Key,
        _: &'static Metadata<'static>,
        _: SpanContext,
        _: Option<SpanContext>,
        _: bool,
        (): (),
    ) {
    }

    #[inline]
    pub(super) fn renew_context(&self, _: Key, _: SpanContext, _: Option<&()>) {}
}

#[inline]
pub(super) fn activate(_: &Contexts, _: SpanContext, _: bool) -> Active {
    Active::leave()
}
