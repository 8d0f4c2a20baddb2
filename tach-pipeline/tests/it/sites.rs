//! Where a record comes from, for formats that ask for it.

use serde_json::Value;
use tach_log::{Json, Part};
use tach_pipeline::Pipeline;

use crate::support::{LONG, Memory, info};
#[cfg(feature = "tracing")]
use crate::support::{in_subscriber, subscriber};

fn json() -> Json {
    let json =
        Json::new().with("file", Part::File).with("line", Part::Line).with("module", Part::Module);
    json.with("thread", Part::ThreadName).with("thread_id", Part::ThreadId)
}

/// Calls `log` in a thread with a name, and returns the records.
fn logged(log: impl FnOnce(&Pipeline) + Send) -> Vec<Value> {
    let memory = Memory::default();
    let plain = Memory::default();
    let guard = Pipeline::builder().sink(memory.json().format(json())).sink(plain.json());
    let guard = guard.build().unwrap();
    let id = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("named \"one\"".to_owned());
        let log = || {
            log(guard.pipeline());
            std::thread::current().id()
        };
        thread.spawn_scoped(scope, log).unwrap().join().unwrap()
    });
    guard.pipeline().flush(LONG).unwrap();
    let records = memory.records();
    for record in &records {
        assert_eq!(record["thread"], "named \"one\"");
        assert_eq!(format!("ThreadId({})", record["thread_id"]), format!("{id:?}"));
    }
    // A format that asks for none of these parts is not changed.
    for (record, plain) in records.iter().zip(plain.records()) {
        let mut record = record.clone();
        let of_site = ["file", "line", "module", "thread", "thread_id"];
        record.as_object_mut().unwrap().retain(|key, _| !of_site.contains(&key.as_str()));
        assert_eq!(record, plain);
    }
    records
}

fn assert_here(record: &Value, line: u32) {
    assert_eq!(record["file"], file!());
    assert_eq!(record["line"], line);
    assert_eq!(record["module"], module_path!());
}

#[test]
fn records_of_log_have_their_place_and_thread() {
    log::set_max_level(log::LevelFilter::Trace);
    let records = logged(|pipeline| {
        for _ in 0..2 {
            log::info!(logger: pipeline, target: "other", k = 1; "said {}", 1);
        }
        info(pipeline, "from nowhere");
    });
    for record in &records[..2] {
        assert_here(record, line!() - 5);
        assert_eq!((&record["msg"], &record["k"]), (&"said 1".into(), &1.into()));
    }
    assert_eq!(records[2].get("file").or(records[2].get("line")), None, "{}", records[2]);
}

#[cfg(feature = "slog")]
#[test]
fn records_of_slog_have_their_place_and_thread() {
    use slog::Drain as _;
    let records = logged(|pipeline| {
        let log = slog::Logger::root(pipeline.clone().fuse(), slog::o!("k" => 1));
        slog::info!(log, "said"; "own" => 2);
    });
    assert_here(&records[0], line!() - 2);
    assert_eq!((&records[0]["own"], &records[0]["k"]), (&2.into(), &1.into()));
}

#[cfg(feature = "tracing")]
#[test]
fn events_of_tracing_have_their_place_and_thread() {
    let records = logged(|pipeline| {
        let subscriber = subscriber(pipeline);
        tracing::dispatcher::with_default(&subscriber, || {
            let _span = tracing::info_span!("span", a = 1).entered();
            tracing::info!(k = 2, "said {}", 1);
            tracing::info!("said");
            tracing::info!(k = 2);
            tracing::info!(k = "text", message = "a field");
        });
    });
    let first = line!() - 6;
    for (record, line) in records.iter().zip(first..) {
        assert_here(record, line);
        assert_eq!((&record["span"], &record["a"]), (&"span".into(), &1.into()));
    }
    let messages: Vec<_> = records.iter().map(|record| record.get("msg")).collect();
    assert_eq!(messages, [Some(&"said 1".into()), Some(&"said".into()), None, None]);
    assert_eq!(records[3]["message"], "a field");
}

/// Spans as a list, each with its fields.
#[cfg(feature = "tracing")]
#[test]
fn spans_may_be_nested() {
    let memory = Memory::default();
    let format = Json::empty().with("msg", Part::Message).spans("spans");
    let sink = tach_pipeline::Sink::writer("memory", memory.clone()).format(format);
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    in_subscriber(guard.pipeline(), || {
        let outer = tracing::info_span!("outer", id = 1, name = "own", k = 0).entered();
        outer.record("k", 1);
        let _inner = tracing::info_span!("inner", id = 2).entered();
        tracing::info!(id = 3, spans = 4, "said");
    });
    in_subscriber(guard.pipeline(), || {
        tracing::info!(id = 5);
    });
    guard.pipeline().flush(LONG).unwrap();
    let nested = r#"[{"name":"outer","id":1,"name_":"own","k":1},{"name":"inner","id":2}]"#;
    let expected =
        format!("{{\"msg\":\"said\",\"spans\":{nested},\"id\":3,\"spans_\":4}}\n{{\"id\":5}}\n");
    assert_eq!(memory.text(), expected);
}
