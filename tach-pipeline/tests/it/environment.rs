//! Variables of the environment that can't be used: whoever starts the program sets them, so they
//! fail nothing unless the program asks for that.

use std::env;
use std::sync::{Arc, Mutex};

use log::{Level, Metadata};
use tach_pipeline::{Builder, Pipeline, Sink};
use test_support::test_of_this_program;

use crate::support::LONG;

/// How the child learns of a variable's fault: by an `incident`, on `stderr` or by an `error`. If
/// it is `alone` its only sink is a collector, and if the collector is the `program`'s, no variable
/// is read for it.
const WAY: &str = "TACH_PIPELINE_ENVIRONMENT_WAY";
/// The levels of three targets, as the child finds them.
const LEVELS: &str = "TACH_PIPELINE_ENVIRONMENT_LEVELS";
/// The number of sinks that the child has.
const SINKS: &str = "TACH_PIPELINE_ENVIRONMENT_SINKS";
/// A part of each message, separated by `|`.
const FAULTS: &str = "TACH_PIPELINE_ENVIRONMENT_FAULTS";

fn builder() -> Builder {
    let builder = Pipeline::builder().filter("warn,quiet=off").filter_from_env("RUST_LOG");
    #[cfg(feature = "otlp")]
    let builder = {
        use tach_pipeline::Otlp;
        let is_of_program = env::var(WAY).is_ok_and(|way| way == "program");
        let options = if is_of_program { Otlp::new() } else { Otlp::from_env() };
        let otlp = options.endpoint("http://localhost:1");
        builder.sink(Sink::otlp(otlp.signals([tach_pipeline::Signal::Traces])))
    };
    // A pipeline without any other sink must not print its records on stderr.
    if env::var(WAY).is_ok_and(|way| way == "alone") {
        return builder;
    }
    builder.sink(Sink::writer("nothing", std::io::sink()))
}

/// Returns the most verbose level of three targets.
fn levels(pipeline: &Pipeline) -> String {
    let level = |target| {
        let enabled = |level: &Level| {
            log::Log::enabled(pipeline, &Metadata::builder().level(*level).target(target).build())
        };
        Level::iter().filter(enabled).max().map_or("OFF", |level| level.as_str())
    };
    ["app", "app::db", "quiet"].map(level).join(" ")
}

fn assert_faults(found: &[String]) {
    let wanted = env::var(FAULTS).unwrap();
    let wanted: Vec<_> = wanted.split('|').filter(|wanted| !wanted.is_empty()).collect();
    assert_eq!(found.len(), wanted.len(), "{found:?}");
    for (found, wanted) in found.iter().zip(wanted) {
        assert!(found.contains(wanted), "{found}");
    }
}

/// Not a test: the child process.
#[test]
#[ignore = "the child of the next tests"]
fn child() {
    let Ok(way) = env::var(WAY) else { return };
    let incidents = Arc::<Mutex<Vec<String>>>::default();
    let guard = match &*way {
        "stderr" | "alone" | "program" => builder().build(),
        "incident" => {
            let incidents = Arc::clone(&incidents);
            let report = move |incident: &tach_pipeline::Incident<'_>| {
                incidents.lock().unwrap().push(incident.to_string());
            };
            builder().on_incident(report).build()
        }
        _ => {
            let faults = builder().strict_environment().build().err();
            let faults = faults.iter().flat_map(tach_pipeline::Error::faults);
            return assert_faults(&faults.map(ToString::to_string).collect::<Vec<_>>());
        }
    };
    let guard = guard.unwrap();
    if way == "incident" {
        assert_faults(&incidents.lock().unwrap());
    }
    assert_eq!(levels(guard.pipeline()), env::var(LEVELS).unwrap());
    assert_eq!(guard.pipeline().stats().sinks().len().to_string(), env::var(SINKS).unwrap());
    log::Log::log(guard.pipeline(), &log::Record::builder().level(Level::Error).build());
    guard.pipeline().flush(LONG).unwrap();
}

/// Starts children with these variables in each way.
#[track_caller]
fn check(variables: &[(&str, &str)], levels: &str, sinks: usize, faults: &[&str]) {
    for way in ["incident", "stderr", "error"] {
        let mut child = test_of_this_program("environment::child");
        for variable in
            ["RUST_LOG", "OTEL_TRACES_SAMPLER", "OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER"]
        {
            child.env_remove(variable);
        }
        child.envs(variables.iter().copied()).env(WAY, way).env(LEVELS, levels);
        child.env(SINKS, sinks.to_string()).env(FAULTS, faults.join("|"));
        let output = child.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{variables:?} {way}: {text}");
        let lines: Vec<_> = text.lines().filter(|line| line.contains("environment")).collect();
        let printed: &[&str] = if way == "stderr" { faults } else { &[] };
        assert_eq!(lines.len(), printed.len(), "{variables:?} {way}: {text}");
        for (line, fault) in lines.iter().zip(printed) {
            assert!(line.starts_with("tach-pipeline: ") && line.contains(fault), "{line}");
        }
    }
}

const SINKS_OF_ALL: usize = if cfg!(feature = "otlp") { 2 } else { 1 };

