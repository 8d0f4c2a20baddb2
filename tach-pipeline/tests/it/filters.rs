//! The filters of a pipeline, of a sink, and of a layer.

use core::mem;
use core::time::Duration;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use log::Log as _;
use log::{Level, LevelFilter};
use tach_log::Json;
use tach_pipeline::{Builder, Incident, Pipeline, Sink, SinkStats};

use crate::support::{LONG, Memory};

fn log(logger: &Pipeline, level: Level, target: &str) {
    let message = format!("{level} {target}");
    let record = log::Record::builder();
    logger.log(&{ record }.level(level).target(target).args(format_args!("{message}")).build());
}

fn logged(builder: Builder) -> Vec<String> {
    let memory = Memory::default();
    let guard = builder.sink(memory.json()).build().unwrap();
    for level in Level::iter() {
        log(guard.pipeline(), level, "app");
    }
    guard.pipeline().flush(LONG).unwrap();
    memory.messages()
}

#[test]
fn records_up_to_info_are_logged_unless_a_filter_is_set() {
    assert_eq!(logged(Pipeline::builder()), ["ERROR app", "WARN app", "INFO app"]);
    assert_eq!(logged(Pipeline::builder().filter("error")), ["ERROR app"]);
    let builder = Pipeline::builder().filter("error").filter_from_env("TACH_PIPELINE_NO_VARIABLE");
    assert_eq!(logged(builder), ["ERROR app"]);
}

/// A word for no level is a target, and would switch the log off.
#[test]
fn a_word_that_was_meant_as_a_level_is_an_error() {
    let fault = |fault: tach_pipeline::Error| {
        assert!(fault.is_option());
        fault.to_string()
    };
    for word in ["warning", "inof", "ERR", "all", "none", "verbose", "fatal", "critical"] {
        let sink = Sink::stderr().filter(format!("info,{word}"));
        let error = fault(Pipeline::builder().filter(word).sink(sink).build().unwrap_err());
        assert_eq!(error.lines().count(), 3, "{error}");
        assert_eq!(error.matches(&format!("{word:?} alone is a target")).count(), 2, "{error}");
    }
    let guard = Pipeline::builder().sink(Memory::default().json()).build().unwrap();
    assert!(fault(guard.pipeline().set_filter("warning").unwrap_err()).contains("\"warn\""));
    assert_eq!(guard.pipeline().max_level(), LevelFilter::Info);
    assert_eq!(logged(Pipeline::builder().filter("app")).len(), 5);
    assert_eq!(logged(Pipeline::builder().filter("warn=info,app")).len(), 5);
}

#[test]
fn a_filter_that_selects_nothing_is_reported() {
    let doubted = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&doubted);
    let guard = Pipeline::builder()
        .filter("my-app=debug,info")
        .sink(Memory::default().json().filter("a-sink"))
        .on_incident(move |incident| {
            if let Incident::Filter { directive, .. } = incident {
                note.lock().unwrap().push((*directive).to_owned());
            }
        })
        .build()
        .unwrap();
    guard.pipeline().set_filter("later-on=info").unwrap();
    assert_eq!(*doubted.lock().unwrap(), ["my-app=debug", "a-sink", "later-on=info"]);
    assert_eq!(logged(Pipeline::builder().filter("my-app=debug,info")).len(), 3);
}

#[test]
fn a_filter_for_a_time_returns_to_the_one_before() {
    let builder = Pipeline::builder().filter("warn").sink(Memory::default().json().filter("info"));
    let guard = builder.build().unwrap();
    assert_eq!(guard.pipeline().current_sink_filter("memory").unwrap(), "info");
    assert_eq!(guard.pipeline().current_sink_filter("none"), None);
    let (short, lasting) = (Duration::from_millis(20), Duration::from_secs(9999));
    // The end of the first time changes nothing: the filter was changed meanwhile.
    guard.pipeline().set_filter_for("debug", short).unwrap();
    guard.pipeline().set_filter_for("info", lasting).unwrap();
    thread::sleep(5 * short);
    assert_eq!(guard.pipeline().current_filter(), "info");
    guard.pipeline().set_filter("off").unwrap();
    guard.pipeline().set_filter_for("error", lasting).unwrap();
    assert_eq!(guard.pipeline().max_level(), LevelFilter::Error);
    // After several filters for a time, the filter from before the first one returns.
    guard.pipeline().set_filter_for("info", short).unwrap();
    guard.pipeline().set_filter_for("debug", short).unwrap();
    // If it never does, the test runner notices.
    let now = || (guard.pipeline().current_filter(), guard.pipeline().max_level());
    while now() != ("off".to_owned(), LevelFilter::Off) {
        thread::sleep(Duration::from_millis(1));
    }
    assert!(guard.pipeline().set_filter_for("warning", Duration::from_secs(1)).is_err());
    assert_eq!(guard.pipeline().current_filter(), "off");
}

