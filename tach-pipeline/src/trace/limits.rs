//! The specification's limits of spans and records.

/// The specification's default for all counts.
const MOST: u32 = 128;

/// The limits of the attributes of a record, a span, an event or a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AttributeLimits {
    pub(crate) count: u32,
    /// The most characters of a text, also of each text within a value.
    pub(crate) length: usize,
}

impl Default for AttributeLimits {
    fn default() -> Self {
        Self { count: MOST, length: usize::MAX }
    }
}

/// The limits of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpanLimits {
    pub(crate) attributes: AttributeLimits,
    pub(crate) events: u32,
    /// Whether the events of `tracing` are events of the span.
    pub(crate) has_events: bool,
    pub(crate) event_attributes: u32,
    pub(crate) links: u32,
    pub(crate) link_attributes: u32,
}

impl SpanLimits {
    pub(crate) fn of_event(&self) -> AttributeLimits {
        AttributeLimits { count: self.event_attributes, ..self.attributes }
    }

    pub(crate) fn of_link(&self) -> AttributeLimits {
        AttributeLimits { count: self.link_attributes, ..self.attributes }
    }
}

impl Default for SpanLimits {
    fn default() -> Self {
        Self {
            attributes: AttributeLimits::default(),
            events: MOST,
            has_events: true,
            event_attributes: MOST,
            links: MOST,
            link_attributes: MOST,
        }
    }
}
