//! What has changed of the spans that wait, for the pipeline's file.

use super::standing::{Change, Standing};
use super::store::WaitingSpans;
use crate::back_end::assembly::{Sent, Spans};
use crate::spans::kept::Kept;
use crate::spans::open;
use crate::spans::open::span::Open;
use crate::spans::tail::waiting::{Changes, Known, Trace};

/// Keeps a list of the changes.
pub(super) fn keep(spans: &mut Spans) {
    spans.traces.spans.changed = Some(Vec::new());
    if let Some(tail) = &mut spans.sent.tail {
        tail.changes = Some(Changes::default());
    }
}

/// Adds what has changed since the last call to what the next commit names.
pub(super) fn add(spans: &mut Spans, to: &mut WaitingSpans) {
    let Spans { traces, sent, .. } = spans;
    let has_room = to.add(|each| {
        let mut came = take_sent(sent, each).peekable();
        take_open(&mut traces.spans, &mut |change| {
            // A span that is passed on may wait for the decision about its trace. It is noted at
            // the same moment in both lists, so they have the same order.
            if !matches!(change, Change::Gone(gone) if came.next_if_eq(gone).is_some()) {
                each(change);
            }
        });
    });
    if !has_room {
        to.begin(|each| {
            each_sent(sent, each);
            let open = traces.spans.open.iter().filter(|(_, open)| open.context.is_sampled);
            open.for_each(|(span, open)| each(&waits(*span, open)));
            each_early(&traces.spans, each);
        });
    }
}

/// Calls `each` with what has changed of the open spans since the last call.
fn take_open(spans: &mut open::Spans, each: &mut dyn FnMut(&Change<'_>)) {
    let open::Spans { open, changed: Some(changed), gone, .. } = spans else { return };
    gone.drain(..).for_each(|span| each(&Change::Gone(span)));
    for span in changed.drain(..) {
        // A span that is gone may be in the list of changes too.
        let Some(open) = open.get_mut(&span) else { continue };
        open.is_changed = false;
        each(&if open.context.is_sampled { waits(span, open) } else { Change::Gone(span) });
    }
    each_early(spans, each);
}

fn each_early(spans: &open::Spans, each: &mut dyn FnMut(&Change<'_>)) {
    for (record, ..) in spans.retried.iter().chain(&spans.early) {
        each(&Change::Early(record));
    }
}

fn waits(span: u64, open: &Open) -> Change<'_> {
    let Open { is_passed_on, dropped, ended, .. } = *open;
    let standing = ended.map_or(Standing { end: None, is_passed_on, dropped }, |(end, queue)| {
        Standing::of_ended(&open.span(end, queue, &[], false))
    });
    Change::Waits(span, standing, &open.records)
}

/// Calls `each` with what has changed since the last call of the spans that wait until their traces
/// are decided about. Returns the spans that came since then, in their order.
fn take_sent<'a>(
    sent: &'a mut Sent,
    each: &mut dyn FnMut(&Change<'_>),
) -> impl Iterator<Item = u64> + use<'a> {
    let came = sent.tail.as_mut().map(|tail| {
        let Changes { came, left } = tail.changes.get_or_insert_default();
        left.drain(..).for_each(|span| each(&Change::Gone(span)));
        for (_, trace, at) in &*came {
            if let Some(Known::Waiting(trace)) = tail.traces.get(trace) {
                each_of(trace, trace.spans.get(*at), each);
            }
        }
        came.drain(..).map(|(span, ..)| span)
    });
    came.into_iter().flatten()
}

/// Calls `each` with all spans that wait until their traces are decided about.
fn each_sent(sent: &Sent, each: &mut dyn FnMut(&Change<'_>)) {
    for trace in sent.tail.iter().flat_map(|tail| tail.traces.values()) {
        if let Known::Waiting(trace) = trace {
            each_of(trace, &trace.spans, each);
        }
    }
}

fn each_of<'a>(
    trace: &Trace,
    spans: impl IntoIterator<Item = &'a Kept>,
    each: &mut dyn FnMut(&Change<'_>),
) {
    for kept in spans {
        let span = kept.span(&trace.records, &[]);
        each(&Change::Waits(span.context.span, Standing::of_ended(&span), span.records));
    }
}
