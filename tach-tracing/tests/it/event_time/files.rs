//! Thousands of events from several threads, in two real files.

use std::fs::{self, File};
use std::sync::Mutex;
use std::thread;
use std::{env, process};

use tach_tracing::{EventTime, Utc};
use tracing::{Dispatch, dispatcher};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{Layer as _, fmt, registry};

use super::{Boxed, Times, json_times, text_times};

const THREADS: u64 = 4;
const EVENTS_OF_A_THREAD: u64 = 1000;

fn logged(name: &str, around: impl FnOnce(Boxed) -> Boxed) -> (Times, Times) {
    let paths = ["log", "json"]
        .map(|kind| env::temp_dir().join(format!("tach-{}-{name}.{kind}", process::id())));
    let [text, json] = paths.each_ref().map(|path| Mutex::new(File::create(path).unwrap()));
    let text = fmt::layer().with_ansi(false).with_writer(text).with_timer(Utc.digits(9));
    let json = fmt::layer().json().with_writer(json).with_timer(Utc.digits(9));
    let dispatch = Dispatch::new(registry().with(around(text.and_then(json).boxed())));
    thread::scope(|scope| {
        for number in 0..THREADS {
            let dispatch = &dispatch;
            scope.spawn(move || dispatcher::with_default(dispatch, || log_from(number)));
        }
    });
    drop(dispatch);
    let [text, json] = paths.each_ref().map(|path| fs::read_to_string(path).unwrap());
    for path in paths {
        fs::remove_file(path).unwrap();
    }
    (text_times(&text), json_times(&json))
}

fn log_from(thread: u64) {
    let span = tracing::info_span!("thread", thread);
    for event in 0..EVENTS_OF_A_THREAD {
        let _entered = span.enter();
        tracing::info!(n = thread * EVENTS_OF_A_THREAD + event, "event");
    }
}

#[test]
fn every_event_of_every_thread_has_one_time_in_both_files() {
    let (text, json) = logged("one-time", |layers| EventTime::new(layers).boxed());
    assert_eq!(text.len() as u64, THREADS * EVENTS_OF_A_THREAD);
    assert_eq!(text, json);
    for thread in 0..THREADS {
        let first = thread * EVENTS_OF_A_THREAD;
        assert!(text.range(first..first + EVENTS_OF_A_THREAD).is_sorted_by_key(|(_, time)| time));
    }
}

/// The positive control.
#[test]
fn without_the_layer_the_times_differ() {
    let (text, json) = logged("two-times", |layers| layers);
    assert_eq!(text.keys().collect::<Vec<_>>(), json.keys().collect::<Vec<_>>());
    let differ = text.iter().filter(|(number, time)| json[number] != **time).count();
    assert!(differ > 0);
}
