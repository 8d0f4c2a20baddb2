//! Programs with more callsites than have numbers.

use std::collections::HashMap;
use std::thread;

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use test_support::assert_test_passes;
use tracing::callsite::{Callsite, Identifier};
use tracing::field::FieldSet;
use tracing::metadata::Kind;
use tracing::span::Attributes;
use tracing::subscriber::Interest;
use tracing::{Level, Metadata, dispatcher};

use super::received::{text, value};
use super::{received, spans};

/// With as many events, these are more callsites than a thread knows numbers for.
const MANY: u32 = 1_100;

struct Site;

impl Callsite for Site {
    fn set_interest(&self, _: Interest) {}

    fn metadata(&self) -> &Metadata<'_> {
        unreachable!("it is not registered")
    }
}

static SITE: Site = Site;

/// Returns the metadata of a callsite of its own, which has no fields.
fn site(number: u32, kind: Kind) -> &'static Metadata<'static> {
    let name = &*format!("site {number}").leak();
    let fields = FieldSet::new(&[], Identifier(&SITE));
    let line = Some(number);
    let metadata =
        Metadata::new(name, "app::sites", Level::INFO, Some("sites.rs"), line, None, fields, kind);
    Box::leak(Box::new(metadata))
}

/// Starts and ends a span of a callsite, with an event of another one in it.
fn span(number: u32) {
    dispatcher::get_default(|dispatch| {
        let metadata = site(number, Kind::SPAN);
        let none = metadata.fields().value_set(&[]);
        let id = dispatch.new_span(&Attributes::new(metadata, &none));
        dispatch.enter(&id);
        let event = site(number + MANY, Kind::EVENT);
        dispatch.event(&tracing::Event::new(event, &event.fields().value_set(&[])));
        dispatch.exit(&id);
        dispatch.try_close(id);
    });
}

fn assert_all(spans: &HashMap<String, Span>) {
    assert_eq!(spans.len(), MANY as usize);
    for number in 0..MANY {
        let span = &spans[&format!("site {number}")];
        let line = |line: u32| Value::IntValue(line.into());
        assert_eq!(value(&span.attributes, "code.file.path"), text("sites.rs"));
        let lines = span.attributes.iter().filter(|it| it.key == "code.line.number").count();
        assert_eq!(lines, usize::from(number > 0), "zero is no line");
        assert_eq!(value(&span.attributes, "thread.name"), text("sites"));
        let [event] = &span.events[..] else { panic!("{span:?}") };
        assert_eq!(event.name, format!("site {}", number + MANY));
        assert_eq!(value(&event.attributes, "target"), text("app::sites"));
        assert_eq!(value(&event.attributes, "code.line.number"), line(number + MANY));
    }
}

/// In a process of its own: elsewhere the callsites have numbers.
#[test]
fn a_callsite_without_a_number_is_as_good_as_one_with() {
    assert_test_passes("otlp::callsites::child", &[]);
}

#[test]
#[ignore = "the child of the test above"]
fn child() {
    let spans = spans(|| {
        let dispatch = dispatcher::get_default(Clone::clone);
        let spans = move || dispatcher::with_default(&dispatch, || (0..MANY).for_each(span));
        thread::Builder::new().name("sites".to_owned()).spawn(spans).unwrap().join().unwrap();
    });
    assert_all(&spans);
    // The span knows its name without a number too.
    let (requests, guard) = super::pipeline(|builder| builder);
    super::run(guard.pipeline(), || {
        dispatcher::get_default(|dispatch| {
            for number in 0..3 * MANY {
                let metadata = site(number, Kind::SPAN);
                let none = metadata.fields().value_set(&[]);
                let id = dispatch.new_span(&Attributes::new(metadata, &none));
                dispatch.enter(&id);
                let current = dispatch.current_span();
                assert_eq!(current.metadata().map(Metadata::name), Some(metadata.name()));
                dispatch.exit(&id);
                dispatch.try_close(id);
            }
        });
    });
    assert_eq!(received::spans(&requests).len(), 3 * MANY as usize);
}
