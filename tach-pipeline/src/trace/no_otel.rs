//! In place of the contexts of `opentelemetry`, without its feature.

pub(crate) mod active {
    use crate::ids::SpanContext;

    /// How a thread entered a span: nothing else changes then.
    pub(crate) struct Active;

    impl Active {
        #[inline]
        pub(crate) fn leave() -> Self {
            Self
        }
    }

    #[inline]
    pub(crate) fn span(_: bool) -> Option<SpanContext> {
        None
    }
}