#[test]
fn a_filter_is_used_as_far_as_it_can_be() {
    let default = "WARN WARN OFF";
    for (filter, levels, faults) in [
        ("", default, &[] as &[&str]),
        ("debug", "DEBUG DEBUG DEBUG", &[]),
        ("info,app::db=loud", "INFO INFO INFO", &["\"app::db=loud\" of the variable RUST_LOG"]),
        ("[request]=trace,app=debug", "DEBUG DEBUG OFF", &["\"[request]=trace\""]),
        ("app=debug/pattern", "DEBUG DEBUG OFF", &["\"/pattern\""]),
        ("info,warning", "INFO INFO INFO", &["write \"warn\" for the level"]),
        // Nothing can be used, so the program's filter stays.
        ("inof", default, &["write \"info\" for the level"]),
        ("a=b=c,app=loud", default, &["\"a=b=c\"", "\"app=loud\""]),
    ] {
        check(&[("RUST_LOG", filter)], levels, SINKS_OF_ALL, faults);
    }
}

#[cfg(unix)]
#[test]
fn a_filter_that_is_not_unicode_is_ignored() {
    use std::os::unix::ffi::OsStrExt as _;

    let mut child = test_of_this_program("environment::child");
    child.env("RUST_LOG", std::ffi::OsStr::from_bytes(b"debug\xff")).env(WAY, "incident");
    child.env(LEVELS, "WARN WARN OFF").env(SINKS, SINKS_OF_ALL.to_string());
    child.env(FAULTS, "in the variable RUST_LOG: it must be Unicode");
    let output = child.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[cfg(feature = "otlp")]
#[test]
fn opentelemetry_s_variables_fail_nothing_and_may_disable_collectors() {
    let default = "WARN WARN OFF";
    let sampler = "can't use OTEL_TRACES_SAMPLER \"xray\": it must be";
    let disabled = "can't use OTEL_SDK_DISABLED \"1\": it must be true or false";
    let filter = "\"app=loud\" of the variable RUST_LOG";
    for (variables, sinks, faults) in [
        (&[("OTEL_TRACES_SAMPLER", "xray")] as &[(&str, &str)], 2, &[sampler] as &[&str]),
        (&[("OTEL_TRACES_SAMPLER", "always_off")], 2, &[]),
        (&[("OTEL_SDK_DISABLED", "1")], 2, &[disabled]),
        (&[("OTEL_SDK_DISABLED", "false")], 2, &[]),
        (&[("OTEL_SDK_DISABLED", "true")], 1, &[]),
        (&[("OTEL_TRACES_EXPORTER", "none")], 1, &[]),
        (
            &[
                ("RUST_LOG", "app=loud"),
                ("OTEL_TRACES_SAMPLER", "xray"),
                ("OTEL_SDK_DISABLED", "1"),
            ],
            2,
            &[filter, sampler, disabled],
        ),
    ] {
        check(variables, default, sinks, faults);
    }
}

/// A program that names its collector itself reads no variable for it.
#[cfg(feature = "otlp")]
#[test]
fn a_program_s_own_collector_is_not_disabled() {
    let mut child = test_of_this_program("environment::child");
    child.env("OTEL_SDK_DISABLED", "true").env(WAY, "program").env_remove("RUST_LOG");
    let output = child.env(LEVELS, "WARN WARN OFF").env(SINKS, "2").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Without its only sink, a pipeline prints nothing either.
#[cfg(feature = "otlp")]
#[test]
fn a_pipeline_whose_collector_is_disabled_is_silent() {
    let mut child = test_of_this_program("environment::child");
    child.env("OTEL_SDK_DISABLED", "true").env(WAY, "alone").env_remove("RUST_LOG");
    // Its spans still pass on the contexts of callers.
    let output = child.env(LEVELS, "WARN WARN OFF").env(SINKS, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !text.contains("ERROR"), "{text}");
}

/// Not a test: the child process of the next test.
#[cfg(feature = "otlp")]
#[test]
#[ignore = "the child of the next test"]
fn child_with_a_recorder() {
    use tach_pipeline::{FlightFormat, FlightRecorder, Otlp};

    if env::var(WAY).is_err() {
        return;
    }
    let folder = crate::support::Folder::new("environment");
    let format = FlightFormat::otlp(&Otlp::from_env());
    let recorder = FlightRecorder::new().folder(folder.path("flight"), format).slower_than(LONG);
    let incidents = Arc::<Mutex<Vec<String>>>::default();
    let of_pipeline = Arc::clone(&incidents);
    let builder = Pipeline::builder().sink(Sink::writer("nothing", std::io::sink()));
    let builder = builder.flight_recorder(recorder).on_incident(move |incident| {
        of_pipeline.lock().unwrap().push(incident.to_string());
    });
    drop(builder.build().unwrap());
    assert_faults(&incidents.lock().unwrap());
}

#[cfg(feature = "otlp")]
#[test]
fn a_recorder_s_format_names_the_variables_that_it_can_t_use() {
    let mut child = test_of_this_program("environment::child_with_a_recorder");
    child.env("OTEL_SPAN_EVENT_COUNT_LIMIT", "many").env(WAY, "incident").env_remove("RUST_LOG");
    child.env(FAULTS, "can't use OTEL_SPAN_EVENT_COUNT_LIMIT \"many\"");
    let output = child.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
