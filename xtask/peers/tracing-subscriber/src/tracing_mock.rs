//! tracing-mock's names. A layer that expects events and spans is inside an `EventTime`.

pub use mock::{expect, subscriber};

pub mod layer {
    use std::fmt;

    use mock::event::ExpectedEvent;
    use mock::layer as inner;
    use mock::span::{ExpectedSpan, NewSpan};
    use mock::subscriber::MockHandle;

    use crate::layer::{timed, Timed};

    pub type MockLayer = Timed<inner::MockLayer>;

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
            timed(self.0.run())
        }

        pub fn run_with_handle(self) -> (MockLayer, MockHandle) {
            let (layer, handle) = self.0.run_with_handle();
            (timed(layer), handle)
        }
    }
}
