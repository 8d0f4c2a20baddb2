//! The timers of tach-tracing and of tracing-subscriber.

use core::hint::black_box;
use core::time::Duration;
use std::io;

use tach_core::{IncreasingClock, Offset, SystemClock, UnixTime};
use tach_tracing::{FixedOffset, Local, UnixNanos, Uptime, Utc};
use tracing::subscriber::with_default;
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{self, ChronoLocal, ChronoUtc, FormatTime, SystemTime};

use crate::{Group, Subject};

/// A clock for timestamps of six digits.
static INCREASING: IncreasingClock = IncreasingClock::new(SystemClock, Duration::from_micros(1));

pub(crate) fn groups() -> Vec<Group> {
    vec![utc(), uptime(), local(), events()]
}

/// A subject that formats times with one timer.
macro_rules! timer {
    ($name:literal, $timer:expr) => {
        Subject { name: $name, run: |iterations| format_into_string(&$timer, iterations) }
    };
}

/// A subject that logs whole events with a timer.
macro_rules! event {
    ($name:literal, $timer:expr) => {
        Subject { name: $name, run: |iterations| log_events($timer, iterations) }
    };
}

fn utc() -> Group {
    Group {
        name: "format_time, UTC",
        subjects: vec![
            timer!("tracing-subscriber SystemTime", SystemTime),
            timer!("tracing-subscriber ChronoUtc", ChronoUtc::rfc_3339()),
            timer!("tach Utc", Utc),
            timer!("tach Utc, increasing", Utc.with_clock(&INCREASING)),
            timer!("tach UnixNanos", UnixNanos),
            Subject { name: "tach UnixTime::to_string", run: print_times },
        ],
    }
}

fn uptime() -> Group {
    Group {
        name: "format_time, uptime",
        subjects: vec![
            timer!("tracing-subscriber Uptime", time::Uptime::default()),
            timer!("tach Uptime", Uptime),
        ],
    }
}

fn local() -> Group {
    Group {
        name: "format_time, local time",
        subjects: vec![
            timer!("tracing-subscriber ChronoLocal", ChronoLocal::rfc_3339()),
            timer!("tach Local", Local),
            timer!("tach FixedOffset", FixedOffset::new(Offset::UTC)),
        ],
    }
}

fn events() -> Group {
    Group {
        name: "info!() to nowhere",
        subjects: vec![
            event!("tracing-subscriber SystemTime", SystemTime),
            event!("tach Utc", Utc),
            event!("tracing-subscriber Uptime", time::Uptime::default()),
            event!("tach Uptime", Uptime),
            event!("tracing-subscriber ChronoLocal", ChronoLocal::rfc_3339()),
            event!("tach Local", Local),
            event!("no time", ()),
        ],
    }
}

/// Appends a time to a text.
type Print = Box<dyn Fn(&mut String)>;

/// Returns the timers, each with its name, for measurements of single calls.
#[must_use]
pub fn timers() -> Vec<(&'static str, Print)> {
    fn print(timer: impl FormatTime + 'static) -> Print {
        Box::new(move |text| {
            let _ = timer.format_time(&mut Writer::new(text));
        })
    }
    vec![
        ("nothing", Box::new(|_| {})),
        ("tracing-subscriber SystemTime", print(SystemTime)),
        ("tracing-subscriber ChronoUtc", print(ChronoUtc::rfc_3339())),
        ("tracing-subscriber ChronoLocal", print(ChronoLocal::rfc_3339())),
        ("tracing-subscriber Uptime", print(time::Uptime::default())),
        ("tach Utc", print(Utc)),
        ("tach Utc, increasing", print(Utc.with_clock(&INCREASING))),
        ("tach UnixNanos", print(UnixNanos)),
        ("tach Local", print(Local)),
        ("tach Uptime", print(Uptime)),
    ]
}

fn format_into_string(timer: &impl FormatTime, iterations: u64) {
    let mut text = String::with_capacity(64);
    for _ in 0..iterations {
        text.clear();
        let _ = timer.format_time(&mut Writer::new(black_box(&mut text)));
        black_box(&text);
    }
}

fn log_events(timer: impl FormatTime + Send + Sync + 'static, iterations: u64) {
    let subscriber = fmt().with_writer(io::sink).with_ansi(false).with_timer(timer).finish();
    with_default(subscriber, || {
        for number in 0..iterations {
            tracing::info!(number, "an event");
        }
    });
}

fn print_times(iterations: u64) {
    for _ in 0..iterations {
        black_box(UnixTime::now().to_string());
    }
}
