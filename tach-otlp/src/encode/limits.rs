//! The specification's limits of spans and records.

use super::metadata::Shown;

/// The specification's default for all counts.
const MOST: u32 = 128;

/// The limits of the attributes of a record, a span, an event or a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttributeLimits {
    /// The most attributes.
    pub count: u32,
    /// The most characters of a text, also of each text within a value.
    pub length: usize,
}

impl Default for AttributeLimits {
    fn default() -> Self {
        Self { count: MOST, length: usize::MAX }
    }
}

/// The limits of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanLimits {
    /// The limits of the span's own attributes.
    pub attributes: AttributeLimits,
    /// The most events.
    pub events: u32,
    /// Whether the events of `tracing` are events of the span.
    pub has_events: bool,
    /// The most attributes of an event.
    pub event_attributes: u32,
    /// Which metadata are attributes.
    pub shown: Shown,
    /// The most links.
    pub links: u32,
    /// The most attributes of a link.
    pub link_attributes: u32,
}

impl SpanLimits {
    /// Returns the limits of an event's attributes.
    #[must_use]
    pub fn of_event(&self) -> AttributeLimits {
        AttributeLimits { count: self.event_attributes, ..self.attributes }
    }

    /// Returns the limits of a link's attributes.
    #[must_use]
    pub fn of_link(&self) -> AttributeLimits {
        AttributeLimits { count: self.link_attributes, ..self.attributes }
    }
}

impl Default for SpanLimits {
    fn default() -> Self {
        Self {
            attributes: AttributeLimits::default(),
            events: MOST,
            has_events: true,
            shown: Shown::default(),
            event_attributes: MOST,
            links: MOST,
            link_attributes: MOST,
        }
    }
}