#[test]
fn sinks_of_one_stream_have_names() {
    let sink = |name| Sink::writer("memory", std::io::sink()).filter("info").name(name);
    let guard = Pipeline::builder().sink(sink("lines")).sink(sink("audit")).build().unwrap();
    guard.pipeline().set_sink_filter("audit", "warn").unwrap();
    let filter = |name| guard.pipeline().current_sink_filter(name).unwrap();
    assert_eq!([filter("lines"), filter("audit")], ["info", "warn"]);
    let stats = guard.pipeline().stats();
    let names: Vec<_> = stats.sinks().iter().map(SinkStats::name).collect();
    assert_eq!(names, ["lines", "audit"]);
    let error = Pipeline::builder().sink(sink("")).build().unwrap_err().to_string();
    assert!(error.contains("Sink::name(\"\") for memory"), "{error}");
}

/// A function can select a level and the more verbose ones, which no other filter can.
#[test]
fn a_function_decides_with_the_filter_of_a_sink() {
    let (below, app, panics) = (Memory::default(), Memory::default(), Memory::default());
    let guard = Pipeline::builder()
        .filter("debug")
        .sink(below.json().only(|it| it.level() >= Level::Info))
        .sink(app.json().only(|it| it.target() == "app").filter("warn"))
        .sink(panics.json().only(|_| panic!("on purpose")).filter("error"))
        .build()
        .unwrap();
    for target in ["app", "other"] {
        Level::iter().for_each(|level| log(guard.pipeline(), level, target));
    }
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(below.messages(), ["INFO app", "DEBUG app", "INFO other", "DEBUG other"]);
    assert_eq!(app.messages(), ["ERROR app", "WARN app"]);
    assert_eq!(panics.messages(), ["ERROR app", "ERROR other"]);
}

/// Otherwise each of its records would cause another call, without end.
#[test]
fn a_function_that_logs_does_not_feed_itself() {
    let memory = Memory::default();
    let own: Arc<OnceLock<Pipeline>> = Arc::default();
    let logger = Arc::clone(&own);
    let only = move |_: &log::Metadata<'_>| {
        logger.get().is_none_or(|logger| {
            log(logger, Level::Error, "the function");
            true
        })
    };
    let guard = Pipeline::builder().sink(memory.json().only(only)).build().unwrap();
    assert!(own.set(guard.pipeline().clone()).is_ok());
    for _ in 0..2 {
        log(guard.pipeline(), Level::Error, "app");
        guard.pipeline().flush(LONG).unwrap();
    }
    assert_eq!(memory.messages(), ["ERROR app", "ERROR app"]);
}

#[test]
fn each_sink_writes_what_its_own_filter_passes() {
    let (all, db, quiet) = (Memory::default(), Memory::default(), Memory::default());
    let guard = Pipeline::builder()
        .filter("info,app::db=debug")
        .sink(all.json())
        .sink(db.json().filter("app::db=trace"))
        .sink(quiet.json().filter("warn,app::db=off"))
        .build()
        .unwrap();
    for target in ["app", "app::db"] {
        for level in [Level::Warn, Level::Info, Level::Debug, Level::Trace] {
            log(guard.pipeline(), level, target);
        }
    }
    guard.pipeline().flush(LONG).unwrap();
    let of_db = ["WARN app::db", "INFO app::db", "DEBUG app::db"];
    let of_all: Vec<_> = ["WARN app", "INFO app"].into_iter().chain(of_db).collect();
    assert_eq!(all.messages(), of_all);
    assert_eq!(db.messages(), of_db);
    assert_eq!(quiet.messages(), ["WARN app"]);
}

