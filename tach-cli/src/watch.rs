//! `tach watch`: the events of this host's clock, as they are found.

use core::time::Duration;
use std::thread;
use std::time::Instant as StdInstant;

use clap::Args;
use serde::Serialize;
use tach_core::{Status, UnixTime, disruptions, status, sync};

use crate::measure::{as_f64, nanos};
use crate::output::{Ns, Output, Width, faint, hanging, warning};
use crate::progress::Progress;
use crate::times;
use crate::{Outcome, closed};

/// Prints steps, slews, suspends, migrations and changes of the source, as they are found
///
/// Exit status 1 if there was one before the end of --for.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How long to watch [default: until interrupted]
    #[arg(long = "for", value_name = "TIME", value_parser = times::time)]
    time: Option<Duration>,
    /// The pause between looks at the OS clocks
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = times::some_time)]
    every: Duration,
}

/// The state of the clock, as far as it is watched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct State {
    time: String,
    /// If this changes, Unix times before and after can't be compared.
    disruptions: u64,
    source: &'static str,
    reason: &'static str,
    frequency_hz: Option<u64>,
    counts: Counts,
    monotonic_offset_ns: i64,
    uncertainty_ns: Option<u64>,
    synchronized: Option<bool>,
}

/// The numbers of events since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
struct Counts {
    forward_steps: u32,
    backward_steps: u32,
    rate_changes: u32,
    monotonic_forward_steps: u32,
    monotonic_backward_steps: u32,
    monotonic_rate_changes: u32,
    suspends: u32,
    restores: u32,
    counter_failures: u32,
}

/// A line of the output.
#[derive(Debug, Serialize)]
struct Line<'a> {
    /// The codes of the events since the line before.
    events: Vec<&'static str>,
    #[serde(flatten)]
    state: &'a State,
}

impl State {
    fn now() -> Self {
        // A conversion and a sample, so that an idle process notices events, too.
        let time = UnixTime::now();
        sync();
        Self::new(time, disruptions(), &status())
    }

    fn new(time: UnixTime, disruptions: u64, status: &Status) -> Self {
        let (real, monotonic) = (status.realtime, status.monotonic);
        Self {
            time: format!("{time:.3}"),
            disruptions,
            source: status.source.as_str(),
            reason: status.reason.as_str(),
            frequency_hz: status.frequency_hz,
            counts: Counts {
                forward_steps: real.forward_steps,
                backward_steps: real.backward_steps,
                rate_changes: real.rate_changes,
                monotonic_forward_steps: monotonic.forward_steps,
                monotonic_backward_steps: monotonic.backward_steps,
                monotonic_rate_changes: monotonic.rate_changes,
                suspends: status.suspends,
                restores: status.restores,
                counter_failures: status.counter_failures.into(),
            },
            monotonic_offset_ns: monotonic.offset_ns,
            uncertainty_ns: real.uncertainty.map(nanos),
            synchronized: status.kernel_clock.map(|clock| clock.synchronized),
        }
    }

    /// Returns the codes of the events since `earlier`.
    fn events_since(&self, earlier: &Self) -> Vec<&'static str> {
        let (new, old) = (self.counts, earlier.counts);
        let changed = [
            ("source", (self.source, self.reason) != (earlier.source, earlier.reason)),
            ("step-forward", new.forward_steps != old.forward_steps),
            ("step-back", new.backward_steps != old.backward_steps),
            ("rate", new.rate_changes != old.rate_changes),
            ("monotonic-step-forward", new.monotonic_forward_steps != old.monotonic_forward_steps),
            ("monotonic-step-back", new.monotonic_backward_steps != old.monotonic_backward_steps),
            ("monotonic-rate", new.monotonic_rate_changes != old.monotonic_rate_changes),
            ("suspend", new.suspends != old.suspends),
            ("restore", new.restores != old.restores),
            ("counter-failure", new.counter_failures != old.counter_failures),
            ("synchronization", self.synchronized != earlier.synchronized),
        ];
        let mut events: Vec<_> =
            changed.into_iter().filter_map(|(code, is_so)| is_so.then_some(code)).collect();
        // Most of these events are disruptions.
        if events.is_empty() && self.disruptions != earlier.disruptions {
            events.push("disruption");
        }
        events
    }
}

