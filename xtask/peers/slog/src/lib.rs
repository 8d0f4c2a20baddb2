//! slog's names, of which `Discard` is tach-pipeline's drain, for slog's tests. `cargo xtask peers
//! slog` runs them.

extern crate alloc;
#[macro_use]
extern crate slog;

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
pub use std::sync::Arc;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

pub use slog::*;
use tach_log::Json;
use tach_pipeline::{Guard, Pipeline, Sink};
use test_support::Captured;

const LONG: Duration = Duration::from_secs(60);

/// A pipeline, and what it has written.
struct Written {
    guard: Guard,
    captured: Mutex<Captured>,
}

fn written() -> &'static Written {
    static WRITTEN: OnceLock<Written> = OnceLock::new();
    WRITTEN.get_or_init(|| {
        let captured = Captured::default();
        let sink = Sink::writer("memory", captured.clone()).format(Json::new().join_sources());
        let guard = Pipeline::builder().filter("trace").sink(sink).build().unwrap();
        Written { guard, captured: Mutex::new(captured) }
    })
}

/// The drain that the tests log to. Each record must be written as slog itself serializes it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Discard;

impl Drain for Discard {
    type Ok = ();
    type Err = Never;

    fn log(&self, record: &Record<'_>, values: &OwnedKVList) -> std::result::Result<(), Never> {
        let Written { guard, captured } = written();
        let captured = captured.lock().unwrap_or_else(PoisonError::into_inner);
        let drain: &Pipeline = guard.pipeline();
        drain.log(record, values)?;
        drain.flush(LONG).unwrap();
        let line: BTreeMap<String, serde_json::Value> =
            serde_json::from_str(&captured.take()).unwrap();
        let mut expected = Collected::default();
        record.kv().serialize(record, &mut expected).unwrap();
        values.serialize(record, &mut expected).unwrap();
        // An empty message is left out.
        let message = line.get("msg").map_or("", |message| message.as_str().unwrap());
        assert_eq!(message, record.msg().to_string());
        for key in expected.0.iter().map(|(key, _)| key) {
            let text = match &line[key] {
                serde_json::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            // A key may come twice, and one value counts.
            let mut values = expected.0.iter().filter(|(other, _)| other == key);
            assert!(values.any(|(_, value)| *value == text), "{key}: {text}, not {expected:?}");
        }
        Ok(())
    }
}

/// A drain of a test's, and tach's.
#[derive(Clone)]
pub struct Both<D>(pub D);

impl<D: Drain<Ok = (), Err = Never>> Drain for Both<D> {
    type Ok = ();
    type Err = Never;

    fn log(&self, record: &Record<'_>, values: &OwnedKVList) -> std::result::Result<(), Never> {
        self.0.log(record, values)?;
        Discard.log(record, values)
    }
}

/// The values of a record, as texts.
#[derive(Debug, Default)]
struct Collected(Vec<(String, String)>);

impl Serializer for Collected {
    fn emit_arguments(&mut self, key: Key, value: &fmt::Arguments<'_>) -> Result {
        let mut text = String::new();
        text.write_fmt(*value)?;
        self.0.push((key.to_string(), text));
        Ok(())
    }
}

/// Passes each value to a function.
pub struct AsFmtSerializer<F: for<'a> FnMut(Key, fmt::Arguments<'a>) -> Result>(pub F);

impl<F: for<'a> FnMut(Key, fmt::Arguments<'a>) -> Result> Serializer for AsFmtSerializer<F> {
    fn emit_arguments(&mut self, key: Key, value: &fmt::Arguments<'_>) -> Result {
        (self.0)(key, *value)
    }
}

#[cfg(test)]
mod tests {
    include!(concat!(env!("PEER_TESTS"), "/tests.rs"));
}
