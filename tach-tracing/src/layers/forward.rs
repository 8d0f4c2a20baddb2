//! Methods that a layer around another one forwards unchanged.

mod downcast;

pub(super) use self::downcast::downcast_to;

/// Forwards to the layer in the given field every method of
/// [`Layer`](tracing_subscriber::Layer) that reports no moment.
macro_rules! forward_to {
    ($layer:ident) => {
        fn on_register_dispatch(&self, subscriber: &tracing_core::Dispatch) {
            self.$layer.on_register_dispatch(subscriber);
        }

        fn on_layer(&mut self, subscriber: &mut S) {
            self.$layer.on_layer(subscriber);
        }

        #[inline]
        fn register_callsite(
            &self,
            metadata: &'static tracing_core::Metadata<'static>,
        ) -> tracing_core::Interest {
            self.$layer.register_callsite(metadata)
        }

        #[inline]
        fn enabled(
            &self,
            metadata: &tracing_core::Metadata<'_>,
            context: tracing_subscriber::layer::Context<'_, S>,
        ) -> bool {
            self.$layer.enabled(metadata, context)
        }

        #[inline]
        fn max_level_hint(&self) -> Option<tracing_core::LevelFilter> {
            self.$layer.max_level_hint()
        }

        #[inline]
        fn on_record(
            &self,
            id: &tracing_core::span::Id,
            values: &tracing_core::span::Record<'_>,
            context: tracing_subscriber::layer::Context<'_, S>,
        ) {
            self.$layer.on_record(id, values, context);
        }

        #[inline]
        fn on_follows_from(
            &self,
            id: &tracing_core::span::Id,
            follows: &tracing_core::span::Id,
            context: tracing_subscriber::layer::Context<'_, S>,
        ) {
            self.$layer.on_follows_from(id, follows, context);
        }

        #[inline]
        fn event_enabled(
            &self,
            event: &tracing_core::Event<'_>,
            context: tracing_subscriber::layer::Context<'_, S>,
        ) -> bool {
            self.$layer.event_enabled(event, context)
        }

        #[inline]
        fn on_id_change(
            &self,
            old: &tracing_core::span::Id,
            new: &tracing_core::span::Id,
            context: tracing_subscriber::layer::Context<'_, S>,
        ) {
            self.$layer.on_id_change(old, new, context);
        }

        $crate::layers::forward::downcast_to!($layer);
    };
}

pub(super) use forward_to;