pub(crate) fn run(options: &Options, output: &mut Output) -> anyhow::Result<Outcome> {
    let mut last = State::now();
    let first = Line { events: vec!["start"], state: &last };
    output.write(&first, |width| last.text(&["start"], width))?;
    let (start, mut outcome) = (StdInstant::now(), Outcome::Good);
    let progress = options.time.map_or_else(Progress::endless, Progress::new);
    loop {
        let elapsed = start.elapsed();
        let left = options.time.map_or(options.every, |time| time.saturating_sub(elapsed));
        if left.is_zero() && options.time.is_some() || closed::is_closed() {
            return Ok(outcome);
        }
        thread::sleep(options.every.min(left));
        let state = State::now();
        let events = state.events_since(&last);
        progress.set(start.elapsed(), state.live());
        if !events.is_empty() {
            outcome = Outcome::Problem;
            let line = Line { events: events.clone(), state: &state };
            progress.above(|| output.write(&line, |width| state.text(&events, width)))?;
        }
        last = state;
    }
}

impl State {
    /// Returns the state and its events for people.
    fn text(&self, events: &[&'static str], width: Width) -> String {
        let start = format!("{}  ", self.time);
        let text = format!("{}  {}", warning(events.join(", ")), faint(self.live()));
        hanging(&start, &text, 4, width)
    }

    /// Returns the state in a line.
    fn live(&self) -> String {
        let bound =
            self.uncertainty_ns.map_or("unknown".to_owned(), |ns| Ns(as_f64(ns)).to_string());
        let Counts { forward_steps, backward_steps, rate_changes, suspends, restores, .. } =
            self.counts;
        format!(
            "source {} ±{bound}, steps +{forward_steps} -{backward_steps}, slews {rate_changes}, \
             suspends {suspends}, restores {restores}, disruptions {}",
            self.source, self.disruptions
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_an_event() {
        let calm = State::new(UnixTime::EPOCH, 1, &status());
        assert_eq!(calm.events_since(&calm), [""; 0]);
        let with = |change: fn(&mut State)| {
            let mut state = calm.clone();
            change(&mut state);
            state.events_since(&calm)
        };
        assert_eq!(with(|state| state.disruptions += 1), ["disruption"]);
        assert_eq!(with(|state| state.reason = "none"), ["source"]);
        assert_eq!(with(|state| state.counts.forward_steps += 1), ["step-forward"]);
        assert_eq!(with(|state| state.counts.backward_steps += 1), ["step-back"]);
        assert_eq!(with(|state| state.counts.rate_changes += 1), ["rate"]);
        assert_eq!(
            with(|state| state.counts.monotonic_forward_steps += 1),
            ["monotonic-step-forward"]
        );
        assert_eq!(
            with(|state| state.counts.monotonic_backward_steps += 1),
            ["monotonic-step-back"]
        );
        assert_eq!(with(|state| state.counts.monotonic_rate_changes += 1), ["monotonic-rate"]);
        assert_eq!(with(|state| state.counts.suspends += 1), ["suspend"]);
        assert_eq!(with(|state| state.counts.restores += 1), ["restore"]);
        assert_eq!(with(|state| state.counts.counter_failures += 1), ["counter-failure"]);
        // Times, bounds and frequencies change all the time.
        assert_eq!(with(|state| state.uncertainty_ns = Some(7)), [""; 0]);
        let both = with(|state| {
            state.disruptions += 1;
            state.counts.suspends += 1;
        });
        assert_eq!(both, ["suspend"]);
    }
}
