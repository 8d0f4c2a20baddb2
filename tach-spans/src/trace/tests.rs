//! What calls and the back end know of open spans.

use core::iter;
use std::collections::{HashMap, HashSet};
use std::thread;

use proptest::prelude::*;
use tach_core::UnixTime;
use tach_record::frame::{Code, SpanPart, What};

use super::w3c::TraceContext;
use super::*;

/// An open span: its ids, whether it was moved, and when it was left.
type Known = (Open, SpanContext, bool, Option<u64>);

/// The subscriber of the spans.
const OWNER: u32 = 1;

fn numbered(number: u64) -> SpanContext {
    SpanContext { trace: u128::from(number) << 64 | 7, span: number, is_sampled: number % 2 == 0 }
}

fn origin() -> TraceContext {
    let header = "00-0000000000000000000000000000000a-000000000000000b-01";
    TraceContext::from_headers(header, "a=1").unwrap()
}

/// Returns the ids of the sampled spans that are open.
fn sampled(contexts: &Contexts) -> HashSet<u64> {
    let mut ids = HashSet::new();
    contexts.open_spans(Time::Unix(UnixTime::from_nanos(9)), |record| {
        let part = SpanPart::read(record).unwrap();
        let What::Start(start) = part.what else { panic!("{part:?}") };
        assert_eq!(start.since, Time::Unix(UnixTime::from_nanos(5)));
        assert!([0, 6].contains(&start.parent), "a span that is sampled late has none");
        assert!(ids.insert(part.context.span));
    });
    ids
}

/// Opens a span with ids by its number.
fn open(contexts: &Contexts, started: Started) -> (Open, SpanContext) {
    let span = slots::open(OWNER, None, Code::of(1), None).unwrap();
    let context = contexts.new_ids(span, None, |trace| trace % 2 == 0);
    let begun = if context.is_sampled { Begun::at(5, 6) } else { Begun::default() };
    contexts.insert(span, &context, Started { begun, ..started });
    (span, context)
}

fn close(span: Open) {
    let closing = span.number().remove_reference(OWNER).unwrap();
    let (ids, _) = closing.ids(span.number()).unwrap();
    ids.remove();
    closing.free();
}

proptest! {
    /// Spans come and go, and take each other's slots. Each is known by its id too.
    #[test]
    fn a_span_has_what_was_set_until_it_closes(
        steps in prop::collection::vec((0..4_usize, 0..5), 0..200),
    ) {
        let contexts = Contexts::new(301, true);
        let mut known: [Option<Known>; 4] = [None; 4];
        let mut closed = Vec::new();
        for (number, (place, step)) in (1..).zip(steps) {
            match (&mut known[place], step) {
                (empty @ None, 0) => {
                    let started = Started { is_active: number % 3 == 0, ..Started::default() };
                    let (span, context) = open(&contexts, started);
                    *empty = Some((span, context, false, None));
                }
                (Some((span, context, is_moved, _)), 1) => {
                    let to = SpanContext { span: context.span, ..numbered(number) };
                    // A move overwrites the words of the start, so their record is kept first.
                    prop_assert!(span.keep_start(*context, Time::Unix(UnixTime::from_nanos(5)), 1));
                    prop_assert_eq!(span.ids().move_to(to.trace, to.is_sampled), !*is_moved);
                    if !*is_moved {
                        (*context, *is_moved) = (to, true);
                    }
                }
                (Some((span, .., left)), 2) => {
                    // Threads leave the span in any order.
                    let time = number ^ 8;
                    span.ids().leave_at(time);
                    *left = Some(left.map_or(time, |left| left.max(time)));
                }
                (Some((span, ..)), 3) => span.set_origin((number % 2 == 0).then(origin)),
                (some, 4) => {
                    if let Some((span, context, ..)) = some.take() {
                        close(span);
                        closed.push((span, context));
                    }
                }
                _ => {}
            }
            for (span, context, _, left) in known.iter().flatten() {
                prop_assert_eq!(contexts.get(*span), Some(*context));
                prop_assert_eq!(contexts.get_unheld(*span), Some(*context));
                let found = contexts.find(context.span);
                prop_assert!(found.is_some_and(|found| found == (*span, *context)));
                prop_assert_eq!(span.ids().left(), *left);
            }
            for (span, context) in &closed {
                prop_assert!(contexts.get(*span).is_none() && span.origin().is_none());
                prop_assert!(contexts.find(context.span).is_none());
            }
        }
        let ids = known.iter().flatten().filter(|(_, it, ..)| it.is_sampled);
        let ids: HashSet<u64> = ids.map(|(_, it, ..)| it.span).collect();
        prop_assert_eq!(sampled(&contexts), ids);
        known.into_iter().flatten().for_each(|(span, ..)| close(span));
        prop_assert!(sampled(&contexts).is_empty());
    }
}