/// Two sinks that share a format and a filter share the formatted records, until one of them gets
/// another filter.
#[test]
fn a_sink_s_filter_changes_at_run_time() {
    let memories = [(); 4].map(|()| Memory::default());
    let [first, second, only, text] = &memories;
    let json = |name, memory: &Memory| Sink::writer(name, memory.clone()).format(Json::new());
    let builder = Pipeline::builder().filter("debug").sink(json("first", first).filter("info"));
    let builder = builder.sink(json("second", second).filter("info"));
    let builder = builder.sink(json("only", only).only(|it| it.target() == "app").filter("info"));
    let text = Sink::writer("text", text.clone()).filter("error");
    let guard = builder.sink(text.format(Json::new().without("span"))).build().unwrap();
    let round = || {
        for target in ["app", "db"] {
            Level::iter().for_each(|level| log(guard.pipeline(), level, target));
        }
    };
    let mut seen = [0; 4];
    let mut written = || {
        guard.pipeline().flush(LONG).unwrap();
        let mut new = memories.iter().zip(&mut seen).map(|(memory, seen)| {
            let messages = memory.messages();
            let new = messages[mem::replace(seen, messages.len())..].join(" ");
            new.replace("ERROR", "E")
                .replace("WARN", "W")
                .replace("INFO", "I")
                .replace("DEBUG", "D")
        });
        [(); 4].map(|()| new.next().unwrap())
    };
    let info = "E app W app I app E db W db I db";
    assert_eq!(guard.pipeline().max_level(), LevelFilter::Info);
    round();
    assert_eq!(written(), [info, info, "E app W app I app", "E app E db"]);
    // Records that were logged before the change may meet either filter, those after it the new.
    guard.pipeline().set_sink_filter("second", "warn,db=debug").unwrap();
    assert_eq!(guard.pipeline().max_level(), LevelFilter::Debug);
    round();
    let second = "E app W app E db W db I db D db";
    assert_eq!(written(), [info, second, "E app W app I app", "E app E db"]);
    // The function still decides.
    guard.pipeline().set_sink_filter("only", "debug").unwrap();
    guard.pipeline().set_sink_filter("first", "off").unwrap();
    round();
    assert_eq!(written(), ["", second, "E app W app I app D app", "E app E db"]);
    for name in ["first", "second", "text"] {
        guard.pipeline().set_sink_filter(name, "error").unwrap();
    }
    round();
    let errors = "E app E db";
    assert_eq!(written(), [errors, errors, "E app W app I app D app", errors]);
    let names: Vec<_> =
        guard.pipeline().stats().sinks().iter().map(|it| it.name().to_owned()).collect();
    assert_eq!(names, ["first", "second", "only", "text"]);
    assert_eq!(guard.pipeline().stats().sinks().iter().map(SinkStats::dropped).sum::<u64>(), 0);
}

/// The back end itself writes to a pipeline's only sink.
#[test]
fn the_filter_of_an_only_sink_changes_at_run_time() {
    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json().filter("error")).build().unwrap();
    log(guard.pipeline(), Level::Info, "before");
    guard.pipeline().set_sink_filter("memory", "info").unwrap();
    log(guard.pipeline(), Level::Info, "after");
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(memory.messages(), ["INFO after"]);
    let error = guard.pipeline().set_sink_filter("memory", "app=loud").unwrap_err();
    assert!(error.is_option() && error.to_string().contains("of the sink memory"), "{error}");
    let error = guard.pipeline().set_sink_filter("stderr", "info").unwrap_err();
    let expected = "can't use Pipeline::set_sink_filter(\"stderr\", ..): the sinks with a filter are \
                    memory";
    assert!(error.is_option());
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_sink_s_invalid_filter_is_an_error() {
    let sink = Memory::default().json().filter("app=loud");
    let error = Pipeline::builder().sink(sink).build().unwrap_err();
    assert!(error.is_option(), "{error}");
}

