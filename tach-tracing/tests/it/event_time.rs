//! One event, one time, in every stack of layers.

mod files;
mod filters;
mod otel;
mod rules;
mod span_events;
mod stacks;

use std::collections::BTreeMap;

use tach_tracing::Utc;
use test_support::Captured;
use tracing_subscriber::{Layer, Registry, fmt};

type Boxed = Box<dyn Layer<Registry> + Send + Sync>;

#[derive(Debug, Default)]
struct Pair {
    text: Captured,
    json: Captured,
}

impl Pair {
    fn text_layer(&self) -> Boxed {
        let layer = fmt::layer().with_ansi(false).with_writer(self.text.clone());
        layer.with_timer(Utc.digits(9)).boxed()
    }

    fn json_layer(&self) -> Boxed {
        fmt::layer().json().with_writer(self.json.clone()).with_timer(Utc.digits(9)).boxed()
    }

    fn text_times(&self) -> Times {
        text_times(&self.text.text())
    }

    fn json_times(&self) -> Times {
        json_times(&self.json.text())
    }

    #[track_caller]
    fn assert_same(&self, numbers: impl IntoIterator<Item = u64>) -> Times {
        let times = self.text_times();
        assert_eq!(times, self.json_times());
        assert_eq!(
            times.keys().copied().collect::<Vec<_>>(),
            numbers.into_iter().collect::<Vec<_>>()
        );
        times
    }
}

/// Timestamps by the number of the event, its field `n`.
type Times = BTreeMap<u64, String>;

/// Parses lines such as `TIME LEVEL target: n=7`.
fn text_times(text: &str) -> Times {
    let time = |line: &str| {
        let (time, rest) = line.split_once(' ')?;
        let number = rest.split_once("n=")?.1.split(' ').next()?;
        Some((number.parse().ok()?, time.to_owned()))
    };
    by_number(text.lines().map(|line| time(line).unwrap_or_else(|| panic!("{line:?}"))))
}

fn json_times(text: &str) -> Times {
    by_number(text.lines().map(|line| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        (event["fields"]["n"].as_u64().unwrap(), event["timestamp"].as_str().unwrap().to_owned())
    }))
}

fn by_number(events: impl Iterator<Item = (u64, String)>) -> Times {
    let mut times = Times::new();
    for (number, time) in events {
        assert_eq!(times.insert(number, time), None, "event {number} is there twice");
    }
    times
}
