//! What is known about spans, events and records beside their fields, as attributes.

/// What is known about a span, an event or a record beside its fields, for
/// [`Otlp::metadata`](crate::Otlp::metadata).
///
/// # Examples
///
/// ```
/// use tach_otlp::{Metadata, Otlp};
///
/// let otlp = Otlp::from_env().metadata([Metadata::Level, Metadata::Location]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Metadata {
    /// The place in the source: `code.file.path`, `code.line.number`, and `code.module.name` of
    /// spans and of events within them. `tracing` and `log` don't know the function.
    Location,
    /// The thread: `thread.id` and `thread.name` of spans and records.
    Thread,
    /// The attribute `level` of spans and of events within them. A record has a severity.
    Level,
    /// The attribute `target` of spans and of events within them, beside their scope's name.
    Target,
}

/// Which metadata are attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// A bit for each of the metadata.
    spans: u8,
    events: u8,
}

impl Shown {
    pub(crate) fn only(all: impl IntoIterator<Item = Metadata>) -> Self {
        let bits = all.into_iter().fold(0, |bits, metadata| bits | bit(metadata));
        Self { spans: bits, events: bits }
    }

    /// Returns whether spans and records have it.
    #[must_use]
    pub const fn has(self, metadata: Metadata) -> bool {
        self.spans & bit(metadata) != 0
    }

    /// Returns whether the events within spans have it.
    #[must_use]
    pub const fn event_has(self, metadata: Metadata) -> bool {
        self.events & bit(metadata) != 0
    }
}

/// By default, spans and records have their place and their thread. Events within a span have their
/// place, and also their level and their target: the scope has the target of the span alone.
impl Default for Shown {
    fn default() -> Self {
        let spans = bit(Metadata::Location) | bit(Metadata::Thread);
        Self { spans, events: u8::MAX }
    }
}

const fn bit(metadata: Metadata) -> u8 {
    1 << metadata as u8
}
