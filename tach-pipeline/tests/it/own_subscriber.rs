//! What the pipeline's own subscriber does beyond a registry's layer. The other tests run over
//! both.

use std::thread;

use serde_json::Value;
use tach_pipeline::{Pipeline, Sink};
use tracing::span::{Attributes, Id};
use tracing::{Dispatch, Metadata, Span, dispatcher, info, info_span};

use crate::support::{LONG, Memory};

fn own(memory: &Memory) -> (tach_pipeline::Guard, Dispatch) {
    let guard = Pipeline::builder().sink(memory.json()).build().unwrap();
    let dispatch = Dispatch::new(guard.pipeline().subscriber());
    (guard, dispatch)
}

/// Returns which of the fields of spans each record has.
fn fields(memory: &Memory) -> Vec<Vec<&'static str>> {
    let of =
        |record: Value| ["a", "b"].into_iter().filter(|key| record.get(key).is_some()).collect();
    memory.records().into_iter().map(of).collect()
}

#[test]
fn the_current_span_is_the_innermost_open_one() {
    let (_pipeline, dispatch) = own(&Memory::default());
    dispatcher::with_default(&dispatch, || {
        assert!(Span::current().is_none());
        let [outer, inner] = ["outer", "inner"].map(|_| info_span!("span"));
        outer.in_scope(|| {
            assert_eq!(Span::current().id(), outer.id());
            inner.in_scope(|| assert_eq!(Span::current().id(), inner.id()));
            assert_eq!(Span::current().id(), outer.id());
            assert_eq!(Span::current().metadata().map(Metadata::name), Some("span"));
        });
        assert!(Span::current().is_none());
    });
}

/// The span is left after others that were entered later, as tasks do that one thread polls.
#[test]
fn spans_may_be_left_in_any_order() {
    let (_pipeline, dispatch) = own(&Memory::default());
    dispatcher::with_default(&dispatch, || {
        let [one, other] = ["one", "other"].map(|_| info_span!("span"));
        let (one_entered, other_entered) = (one.enter(), other.enter());
        drop(one_entered);
        assert_eq!(Span::current().id(), other.id());
        drop(other_entered);
        assert!(Span::current().is_none());
    });
}

#[test]
fn a_parent_is_open_as_long_as_its_children() {
    let memory = Memory::default();
    let (guard, dispatch) = own(&memory);
    dispatcher::with_default(&dispatch, || {
        let parent = info_span!("parent", a = 1);
        let child = info_span!(parent: &parent, "child", b = 2);
        drop(parent);
        child.in_scope(|| info!("event"));
    });
    guard.pipeline().flush(LONG).unwrap();
    let [record] = &memory.records()[..] else { panic!("{}", memory.text()) };
    assert_eq!((&record["a"], &record["b"]), (&1.into(), &2.into()));
}

/// A slot is used again, and an id of the span before finds nothing.
#[test]
fn the_id_of_a_closed_span_leads_nowhere() {
    let memory = Memory::default();
    let (guard, dispatch) = own(&memory);
    dispatcher::with_default(&dispatch, || {
        let mut seen = std::collections::HashSet::new();
        let mut closed: Option<Id> = None;
        for _ in 0..1000 {
            let span = info_span!("next", a = 1);
            assert!(seen.insert(span.id()), "each has an id of its own");
            if let Some(closed) = closed.replace(span.id().unwrap()) {
                assert_eq!(dispatch.clone_span(&closed), closed);
                assert!(!dispatch.try_close(closed.clone()));
                dispatch.enter(&closed);
                assert!(Span::current().is_none());
                info!(parent: &closed, "event");
                dispatch.exit(&closed);
            }
        }
    });
    guard.pipeline().flush(LONG).unwrap();
    let records = memory.records();
    assert_eq!(records.len(), 999);
    assert!(records.iter().all(|record| record.get("a").is_none()));
}

/// More than a page of slots, closed by another thread than the one that opened them.
#[test]
fn many_spans_are_open_and_closed_elsewhere() {
    const MANY: u64 = 20_000;
    let memory = Memory::default();
    let (guard, dispatch) = own(&memory);
    for round in 0..3 {
        let spans: Vec<Span> = dispatcher::with_default(&dispatch, || {
            (0..MANY).map(|number| info_span!("span", number, round)).collect()
        });
        thread::scope(|scope| {
            scope.spawn(|| {
                dispatcher::with_default(&dispatch, || {
                    for span in spans.into_iter().step_by(1000) {
                        span.in_scope(|| info!("event"));
                    }
                });
            });
        });
    }
    guard.pipeline().flush(LONG).unwrap();
    let found = memory.records();
    let found = found.iter().map(|it| (it["round"].as_u64(), it["number"].as_u64()));
    let expected = (0..3)
        .flat_map(|round| (0..MANY).step_by(1000).map(move |number| (Some(round), Some(number))));
    assert!(found.eq(expected));
}

/// Two subscribers of one pipeline, whose spans are not each other's parents.
#[test]
fn each_subscriber_has_a_current_span_of_its_own() {
    let memory = Memory::default();
    let (guard, one) = own(&memory);
    let other = Dispatch::new(guard.pipeline().subscriber());
    dispatcher::with_default(&one, || {
        let _outer = info_span!("outer", a = 1).entered();
        dispatcher::with_default(&other, || {
            assert!(Span::current().is_none());
            let _inner = info_span!("inner", b = 2).entered();
            info!("event");
        });
        info!("event");
    });
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(fields(&memory), [["b"], ["a"]]);
}

/// The parent stays open, and belongs to its own subscriber.
#[test]
fn a_span_of_another_subscriber_is_no_parent() {
    let memory = Memory::default();
    let (guard, one) = own(&memory);
    let other = Dispatch::new(guard.pipeline().subscriber());
    dispatcher::with_default(&one, || {
        let outer = info_span!("outer", a = 1);
        let id = outer.id().unwrap();
        dispatcher::with_default(&other, || {
            let inner = info_span!(parent: &outer, "inner", b = 2);
            inner.in_scope(|| info!("event"));
            assert!(!other.try_close(id.clone()));
        });
        outer.in_scope(|| info!("event"));
    });
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(fields(&memory), [["b"], ["a"]]);
}

/// A macro starts no such span, but a caller of `Dispatch` may.
#[test]
fn a_span_beyond_the_filter_is_no_error() {
    let span = || info_span!("span");
    let (_accepts, accepting) = own(&Memory::default());
    let known = dispatcher::with_default(&accepting, || span().metadata()).unwrap();
    let guard = Pipeline::builder().filter("warn").sink(Sink::stderr()).build().unwrap();
    let dispatch = Dispatch::new(guard.pipeline().subscriber());
    dispatcher::with_default(&dispatch, || {
        assert!(span().is_disabled());
        let values = known.fields().value_set(&[]);
        let id = dispatch.new_span(&Attributes::new_root(known, &values));
        dispatch.enter(&id);
        dispatch.exit(&id);
        assert!(dispatch.try_close(id));
    });
}
