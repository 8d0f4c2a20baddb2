//! Layers, each inside tach-tracing's.

pub use published::layer::*;
use tach_core::ManualClock;
use tach_tracing::EventTime;
use tracing_core::Subscriber;

/// A layer inside [`EventTime`].
pub type Timed<L> = EventTime<L, &'static ManualClock>;

pub(crate) fn timed<L>(layer: L) -> Timed<L> {
    EventTime::new(layer).with_clock(&crate::CLOCK).with_span_events()
}

/// Adds layers to a subscriber.
pub trait SubscriberExt: Subscriber + Sized {
    fn with<L: Layer<Self>>(self, layer: L) -> Layered<Timed<L>, Self> {
        published::layer::SubscriberExt::with(self, timed(layer))
    }
}

impl<S: Subscriber> SubscriberExt for S {}

/// Adds a subscriber to a layer.
pub trait LayerExt<S: Subscriber>: Layer<S> + Sized {
    fn timed_with_subscriber(self, subscriber: S) -> Layered<Timed<Self>, S> {
        timed(self).with_subscriber(subscriber)
    }
}

impl<S: Subscriber, L: Layer<S>> LayerExt<S> for L {}

/// The tests of layers.
#[cfg(test)]
mod tests {
    use tracing_core::{span, Event, Interest, Metadata};

    use super::*;

    include!(concat!(env!("PEER_TESTS"), "/layer_tests.rs"));
}
