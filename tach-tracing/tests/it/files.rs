//! Every timer in every format, written to real files and read back.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracing::subscriber::with_default;
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry;

use crate::timers;

fn create(name: &str) -> (Arc<File>, PathBuf) {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    (Arc::new(File::create(&path).unwrap()), path)
}

fn log() {
    tracing::info_span!("request", id = 7).in_scope(|| tracing::info!(answer = 42, "event"));
}

#[test]
fn full_lines_begin_with_the_time() {
    for (i, (timer, text)) in timers::still().into_iter().enumerate() {
        let (file, path) = create(&format!("full-{i}.log"));
        let subscriber = fmt().with_ansi(false).with_writer(file).with_timer(timer).finish();
        with_default(subscriber, log);
        let line = format!("{text}  INFO request{{id=7}}: it::files: event answer=42\n");
        assert_eq!(fs::read_to_string(path).unwrap(), line);
    }
}

#[test]
fn compact_lines_begin_with_the_time() {
    for (i, (timer, text)) in timers::still().into_iter().enumerate() {
        let (file, path) = create(&format!("compact-{i}.log"));
        let builder = fmt().compact().with_ansi(false).with_writer(file);
        with_default(builder.with_timer(timer).finish(), log);
        let line = format!("{text}  INFO request: it::files: event answer=42 id=7\n");
        assert_eq!(fs::read_to_string(path).unwrap(), line);
    }
}

#[test]
fn pretty_events_begin_with_the_time() {
    for (i, (timer, text)) in timers::still().into_iter().enumerate() {
        let (file, path) = create(&format!("pretty-{i}.log"));
        let builder = fmt().pretty().with_ansi(false).with_writer(file);
        with_default(builder.with_timer(timer).finish(), log);
        let start = format!("  {text}  INFO it::files: event, answer: 42\n    at ");
        let written = fs::read_to_string(path).unwrap();
        assert!(written.starts_with(&start), "{written}");
    }
}

#[test]
fn json_has_the_time_as_a_string() {
    for (i, (timer, text)) in timers::still().into_iter().enumerate() {
        let (file, path) = create(&format!("json-{i}.log"));
        let subscriber = fmt().json().with_writer(file).with_timer(timer).finish();
        with_default(subscriber, || {
            log();
            log();
        });
        let written = fs::read_to_string(path).unwrap();
        assert_eq!(written.lines().count(), 2);
        for line in written.lines() {
            let event: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(event["timestamp"], *text);
            assert_eq!(event["fields"]["answer"], 42);
        }
    }
}

/// One layer in each format, and one whose event format has the timer.
#[test]
fn each_layer_prints_the_time_in_its_format() {
    let all = [timers::still(), timers::still(), timers::still()];
    let [texts, jsons, formats] = all.map(Vec::into_iter);
    for (i, (((text, expected), (json, _)), (format, _))) in
        texts.zip(jsons).zip(formats).enumerate()
    {
        let (text_file, text_path) = create(&format!("layers-{i}.log"));
        let (json_file, json_path) = create(&format!("layers-{i}.json"));
        let (format_file, format_path) = create(&format!("layers-{i}.format.log"));
        let format = fmt::format().with_timer(format).with_target(false);
        let subscriber = registry()
            .with(fmt::layer().with_ansi(false).with_writer(text_file).with_timer(text))
            .with(fmt::layer().json().with_writer(json_file).with_timer(json))
            .with(fmt::layer().with_ansi(false).with_writer(format_file).event_format(format));
        with_default(subscriber, || tracing::info!("event"));
        let line = format!("{expected}  INFO it::files: event\n");
        assert_eq!(fs::read_to_string(text_path).unwrap(), line);
        let line = fs::read_to_string(json_path).unwrap();
        let event: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(event["timestamp"], *expected);
        let line = format!("{expected}  INFO event\n");
        assert_eq!(fs::read_to_string(format_path).unwrap(), line);
    }
}

#[test]
fn without_time_prints_none() {
    for (i, (timer, _)) in timers::still().into_iter().enumerate() {
        let (file, path) = create(&format!("without-{i}.log"));
        let builder = fmt().with_ansi(false).with_writer(file).with_timer(timer);
        with_default(builder.without_time().finish(), log);
        let line = " INFO request{id=7}: it::files: event answer=42\n";
        assert_eq!(fs::read_to_string(path).unwrap(), line);
    }
}

#[test]
fn lines_of_spans_begin_with_the_time_as_well() {
    for (i, (timer, text)) in timers::still().into_iter().enumerate() {
        let (file, path) = create(&format!("spans-{i}.log"));
        let builder = fmt().with_ansi(false).with_writer(file).with_timer(timer);
        with_default(builder.with_span_events(FmtSpan::FULL).finish(), log);
        let written = fs::read_to_string(path).unwrap();
        assert_eq!(written.lines().count(), 5, "{written}");
        assert!(
            written.lines().all(|line| line.starts_with(&format!("{text}  INFO"))),
            "{written}"
        );
    }
}

#[test]
fn colours_are_around_the_time() {
    for (i, (timer, text)) in timers::still().into_iter().enumerate() {
        let (file, path) = create(&format!("ansi-{i}.log"));
        let subscriber = fmt().with_ansi(true).with_writer(file).with_timer(timer).finish();
        with_default(subscriber, log);
        let start = format!("\u{1b}[2m{text}\u{1b}[0m ");
        let written = fs::read_to_string(path).unwrap();
        assert!(written.starts_with(&start), "{written:?}");
    }
}
