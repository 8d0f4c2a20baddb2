//! The keys of open spans: several subscribers give their spans the same numbers.

use core::ptr;
use std::sync::{Arc, OnceLock};

use tracing_core::{Dispatch, dispatcher};
use tracing_subscriber::Registry;

use super::random::{self, Ids};

/// The key of an open span, among the spans of all subscribers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// The number of the pipeline's own subscriber. Zero if the pipeline is a layer of another one.
    /// `otel::TRACERS` for a span of a tracer.
    pub subscriber: u32,
    /// The number that the subscriber gives its span. A layer's is masked.
    pub number: u64,
}

impl Key {
    /// Returns whether it is the key of a span of a layer's subscriber.
    #[inline]
    pub const fn is_of_layer(self) -> bool {
        self.subscriber == 0
    }

    /// Returns the key of a span of a layer's subscriber.
    #[inline]
    pub const fn of_layer(number: u64) -> Self {
        Self { subscriber: 0, number }
    }
}

/// Makes keys of the numbers that one subscriber gives its spans.
///
/// A mask is random, so the keys of two open spans are equal as seldom as their ids.
#[derive(Clone, Default)]
pub struct Keys {
    /// Zero for a handle that is no layer.
    mask: u64,
    /// The address of the registry of the layer's subscriber, which lives longer than the layer.
    /// `None` for a handle that is no layer.
    registry: Option<Arc<OnceLock<usize>>>,
}

impl Keys {
    /// Returns the keys of a new layer.
    pub fn of_layer(pipeline: u64) -> Self {
        Self { mask: random::with(pipeline, Ids::span), registry: Some(Arc::default()) }
    }

    /// Takes the registry of the layer's subscriber.
    pub fn set_registry(&self, subscriber: &Dispatch) {
        if let Some((registry, address)) = self.registry.as_ref().zip(address(subscriber)) {
            registry.get_or_init(|| address);
        }
    }

    /// Returns whether the thread's current subscriber is that of the layer. If the layer has no
    /// registry of tracing-subscriber, returns `true`.
    #[inline]
    pub fn are_current(&self) -> bool {
        let own = self.registry.as_ref().and_then(|registry| registry.get().copied());
        own.is_none() || dispatcher::get_default(address) == own
    }

    #[inline]
    pub const fn key(&self, number: u64) -> Key {
        Key::of_layer(number ^ self.mask)
    }
}

fn address(subscriber: &Dispatch) -> Option<usize> {
    subscriber.downcast_ref::<Registry>().map(|registry| ptr::from_ref(registry).addr())
}
