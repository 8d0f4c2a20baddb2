//! Layers, each inside those of tach-tracing that forward to another one.

pub use published::layer::*;
use published::registry::LookupSpan;
use tach_core::ManualClock;
use tach_tracing::{CloseTimes, EventTimeLayer};
use tracing_core::Subscriber;

/// A layer inside [`EventTimeLayer`].
pub type Timed<L> = EventTimeLayer<L, &'static ManualClock>;

/// A layer inside all layers that forward to another one.
pub type Forwarded<L> = Timed<CloseTimes<L>>;

pub(crate) fn timed<L>(layer: L) -> Timed<L> {
    EventTimeLayer::new(layer).with_clock(&crate::CLOCK).with_span_events()
}

pub(crate) fn forwarded<L>(layer: L) -> Forwarded<L> {
    timed(CloseTimes::new(layer))
}

/// Adds layers to a subscriber.
pub trait SubscriberExt: Subscriber + for<'a> LookupSpan<'a> + Sized {
    fn with<L: Layer<Self>>(self, layer: L) -> Layered<Forwarded<L>, Self> {
        published::layer::SubscriberExt::with(self, forwarded(layer))
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> SubscriberExt for S {}

/// Adds layers to a mock subscriber, which does not store spans, as [`CloseTimes`] needs.
pub trait MockSubscriberExt: Subscriber + Sized {
    fn with_timed<L: Layer<Self>>(self, layer: L) -> Layered<Timed<L>, Self> {
        published::layer::SubscriberExt::with(self, timed(layer))
    }
}

impl<S: Subscriber> MockSubscriberExt for S {}

/// Adds a subscriber to a layer.
pub trait LayerExt<S: Subscriber>: Layer<S> + Sized {
    fn forwarded_with_subscriber(self, subscriber: S) -> Layered<Forwarded<Self>, S>
    where
        S: for<'a> LookupSpan<'a>,
    {
        forwarded(self).with_subscriber(subscriber)
    }

    /// For a subscriber that does not store spans, as [`CloseTimes`] needs.
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
