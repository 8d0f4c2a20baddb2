use std::io;

use opentelemetry_proto::tonic::trace::v1::{self as proto, ResourceSpans};
use prost::Message as _;
use tach_core::{Instant, UnixTime};
use tach_otlp::adapter::AttributeLimits;

use super::*;
use crate::spans::span::first;
use tach_record::frame::MaybeStatic;
use tach_record::frame::{Place, RecordKind, Scratch, SpanRecord, Time, Wanted, Writer};

const CONTEXT: SpanContext = SpanContext { trace: 1, span: 2, is_sampled: true };
const AT: Time = Time::Unix(UnixTime::EPOCH);

/// Returns the record of a span's start.
fn start(scratch: &mut Scratch) -> Vec<u8> {
    Writer::begin_span(
        scratch,
        Level::INFO,
        ["app", "name"].map(MaybeStatic::Static),
        &SpanRecord { context: CONTEXT, parent: 0, since: AT, age: 0, thread: 0 },
    )
    .end();
    scratch.written().to_owned()
}

fn span(records: &[u8], has_values: bool) -> Span<'_> {
    Span {
        context: CONTEXT,
        start: UnixTime::EPOCH,
        end: UnixTime::EPOCH,
        is_unfinished: false,
        first: first(records, &[]).unwrap(),
        records,
        has_values,
        is_on_one_thread: true,
        dropped: Dropped::default(),
        redacted: &[],
    }
}

/// Returns a span as it is sent.
fn written(span: &Span<'_>, limits: SpanLimits) -> Vec<u8> {
    let mut written = Vec::new();
    write_span(&mut written, span, &limits, &|_, _| true);
    written
}

fn received(written: &[u8]) -> proto::Span {
    let mut spans = ResourceSpans::decode(written).unwrap();
    spans.scope_spans.remove(0).spans.remove(0)
}

#[test]
fn a_span_has_each_of_many_keys_once() {
    const VALUES: usize = 100;
    let mut scratch = Scratch::new();
    let mut records = start(&mut scratch);
    for value in 0..VALUES {
        let mut to = Writer::begin_part(&mut scratch, AT, RecordKind::Values, CONTEXT);
        let key = format!("key-{}.", value / 2);
        to.field(MaybeStatic::Borrowed(&key), Value::U64(value as u64));
        to.end();
        records.extend_from_slice(scratch.written());
    }
    let written = written(&span(&records, true), SpanLimits::default());
    let text = String::from_utf8_lossy(&written);
    assert_eq!(text.matches("key-").count(), VALUES / 2, "each key once");
}

/// Eight times as many values take about eight times as long. If the values after each one were
/// searched for its key, as in the control, they would take 64 times as long.
#[test]
fn many_values_are_read_a_few_times() {
    let mut scratch = Scratch::new();
    let mut spans = [100, 800].map(|values: u64| {
        let mut records = start(&mut scratch);
        for value in 0..values {
            let mut to = Writer::begin_part(&mut scratch, AT, RecordKind::Values, CONTEXT);
            to.field(MaybeStatic::Borrowed(&format!("key-{}", value % 50)), Value::U64(value));
            to.end();
            records.extend_from_slice(scratch.written());
        }
        records
    });
    // Take the shortest of many times: other programs run too.
    let mut times = |read: &dyn Fn(&Span<'_>)| {
        let [few, many] = spans.each_mut().map(|records| {
            let span = span(records, true);
            let took = |()| {
                let begin = Instant::now();
                read(&span);
                begin.elapsed()
            };
            [(); 40].map(took).into_iter().min().unwrap()
        });
        many.as_secs_f64() / few.as_secs_f64()
    };
    let ratio = times(&|span| drop(written(span, SpanLimits::default())));
    let control = times(&|span| {
        let count = span.items().count();
        let later = (0..count).map(|at| span.items_from(at).count());
        assert!(later.sum::<usize>() > count);
    });
    // A busy machine stretches both. The control is eight times as long, by its definition.
    assert!(ratio * 3.0 < control, "{ratio} {control}");
}

/// An event that a full span has no room for may have the first error.
#[test]
fn a_full_span_has_no_exception_of_a_dropped_event() {
    const EVENTS: usize = 30;
    let error = io::Error::other("e".repeat(40_000));
    let mut scratch = Scratch::new();
    let mut records = start(&mut scratch);
    let mut event = |length: usize, has_error: bool| {
        let target = MaybeStatic::Borrowed("app");
        let mut to = Writer::begin(&mut scratch, AT, Level::INFO, target);
        to.message(format_args!("{}", "m".repeat(length)));
        if has_error {
            to.error_field(MaybeStatic::Static("cause"), &error);
        }
        to.end();
        records.extend_from_slice(scratch.written());
    };
    (0..EVENTS).for_each(|_| event(MOST_BYTES / EVENTS - 1_000, false));
    event(1, true);
    let written = written(&span(&records, false), SpanLimits::default());
    assert!(written.len() <= MOST_BYTES, "{}", written.len());
    let span = received(&written);
    assert_eq!((span.events.len(), span.dropped_events_count), (EVENTS, 1));
    assert_eq!((span.attributes.len(), span.dropped_attributes_count), (0, 1));
}

/// The marks first, then the program's fields, then the metadata.
#[test]
fn the_limit_of_attributes_leaves_out_what_matters_least() {
    let mut scratch = Scratch::new();
    let mut to = Writer::begin_span(
        &mut scratch,
        Level::INFO,
        ["app", "name"].map(MaybeStatic::Static),
        &SpanRecord { context: CONTEXT, parent: 0, since: AT, age: 0, thread: 0 },
    );
    to.field(MaybeStatic::Borrowed("mine"), Value::U64(1));
    // Longer than a description may be.
    let text = "t".repeat(100_000);
    to.field(MaybeStatic::Borrowed("otel.status_description"), Value::Str(&text));
    let (file, module) = (MaybeStatic::Borrowed("app.rs"), MaybeStatic::Borrowed("app"));
    let wanted = Wanted { place: true, ..Wanted::default() };
    to.site(wanted, Place { file, line: 1, module }, None);
    to.end();
    let records = scratch.written().to_owned();
    let all = [UNFINISHED, INCOMPLETE, TRUNCATED, "mine", "code.file.path"];
    for count in 0..=5 {
        let attributes = AttributeLimits { count, ..AttributeLimits::default() };
        let limits = SpanLimits { attributes, ..SpanLimits::default() };
        let dropped = Dropped { is_more: true, ..Dropped::default() };
        let span = Span { is_unfinished: true, dropped, ..span(&records, false) };
        let span = received(&written(&span, limits));
        let keys: Vec<_> = span.attributes.iter().map(|attribute| &*attribute.key).collect();
        assert_eq!(keys, all[..count as usize]);
        assert_eq!(span.dropped_attributes_count, 7 - count);
    }
}
