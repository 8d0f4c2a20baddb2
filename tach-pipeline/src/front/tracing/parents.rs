//! Which span is the parent of a span that starts.

use crate::frame::Origin;
use crate::ids::SpanContext;
use crate::trace::w3c::TraceContext;

/// The spans that may be the parent of a span that starts. [`decide`](Self::decide) chooses among
/// them.
#[derive(Debug, PartialEq)]
pub(super) struct Parents {
    /// The pipeline's span that contains the span. At first it is the one that the program names,
    /// or else the one that the thread is in.
    pub(super) own: Option<SpanContext>,
    /// A span that the pipeline does not record. If it is trusted, it is the parent in place of
    /// `own`. Otherwise the span is linked to it. At first it is a span of an SDK or of another
    /// process in the current context of `opentelemetry`.
    pub(super) elsewhere: Option<(TraceContext, Origin)>,
    /// Whether `elsewhere` may be the parent. At first it says whether a remote span may be.
    pub(super) is_trusted: bool,
}

impl Parents {
    /// Chooses among all candidates. `attached` is the pipeline's span in the current context of
    /// `opentelemetry`, and the id of the nearest span of `tracing` that it is or is in. `in_scope`
    /// returns the parent that [`TraceContext::in_scope`] has set, which counts if the span is
    /// within no other of this process.
    #[inline]
    pub(super) fn decide(
        &mut self,
        attached: Option<(SpanContext, u64)>,
        in_scope: impl FnOnce() -> Option<TraceContext>,
    ) {
        // A context contains only the `tracing` spans at the boundaries of the service. In the same
        // trace, such a span is an ancestor of the thread's span, which is nearer then. A tracer's
        // span is nearer only if it was started in the thread's span.
        if let Some((attached, nearest)) = attached {
            let is_nearer = |own: SpanContext| own.trace != attached.trace || own.span == nearest;
            if self.own.is_none_or(is_nearer) {
                self.own = Some(attached);
            }
        }
        // A context contains only the ids of an unsampled boundary span, which therefore looks like
        // a span of another library. In the same trace, it is an ancestor of `own`: ignore it.
        if let (Some(own), Some((span, Origin::Local))) = (&self.own, &self.elsewhere) {
            if own.trace == span.trace_id() && !span.context().is_sampled {
                self.elsewhere = None;
            }
        }
        let is_within = self.own.is_some() || matches!(self.elsewhere, Some((_, Origin::Local)));
        if !is_within {
            if let Some(span) = in_scope() {
                self.elsewhere = Some((span, Origin::Remote));
            }
        }
        self.is_trusted |= !matches!(self.elsewhere, Some((_, Origin::Remote)));
    }

