//! Each attribute has a key of its own: a field of the program wins.

use core::error::Error;
use std::collections::HashSet;
use std::io;

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use tach_pipeline::{Pipeline, Signal};
use test_support::receiver::serve;

use super::received::{self, text, value};
use super::{run, sink, spans};

#[track_caller]
fn assert_unique(attributes: &[KeyValue]) {
    let keys: Vec<_> = attributes.iter().map(|attribute| &attribute.key).collect();
    let different: HashSet<_> = keys.iter().collect();
    assert_eq!(different.len(), keys.len(), "{keys:?}");
}

#[test]
fn fields_win_over_the_attributes_of_spans() {
    let first: &(dyn Error + 'static) = &io::Error::other("first");
    let second: &(dyn Error + 'static) = &io::Error::other("second");
    let spans = spans(|| {
        let span = tracing::info_span!(
            "span",
            thread.id = "mine",
            thread.name = 1,
            code.line.number = "mine",
            code.file.path = 2,
            code.module.name = 3,
            exception.message = tracing::field::Empty,
            tach.unfinished = 4,
            cause = first,
            cause.chain = "mine",
        );
        span.record("exception.message", "mine");
        span.in_scope(|| {
            tracing::info!(level = "mine", target = 1, code.line.number = 2, code.file.path = 3);
            tracing::info!(err = first, other = second, "two");
            tracing::error!(err = "first", error = "second", "two texts");
            tracing::info!(err = first, err.chain = "mine", exception.message = "mine");
        });
        drop(tracing::info_span!("errors", err = first, error = second));
    });
    let (span, errors) = (&spans["span"], &spans["errors"]);
    let all = span.events.iter().map(|event| &event.attributes);
    all.chain([&span.attributes, &errors.attributes]).for_each(|it| assert_unique(it));
    for key in ["thread.id", "code.line.number", "exception.message", "cause.chain"] {
        assert_eq!(value(&span.attributes, key), text("mine"), "{key}");
    }
    assert_eq!(value(&span.attributes, "cause"), text("first"));
    assert_eq!(value(&span.attributes, "tach.unfinished"), Value::IntValue(4));
    let event = |at: usize, key: &str| value(&span.events[at].attributes, key);
    assert_eq!((event(0, "level"), event(0, "target")), (text("mine"), Value::IntValue(1)));
    assert_eq!(event(0, "code.line.number"), Value::IntValue(2));
    assert_eq!((event(1, "exception.message"), event(1, "err")), (text("first"), text("first")));
    assert_eq!(event(1, "other"), text("second"));
    assert_eq!((event(2, "exception.message"), event(2, "error")), (text("first"), text("second")));
    assert_eq!(
        (event(3, "exception.message"), event(3, "err.chain")),
        (text("mine"), text("mine"))
    );
    assert_eq!(value(&errors.attributes, "exception.message"), text("first"));
}

#[test]
fn fields_win_over_the_attributes_of_records() {
    let error: &(dyn Error + 'static) = &io::Error::other("first");
    let (endpoint, requests) = serve();
    let guard = Pipeline::builder().sink(sink(&endpoint, Signal::Logs)).build().unwrap();
    run(guard.pipeline(), || {
        let _span = tracing::info_span!("outer").entered();
        tracing::info!(thread.id = "mine", code.line.number = "mine", span = "mine", "place");
        tracing::error!(err = error, error = "second", exception.message = "mine", "errors");
    });
    let records = received::records(&requests);
    for record in &records {
        assert_unique(&record.attributes);
    }
    for key in ["thread.id", "code.line.number", "span"] {
        assert_eq!(value(&records[0].attributes, key), text("mine"), "{key}");
    }
    for (key, expected) in [("exception.message", "mine"), ("err", "first"), ("error", "second")] {
        assert_eq!(value(&records[1].attributes, key), text(expected), "{key}");
    }
}

/// Spans and log records agree on what an exception is: an error, or a text of the level `ERROR` or
/// without a message.
#[test]
fn only_an_error_is_an_exception() {
    let error: &(dyn Error + 'static) = &io::Error::other("disk full");
    let log = || {
        tracing::info!(error = false, "done");
        tracing::error!(error = 3, "number");
        tracing::warn!(error = "text", "tried");
        tracing::error!(error = "disk full", "failed");
        tracing::error!(err = %"disk full");
        tracing::info!(error, "value");
        tracing::info!(cause = error, "other key");
        // As `#[instrument(err(level = "info"))]` does.
        tracing::info!(error = %"disk full");
    };
    let (endpoint, requests) = serve();
    let guard = Pipeline::builder().sink(sink(&endpoint, Signal::Logs)).build().unwrap();
    run(guard.pipeline(), log);
    let records = received::records(&requests);
    let span = spans(|| tracing::info_span!("span").in_scope(log)).remove("span").unwrap();
    let of_records: Vec<_> = records.iter().map(|record| &record.attributes).collect();
    let of_events: Vec<_> = span.events.iter().map(|event| &event.attributes).collect();
    for all in [of_records, of_events] {
        let find = |at: usize, key: &str| {
            let found = all[at].iter().find(|attribute| attribute.key == key)?;
            found.value.clone()?.value
        };
        let exceptions: Vec<_> = (0..8).map(|at| find(at, "exception.message")).collect();
        let is = Some(text("disk full"));
        let expected = [&None, &None, &None, &is, &is, &is, &is, &is];
        assert!(exceptions.iter().eq(expected), "{exceptions:?}");
        assert_eq!(find(0, "error"), Some(Value::BoolValue(false)));
        assert_eq!(find(1, "error"), Some(Value::IntValue(3)));
        assert_eq!(find(2, "error"), Some(text("text")));
        assert_eq!((find(3, "error"), find(4, "err")), (None, None));
        assert_eq!(find(6, "cause"), is);
    }
    for at in [4, 7] {
        assert_eq!(&*span.events[at].name, "exception");
    }
    assert_eq!(span.events[7].attributes[0].key, "exception.message");
}
