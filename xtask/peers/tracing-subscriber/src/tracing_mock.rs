//! tracing-mock's names. A layer that expects events and spans is inside all layers of tach-tracing
//! that forward to another one.

pub use mock::{expect, subscriber};

pub mod layer {
    use std::fmt;

    use mock::event::ExpectedEvent;
    use mock::layer as inner;
    use mock::span::{ExpectedSpan, NewSpan};
    use mock::subscriber::MockHandle;
    use published::layer::Context;
    use published::registry::LookupSpan;
    use published::Layer;
    use tracing_core::span::{Attributes, Id, Record};
    use tracing_core::{Dispatch, Event, Interest, LevelFilter, Metadata, Subscriber};

    use crate::layer::{forwarded, Forwarded};

    pub type MockLayer = Forwarded<WithoutCloseTimes>;

    pub fn mock() -> MockLayerBuilder {
        MockLayerBuilder(inner::mock())
    }

    pub fn named(name: impl fmt::Display) -> MockLayerBuilder {
        MockLayerBuilder(inner::named(name))
    }

    pub struct MockLayerBuilder(inner::MockLayerBuilder);

    impl MockLayerBuilder {
        pub fn event(self, event: ExpectedEvent) -> Self {
            Self(self.0.event(event))
        }

        pub fn new_span(self, span: impl Into<NewSpan>) -> Self {
            Self(self.0.new_span(span))
        }

        pub fn enter(self, span: impl Into<ExpectedSpan>) -> Self {
            Self(self.0.enter(span))
        }

        pub fn exit(self, span: impl Into<ExpectedSpan>) -> Self {
            Self(self.0.exit(span))
        }

        pub fn on_register_dispatch(self) -> Self {
            Self(self.0.on_register_dispatch())
        }

        pub fn only(self) -> Self {
            Self(self.0.only())
        }

        pub fn run(self) -> MockLayer {
            forwarded(WithoutCloseTimes(self.0.run()))
        }

        pub fn run_with_handle(self) -> (MockLayer, MockHandle) {
            let (layer, handle) = self.0.run_with_handle();
            (forwarded(WithoutCloseTimes(layer)), handle)
        }
    }

    /// A mock that ignores the lines of `CloseTimes`, which the tests don't expect.
    #[derive(Debug)]
    pub struct WithoutCloseTimes(inner::MockLayer);

    impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for WithoutCloseTimes {
        fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
            // The event of a closed span has the span's metadata.
            if event.metadata().is_event() {
                self.0.on_event(event, context);
            }
        }

        fn on_register_dispatch(&self, dispatch: &Dispatch) {
            Layer::<S>::on_register_dispatch(&self.0, dispatch);
        }

        fn on_layer(&mut self, subscriber: &mut S) {
            self.0.on_layer(subscriber);
        }

        fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
            Layer::<S>::register_callsite(&self.0, metadata)
        }

        fn enabled(&self, metadata: &Metadata<'_>, context: Context<'_, S>) -> bool {
            self.0.enabled(metadata, context)
        }

        fn max_level_hint(&self) -> Option<LevelFilter> {
            Layer::<S>::max_level_hint(&self.0)
        }

        fn event_enabled(&self, event: &Event<'_>, context: Context<'_, S>) -> bool {
            self.0.event_enabled(event, context)
        }

        fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
            self.0.on_new_span(attributes, id, context);
        }

        fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
            self.0.on_record(id, values, context);
        }

        fn on_follows_from(&self, id: &Id, follows: &Id, context: Context<'_, S>) {
            self.0.on_follows_from(id, follows, context);
        }

        fn on_enter(&self, id: &Id, context: Context<'_, S>) {
            self.0.on_enter(id, context);
        }

        fn on_exit(&self, id: &Id, context: Context<'_, S>) {
            self.0.on_exit(id, context);
        }

        fn on_close(&self, id: Id, context: Context<'_, S>) {
            self.0.on_close(id, context);
        }

        fn on_id_change(&self, old: &Id, new: &Id, context: Context<'_, S>) {
            self.0.on_id_change(old, new, context);
        }
    }
}