    /// Returns the ids of the parent, from which the span takes its trace.
    #[inline]
    pub(super) fn origin(&self) -> Option<SpanContext> {
        match &self.elsewhere {
            Some((span, _)) if self.is_trusted => Some(span.context()),
            _ => self.own,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn own(trace: u128, span: u64) -> SpanContext {
        SpanContext { trace, span, is_sampled: true }
    }

    fn elsewhere(span: u64) -> TraceContext {
        TraceContext::of(SpanContext { trace: 9, span, is_sampled: true }, false, None)
    }

    fn decide(
        within: Option<SpanContext>,
        attached: Option<SpanContext>,
        foreign: Option<(TraceContext, Origin)>,
        in_scope: Option<TraceContext>,
    ) -> Parents {
        let mut parents = Parents { own: within, elsewhere: foreign, is_trusted: true };
        parents.decide(attached.map(|it| (it, it.span)), || in_scope);
        parents
    }

    /// Each of the six ways to a parent, alone and beside those that it takes precedence over.
    #[test]
    fn a_span_has_the_parent_of_the_first_way_that_leads_to_one() {
        let (sdk, remote) =
            (Some((elsewhere(4), Origin::Local)), Some((elsewhere(4), Origin::Remote)));
        let scope = Some(elsewhere(5));
        let by_scope = Some((elsewhere(5), Origin::Remote));
        let unsampled = |trace| {
            let context = SpanContext { trace, span: 4, is_sampled: false };
            Some((TraceContext::of(context, false, None), Origin::Local))
        };
        for (name, parents, expected, origin) in [
            ("none", decide(None, None, None, None), (None, None), None),
            // Ways 1 and 2: the span that the program names, or that the thread is in.
            ("within", decide(Some(own(1, 1)), None, None, None), (Some(own(1, 1)), None), Some(1)),
            (
                "rather than in scope",
                decide(Some(own(1, 1)), None, None, scope.clone()),
                (Some(own(1, 1)), None),
                Some(1),
            ),
            // Way 3: the pipeline's span in the context.
            (
                "attached",
                decide(None, Some(own(2, 2)), None, None),
                (Some(own(2, 2)), None),
                Some(2),
            ),
            (
                "rather than in another trace",
                decide(Some(own(1, 1)), Some(own(2, 2)), None, scope.clone()),
                (Some(own(2, 2)), None),
                Some(2),
            ),
            (
                "but not in the same trace",
                decide(Some(own(1, 1)), Some(own(1, 2)), None, None),
                (Some(own(1, 1)), None),
                Some(1),
            ),
            // Way 4: a span of an SDK in the context, or an unsampled span of the pipeline, which
            // looks like a span of an SDK.
            ("SDK", decide(None, None, sdk.clone(), None), (None, sdk.clone()), Some(4)),
            (
                "SDK rather than in scope",
                decide(None, None, sdk.clone(), scope.clone()),
                (None, sdk),
                Some(4),
            ),
            (
                "not sampled, rather than in scope",
                decide(None, None, unsampled(9), scope.clone()),
                (None, unsampled(9)),
                Some(4),
            ),
            (
                "but not if it is not sampled and in the same trace",
                decide(Some(own(9, 1)), None, unsampled(9), None),
                (Some(own(9, 1)), None),
                Some(1),
            ),
            (
                "not sampled, in another trace",
                decide(Some(own(1, 1)), None, unsampled(9), None),
                (Some(own(1, 1)), unsampled(9)),
                Some(4),
            ),
            // Way 5: the remote parent in scope.
            (
                "in scope",
                decide(None, None, None, scope.clone()),
                (None, by_scope.clone()),
                Some(5),
            ),
            (
                "rather than remote",
                decide(None, None, remote.clone(), scope.clone()),
                (None, by_scope),
                Some(5),
            ),
            // Way 6: a span of another process in the context.
            ("remote", decide(None, None, remote.clone(), None), (None, remote.clone()), Some(4)),
            (
                "rather than within",
                decide(Some(own(1, 1)), None, remote.clone(), scope),
                (Some(own(1, 1)), remote),
                Some(4),
            ),
        ] {
            assert_eq!(parents.origin().map(|parent| parent.span), origin, "{name}");
            let (own, elsewhere) = expected;
            assert_eq!(parents, Parents { own, elsewhere, is_trusted: true }, "{name}");
        }
    }

    #[test]
    fn a_span_of_a_tracer_is_nearer_than_the_span_that_it_is_in() {
        for (nearest, expected) in [(1, 2), (0, 1), (3, 1)] {
            let mut parents = Parents { own: Some(own(1, 1)), elsewhere: None, is_trusted: true };
            parents.decide(Some((own(1, 2), nearest)), || None);
            assert_eq!(parents.own, Some(own(1, expected)), "{nearest}");
        }
    }

    #[test]
    fn a_caller_that_is_not_trusted_is_no_parent() {
        let decide = |within, foreign, in_scope: Option<TraceContext>| {
            let mut parents = Parents { own: within, elsewhere: foreign, is_trusted: false };
            parents.decide(None, || in_scope);
            parents
        };
        let stranger = |own, span| {
            let elsewhere = Some((elsewhere(span), Origin::Remote));
            Parents { own, elsewhere, is_trusted: false }
        };
        let remote = Some((elsewhere(4), Origin::Remote));
        assert_eq!(decide(None, None, Some(elsewhere(5))), stranger(None, 5));
        assert_eq!(decide(None, remote.clone(), None), stranger(None, 4));
        assert_eq!(decide(Some(own(1, 1)), remote, None), stranger(Some(own(1, 1)), 4));
        let sdk = Some((elsewhere(4), Origin::Local));
        let trusted = Parents { own: None, elsewhere: sdk.clone(), is_trusted: true };
        assert_eq!(decide(None, sdk, None), trusted, "it is of this process");
    }
}
