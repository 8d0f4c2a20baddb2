//! Errors and nested values, from each front end.

use core::error::Error;
use core::fmt;

use serde_json::{Value, json};
use tach_pipeline::Pipeline;

#[cfg(feature = "tracing")]
use crate::support::subscriber;
use crate::support::{LONG, Memory};

#[derive(Debug)]
struct Failed(&'static str, Option<Box<Failed>>);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for Failed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.1.as_deref().map(|source| source as _)
    }
}

fn chain() -> Failed {
    Failed("no config", Some(Box::new(Failed("no file", Some(Box::new(Failed("no disk", None)))))))
}

/// Returns the fields of each record.
fn fields(memory: &Memory) -> Vec<Value> {
    let head = ["ts", "level", "target", "msg"];
    let mut records = memory.records();
    for record in &mut records {
        record.as_object_mut().unwrap().retain(|key, _| !head.contains(&&**key));
    }
    records
}

#[cfg(feature = "slog")]
#[test]
fn slog_s_errors_have_their_sources() {
    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json()).build().unwrap();
    let log = slog::Logger::root(guard.pipeline().clone(), slog::o!());
    for error in [Failed("alone", None), chain()] {
        slog::error!(log, "failed"; "err" => #&error);
    }
    guard.pipeline().flush(LONG).unwrap();
    let of_chain = json!({ "err": "no config", "err_sources": ["no file", "no disk"] });
    assert_eq!(fields(&memory), [json!({ "err": "alone" }), of_chain]);
}

#[cfg(feature = "tracing")]
#[test]
fn tracing_s_errors_have_their_sources() {
    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json()).build().unwrap();
    let subscriber = subscriber(guard.pipeline());
    tracing::dispatcher::with_default(&subscriber, || {
        tracing::error!(err = &Failed("alone", None) as &dyn Error, "failed");
        let span = tracing::info_span!("span", cause = &chain() as &dyn Error).entered();
        tracing::error!(err = &chain() as &dyn Error, "failed");
        drop(span);
        tracing::error!(message = &chain() as &dyn Error);
    });
    guard.pipeline().flush(LONG).unwrap();
    let sources = json!(["no file", "no disk"]);
    let of_chain = json!({
        "err": "no config", "err_sources": sources, "cause": "no config", "cause_sources": sources,
        "span": "span",
    });
    assert_eq!(fields(&memory), [json!({ "err": "alone" }), of_chain, json!({})]);
    assert_eq!(memory.messages()[2], "no config: no file: no disk");
}

mod nested {
    use log::Log as _;
    use log::kv::Value as KvValue;
    use tach_log::Json;
    use tach_pipeline::{JournalExport, Sink};

    use super::*;

