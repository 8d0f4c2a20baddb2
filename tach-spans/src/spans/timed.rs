//! Adds the duration of each span that has ended to the right series.

use tach_log::adapter;

use crate::durations::Collected;
use crate::durations::key::{self, Key};
use crate::spans::span::Span;

/// The memory for the key of a series, which all spans use in turn.
#[derive(Default)]
pub(super) struct Timed {
    key: Key,
    /// The last values of the chosen attributes.
    values: Vec<Vec<u8>>,
}

impl Timed {
    /// Records the duration of a span that has ended. If the span is sampled, passes the span on.
    pub(super) fn ended(
        &mut self,
        span: &Span<'_>,
        durations: Option<&Collected>,
        pass_on: &mut impl FnMut(&Span<'_>),
    ) {
        if let Some(durations) = durations {
            self.span(span, durations);
        }
        if span.context.is_sampled {
            pass_on(span);
        }
    }

    /// Adds the duration of a span to its series.
    fn span(&mut self, span: &Span<'_>, durations: &Collected) {
        if span.is_unfinished {
            return;
        }
        self.key.begin(span.first.0.name);
        let attributes = durations.attributes();
        if !attributes.is_empty() {
            self.add_values(span, attributes);
        }
        durations
            .record(&self.key, span.end.checked_duration_since(span.start).unwrap_or_default());
    }

    /// Adds the last values of the attributes to the key.
    fn add_values(&mut self, span: &Span<'_>, attributes: &[String]) {
        let Self { key, values } = self;
        values.resize_with(attributes.len(), Vec::new);
        values.iter_mut().for_each(Vec::clear);
        for part in span.own_parts() {
            let Some(fields) = part.span_fields() else { continue };
            let visited = adapter::Fields::visit(fields, &mut |key, value| {
                if let Some(at) = attributes.iter().position(|known| known == key) {
                    key::write(&mut values[at], value);
                }
                Ok(())
            });
            debug_assert!(visited.is_ok(), "nothing fails here");
        }
        for value in values {
            key.part(value);
        }
    }
}