#[cfg(feature = "tracing")]
mod of_tracing {
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

    use super::*;

    /// A layer that keeps the names of the spans and the targets of the events.
    #[derive(Clone, Default)]
    struct Seen(Arc<Mutex<Vec<&'static str>>>);

    impl<S: tracing::Subscriber> Layer<S> for Seen {
        fn on_new_span(
            &self,
            span: &tracing::span::Attributes<'_>,
            _: &tracing::span::Id,
            _: Context<'_, S>,
        ) {
            self.0.lock().unwrap().push(span.metadata().name());
        }

        fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
            self.0.lock().unwrap().push(event.metadata().target());
        }
    }

    fn events() {
        let _shown = tracing::info_span!("shown", a = 1).entered();
        let _hidden = tracing::debug_span!("hidden", b = 2).entered();
        tracing::info!(target: "info", "said");
        tracing::debug!(target: "debug", "said");
        tracing::error!(target: "quiet", "said");
    }

    /// Logs before and after a change of the filter. Returns each record's target, spans and `b`.
    fn run(layered: impl FnOnce(&Pipeline, &dyn Fn()), again: &str) -> Vec<String> {
        let memory = Memory::default();
        let builder = Pipeline::builder().sink(memory.json()).filter("info,quiet=off");
        let guard = builder.build().unwrap();
        layered(guard.pipeline(), &|| {
            events();
            guard.pipeline().set_filter(again).unwrap();
            events();
        });
        guard.pipeline().flush(LONG).unwrap();
        let of = |record: &serde_json::Value| {
            format!("{} {} {}", record["target"], record["span"], record["b"]).replace('"', "")
        };
        memory.records().iter().map(of).collect()
    }

    #[test]
    fn the_filter_is_that_of_all_layers_and_of_spans_and_may_change() {
        let seen = Seen::default();
        let logged = run(
            |pipeline, f| {
                let all = tracing_subscriber::registry().with(seen.clone()).with(pipeline.clone());
                tracing::subscriber::with_default(all, f);
            },
            "trace",
        );
        let second = ["info shown:hidden 2", "debug shown:hidden 2", "quiet shown:hidden 2"];
        let expected: Vec<_> = ["info shown null"].into_iter().chain(second).collect();
        assert_eq!(logged, expected);
        let expected = ["shown", "info", "shown", "hidden", "info", "debug", "quiet"];
        assert_eq!(*seen.0.lock().unwrap(), expected);
    }

    #[test]
    fn the_filter_of_a_layer_alone_leaves_the_others_what_it_refuses() {
        let seen = Seen::default();
        let logged = run(
            |pipeline, f| {
                let all = tracing_subscriber::registry().with(seen.clone()).with(pipeline.layer());
                tracing::subscriber::with_default(all, f);
            },
            "warn",
        );
        assert_eq!(logged, ["info shown null", "quiet null null"]);
        let each = ["shown", "hidden", "info", "debug", "quiet"];
        assert_eq!(*seen.0.lock().unwrap(), [each, each].concat());
    }

    /// A `Vec` of layers is as interested as the most interested one.
    #[test]
    fn a_layer_logs_only_what_it_wants_beside_one_that_wants_more() {
        let memories = [Memory::default(), Memory::default()];
        let builder = |at: usize| Pipeline::builder().sink(memories[at].json());
        let few = builder(0).filter("warn").build().unwrap();
        let many = builder(1).filter("debug").build().unwrap();
        let layers = vec![few.pipeline().clone().boxed(), many.pipeline().clone().boxed()];
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layers), || {
            let _span = tracing::info_span!("span", a = 1).entered();
            tracing::info!("info");
            tracing::warn!("warn");
        });
        few.pipeline().flush(LONG).unwrap();
        many.pipeline().flush(LONG).unwrap();
        assert_eq!(memories[0].messages(), ["warn"]);
        assert_eq!(memories[1].messages(), ["info", "warn"]);
        assert_eq!(memories[1].records()[0]["a"], 1);
    }
}
