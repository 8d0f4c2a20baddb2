//! Events, whichever subscriber they come from.

use tracing_core::Event;
use tracing_log::NormalizeEvent as _;

use super::copies::note;
use super::fields::{Forwarded, Visitor};
use super::metadata::{callsite, is_enabled, level};
use crate::callsites::{self, Callsite, given_name, place_of};
use crate::channel::current_thread;
use crate::frame::MaybeStatic;
use crate::frame::Writer;
use crate::ids::Around;
use crate::pipeline::Pipeline;
use crate::shared::Shared;
use crate::trace::current::Innermost;

/// The target of events that `tracing-log` makes of the records of `log`.
const FORWARDED: &str = "log";

impl Pipeline {
    /// Returns the span around an event: the pipeline's, or the current one of `opentelemetry` if
    /// that is nearer.
    #[inline]
    fn around_event(&self, shared: &Shared, event: &Event<'_>) -> Option<Around> {
        let is_contextual = event.is_contextual();
        let own = match self.innermost(shared, is_contextual, event.is_root()) {
            Innermost::None => None,
            Innermost::Recorded(span) => Some(span.ids().context()),
            Innermost::Other => {
                self.within(shared, event.parent(), is_contextual).map(|(_, context)| context)
            }
        };
        if is_contextual {
            shared.spans.nearest(own)
        } else {
            own.map(|own| shared.spans.as_around(own))
        }
    }

    /// Logs an event, if the pipeline takes it.
    #[inline]
    pub(super) fn log_event(&self, event: &Event<'_>) {
        let (shared, metadata) = (self.shared(), event.metadata());
        if metadata.target() == FORWARDED && event.is_log() {
            return self.log_forwarded(event);
        }
        // A copy would take each of its parts out and together again.
        let (level, wanted) = (level(metadata), &shared.wanted);
        if !shared.filters.enabled(level, metadata.target()) {
            return;
        }
        if !shared.is_within_limit(|| callsite(metadata)) {
            return note(metadata);
        }
        let around = self.around_event(shared, event);
        if !wanted.events
            && !around.is_some_and(|span| span.is_own && span.context.is_sampled)
            && !wanted.recorder
        {
            // No sink, span or recorder takes the event.
            return;
        }
        let time = shared.time();
        let mut scratch = current_thread::take_scratch();
        let mut to = if let Some(code) = callsites::code(Callsite(metadata)) {
            Writer::begin_event_at(&mut scratch, time, level, code)
        } else {
            note(metadata);
            Writer::begin(&mut scratch, time, level, MaybeStatic::Static(metadata.target()))
        };
        event.record(&mut Visitor::of_event(&mut to));
        if wanted.events {
            self.write_spans(event.parent(), event.is_contextual(), &mut to);
        }
        let has_site = shared.has_site(around.as_ref());
        if has_site && !to.is_whole() {
            to.span_around(wanted, around.as_ref());
        } else if has_site {
            to.site(*wanted, place_of(metadata, MaybeStatic::Static), around);
            if let Some(name) = given_name(metadata) {
                to.event_name(name);
            }
        }
        to.end();
        shared.log(level, scratch);
    }

    /// Logs a record of `log` that `tracing-log` made an event.
    #[cold]
    fn log_forwarded(&self, event: &Event<'_>) {
        let Some(metadata) = event.normalized_metadata() else { return };
        if !is_enabled(self, &metadata) {
            return;
        }
        let (shared, level) = (self.shared(), level(&metadata));
        let time = shared.time();
        let mut scratch = current_thread::take_scratch();
        let target = MaybeStatic::Borrowed(metadata.target());
        let mut to = Writer::begin(&mut scratch, time, level, target);
        event.record(&mut Forwarded(Visitor::of_event(&mut to)));
        if shared.wanted.events {
            self.write_spans(event.parent(), event.is_contextual(), &mut to);
        }
        let around = self.around_event(shared, event);
        if shared.has_site(around.as_ref()) {
            to.site(shared.wanted, place_of(&metadata, MaybeStatic::Borrowed), around);
        }
        to.end();
        shared.log(level, scratch);
    }
}