    fn log(pipeline: &Pipeline, values: &[(&str, KvValue<'_>)]) {
        pipeline.log(
            &log::Record::builder()
                .level(log::Level::Error)
                .args(format_args!("failed"))
                .key_values(&values)
                .build(),
        );
    }

    #[test]
    fn log_s_nested_values_and_errors_are_json() {
        let memory = Memory::default();
        let guard = Pipeline::builder().sink(memory.json()).build().unwrap();
        let user = json!({ "name": "a\nb\u{202e}", "ids": [1, 2.5, null], "é": {} });
        let error = chain();
        let error: &(dyn Error + 'static) = &error;
        let values = [
            ("user", KvValue::from_serde(&user)),
            ("err", KvValue::from_dyn_error(error)),
            ("k", 1.into()),
        ];
        log(guard.pipeline(), &values);
        log(guard.pipeline(), &values);
        guard.pipeline().flush(LONG).unwrap();
        let sources = ["no file", "no disk"];
        let expected = json!({ "user": user, "err": "no config", "err_sources": sources, "k": 1 });
        assert_eq!(fields(&memory), [expected.clone(), expected]);
    }

    #[test]
    fn sval_s_values_are_json() {
        let memory = Memory::default();
        let guard = Pipeline::builder().sink(memory.json()).build().unwrap();
        // Not an array, since the bridge from sval to serde refuses arrays.
        let list = vec![1, 2];
        log(
            guard.pipeline(),
            &[("list", KvValue::from_sval(&list)), ("one", KvValue::from_sval(&1))],
        );
        guard.pipeline().flush(LONG).unwrap();
        assert_eq!(fields(&memory), [json!({ "list": [1, 2], "one": 1 })]);
    }

    /// Its serialization fails or panics half-way.
    struct Bad(bool);

    impl serde_core::Serialize for Bad {
        fn serialize<S: serde_core::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            use serde_core::ser::SerializeSeq as _;
            let mut list = to.serialize_seq(None)?;
            list.serialize_element(&1)?;
            assert!(self.0, "as meant");
            Err(serde_core::ser::Error::custom("as meant"))
        }
    }

    #[test]
    fn a_value_that_fails_or_panics_leaves_the_rest_whole() {
        let memory = Memory::default();
        let guard = Pipeline::builder().sink(memory.json()).build().unwrap();
        for value in [Bad(true), Bad(false)] {
            log(guard.pipeline(), &[("bad", KvValue::from_serde(&value)), ("k", 1.into())]);
        }
        guard.pipeline().flush(LONG).unwrap();
        let expected = ["[1<failed to format>", "[1<panicked>"];
        assert_eq!(fields(&memory), expected.map(|bad| json!({ "bad": bad, "k": 1 })));
    }

    #[cfg(feature = "slog")]
    #[test]
    fn slog_s_nested_values_are_json() {
        let memory = Memory::default();
        let guard = Pipeline::builder().sink(memory.json()).build().unwrap();
        let log = slog::Logger::root(
            guard.pipeline().clone(),
            slog::o!("outer" => slog::Serde(json!([1]))),
        );
        slog::info!(log, "said"; "inner" => slog::Serde(json!({ "k": "\"" })));
        guard.pipeline().flush(LONG).unwrap();
        assert_eq!(fields(&memory), [json!({ "inner": { "k": "\"" }, "outer": [1] })]);
    }

    #[test]
    fn redacted_keys_are_hidden_within_nested_values() {
        let memory = Memory::default();
        let builder = Pipeline::builder().sink(memory.json()).redact(["password", "err"]);
        let guard = builder.build().unwrap();
        let user = json!([{ "name": "a", "Password": { "new": "s" } }]);
        let error = chain();
        let error: &(dyn Error + 'static) = &error;
        let values =
            [("users", KvValue::from_serde(&user)), ("err", KvValue::from_dyn_error(error))];
        log(guard.pipeline(), &values);
        guard.pipeline().flush(LONG).unwrap();
        let users = json!([{ "name": "a", "Password": "[redacted]" }]);
        assert_eq!(fields(&memory), [json!({ "users": users, "err": "[redacted]" })]);
    }

    #[test]
    fn nested_values_of_long_records_are_cut_as_texts() {
        let memory = Memory::default();
        let sink = memory.json().format(Json::empty());
        let guard = Pipeline::builder().sink(sink).max_record_bytes(512).build().unwrap();
        let (short, long) = (json!([1, 2]), json!(["x".repeat(1_000)]));
        let values = [("short", KvValue::from_serde(&short)), ("long", KvValue::from_serde(&long))];
        log(guard.pipeline(), &values);
        guard.pipeline().flush(LONG).unwrap();
        let record = &fields(&memory)[0];
        assert_eq!(record["short"], short);
        let kept = record["long"].as_str().unwrap();
        assert!(kept.starts_with("[\"xxx") && kept.len() > 100, "{record}");
        assert_eq!(record["truncated_bytes"], 1_004 - kept.len());
    }

    struct Panics;

    impl serde_core::Serialize for Panics {
        fn serialize<S: serde_core::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            panic!("on purpose")
        }
    }

    #[test]
    fn a_value_of_serde_that_panics_costs_its_field_alone() {
        let memory = Memory::default();
        let sink = memory.json().format(Json::empty());
        let guard = Pipeline::builder().sink(sink).build().unwrap();
        let values =
            [("before", 1.into()), ("panics", KvValue::from_serde(&Panics)), ("behind", 2.into())];
        log(guard.pipeline(), &values);
        guard.pipeline().flush(LONG).unwrap();
        let expected = json!({ "before": 1, "panics": "<panicked>", "behind": 2 });
        assert_eq!(fields(&memory), [expected]);
    }

    #[test]
    fn a_deep_value_is_cut() {
        let memory = Memory::default();
        let sink = memory.json().format(Json::empty());
        let guard = Pipeline::builder().sink(sink).build().unwrap();
        let value = (0..70).fold(json!(1), |value, _| json!([value]));
        log(guard.pipeline(), &[("deep", KvValue::from_serde(&value)), ("behind", 2.into())]);
        guard.pipeline().flush(LONG).unwrap();
        let record = &fields(&memory)[0];
        let kept = (0..64).fold(json!("…"), |value, _| json!([value]));
        assert_eq!((&record["deep"], &record["behind"]), (&kept, &json!(2)));
        assert_eq!(record["truncated_bytes"], "[[[[[[1]]]]]]".len());
    }

    #[test]
    fn the_journal_has_json_and_the_joined_text_of_an_error() {
        let memory = Memory::default();
        let sink = Sink::writer("memory", memory.clone()).format(JournalExport::new());
        let guard = Pipeline::builder().sink(sink).build().unwrap();
        let list = json!([1, "a b"]);
        let error = chain();
        let error: &(dyn Error + 'static) = &error;
        log(
            guard.pipeline(),
            &[("list", KvValue::from_serde(&list)), ("err", KvValue::from_dyn_error(error))],
        );
        guard.pipeline().flush(LONG).unwrap();
        let end = "LIST=[1,\"a b\"]\nERR=no config: no file: no disk\n\n";
        assert!(memory.text().ends_with(end), "{}", memory.text());
    }
}