#[test]
fn a_pipeline_knows_no_span_of_another_one() {
    let [own, other] = [302, 303].map(|number| Contexts::new(number, true));
    let (span, context) = open(&own, Started::default());
    assert!(own.record(span) && !other.record(span));
    assert_eq!((own.get(span), other.get(span)), (Some(context), None));
    assert!(other.find(context.span).is_none());
    close(span);
}

/// The thread that changes a span may wait for room in a queue, and so for the back end.
#[test]
fn who_reads_the_open_spans_waits_for_no_thread_that_changes_one() {
    let contexts = Contexts::new(306, true);
    let mut spans = iter::repeat_with(|| open(&contexts, Started::default()));
    let (span, context) = spans.find(|(_, context)| context.is_sampled).unwrap();
    let read = || thread::scope(|scope| scope.spawn(|| sampled(&contexts)).join().unwrap());
    assert!(span.change(|_| read()).unwrap().contains(&context.span));
}

#[test]
fn a_lent_span_shows_what_another_one_passes_on() {
    let contexts = Contexts::new(304, true);
    let (lender, context) = open(&contexts, Started::default());
    lender.set_origin(Some(origin()));
    let span = slots::open(OWNER, None, None, None).unwrap();
    contexts.lend(span, lender, &context);
    assert_eq!((contexts.get(span), contexts.record(span)), (Some(context), false));
    assert_eq!(span.origin(), Some(origin()));
    [span, lender].into_iter().for_each(close);
}

/// Opens many more spans than a page has slots, on several threads. Each has an id of its own.
#[test]
fn hundreds_of_thousands_of_open_spans_are_known() {
    const EACH: usize = 100_000;
    let contexts = Contexts::new(305, true);
    let spans: HashMap<u64, Open> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let spans = (0..EACH).map(|_| open(&contexts, Started::default()));
                    spans.map(|(span, context)| (context.span, span)).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(spans.len(), 4 * EACH);
    let are_sampled = spans.iter().filter(|(_, span)| span.ids().may_be_sampled());
    assert_eq!(sampled(&contexts), are_sampled.map(|(id, _)| *id).collect());
    assert!(spans.iter().all(|(id, span)| contexts.find(*id).is_some_and(|it| it.0 == *span)));
    spans.into_values().for_each(close);
    assert!(sampled(&contexts).is_empty());
}

#[test]
fn ids_differ_between_calls_threads_and_pipelines() {
    const COUNT: u64 = 1_000;
    let ids =
        |pipeline| (0..COUNT).map(move |_| with_random(pipeline, |ids| (ids.trace(), ids.span())));
    let mut all: HashSet<_> = ids(1).chain(ids(2)).chain(ids(1)).collect();
    all.extend(thread::spawn(move || ids(1).collect::<Vec<_>>()).join().unwrap());
    assert_eq!(all.len() as u64, 4 * COUNT);
    let spans: HashSet<_> = all.iter().map(|(_, span)| span).collect();
    assert_eq!(spans.len(), all.len());
}

#[test]
fn an_id_leads_to_its_number() {
    for secret in [0, 1, u64::MAX, FACTOR, with_random(1, Random::span)] {
        let numbers = (0..64).flat_map(|bit| [1 << bit, u64::MAX >> bit]);
        for known in numbers.filter(|known| *known != secret) {
            assert_eq!(number_of(secret, id_of(secret, known)), known);
        }
        // The number that equals the secret would get the invalid id 0, so it gets 1.
        assert_eq!((id_of(secret, secret), number_of(secret, 0)), (1, secret));
    }
}

/// Simulates a forked process, which has a copy of the parent's generator.
#[test]
fn another_pipeline_has_another_seed() {
    let mut ids = Random::new(1);
    let copy = || Some(Random { pipeline: 1, generator: ids.generator.clone() });
    IDS.with(|known| *known.borrow_mut() = copy());
    let of_fork = with_random(2, Random::span);
    assert_ne!(of_fork, ids.span());
    // The control: the same pipeline goes on with the same seed.
    let mut ids = Random::new(1);
    IDS.with(|known| {
        *known.borrow_mut() = Some(Random { pipeline: 1, generator: ids.generator.clone() });
    });
    assert_eq!(with_random(1, Random::span), ids.span());
}
