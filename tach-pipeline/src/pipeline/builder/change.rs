//! The change of a running pipeline to another configuration.

use core::mem;
use std::collections::BTreeSet;
use std::sync::Arc;

use log::LevelFilter;

use super::{Builder, default_sink};
use crate::error::Error;
use crate::faults::Faults;
use crate::filter::Levels;
use crate::frame;
use crate::shared::Shared;
use crate::shared::applied::Applied;
use crate::sink::Sink;
use crate::sink::all::{Opened, RESTART, Swap};
use crate::sink::known::Known;
use crate::sync::Lock;

/// The keys that change while a pipeline runs.
const CHANGEABLE: [&str; 2] = ["filter", "sinks"];

/// What is to change.
pub(crate) struct Change {
    pub(crate) swap: Swap,
    /// The filter of the pipeline, if the files say something about it.
    pub(crate) levels: Option<Levels>,
    /// The variables that can't be used.
    pub(crate) environment: Vec<Error>,
    pub(crate) next: Next,
}

/// What is in force after the change.
pub(crate) struct Next {
    keys: Vec<(&'static str, u64)>,
    known: Vec<Known>,
    /// The sinks for a forked child, and the filter if the files say something about it.
    sinks: Vec<Sink>,
    filter: Option<String>,
}

impl Change {
    /// Opens the sinks that a configuration has and the pipeline does not.
    ///
    /// # Errors
    ///
    /// With all faults of the configuration, and all that it would change and can't.
    pub(crate) fn new(
        mut builder: Builder,
        shared: &Shared,
        applied: &Applied,
    ) -> Result<Self, Error> {
        let mut faults = mem::take(&mut builder.faults);
        builder.check(&mut faults);
        builder.check_environment(&mut faults);
        if builder.sinks.is_empty() && applied.sinks.iter().all(|it| it.written.is_some()) {
            builder.sinks.push(default_sink());
        }
        let Builder { keys, sinks, .. } = &mut builder;
        let (keys, sinks) = (mem::take(keys), mem::take(sinks));
        let again = sinks.iter().map(Sink::again).collect();
        check_keys(&keys, applied, &mut faults);
        let levels = faults.take(builder.filter.as_deref().map(Levels::parse).transpose());
        let levels = levels.flatten().unwrap_or_else(|| Levels::all(LevelFilter::Info));
        let is_set = keys.iter().chain(&applied.keys).any(|(key, _)| *key == "filter");
        let levels = (is_set && !applied.is_filter_of_env).then_some(levels);
        let filter = is_set.then(|| builder.filter.unwrap_or_else(|| "info".to_owned()));

        let (mut closes, mut known): (Vec<_>, Vec<_>) =
            applied.sinks.iter().cloned().partition(|it| it.written.is_some());
        let (mut stay, mut opens) = (Vec::new(), Vec::new());
        for mut sink in sinks {
            let Some(at) = closes.iter().position(|it| it.written == sink.common.written) else {
                opens.push(sink);
                continue;
            };
            let same = closes.remove(at);
            let place = sink.common.place.take().unwrap_or_default();
            let levels = sink.levels(&same.receiver).map_err(|fault| fault.at(&place));
            stay.extend(faults.take(levels).map(|levels| (same.indexes.clone(), levels)));
            known.push(same);
        }
        let mut opens = open(opens, &closes, &known, (shared, applied), &mut faults);
        faults.into_result()?;
        opens.assign(&shared.progress.counts);
        known.extend(opens.known());
        let swap = Swap { closes, opens, stay };
        let environment = builder.environment.faults;
        let next = Next { keys, known, sinks: again, filter };
        Ok(Self { swap, levels, environment, next })
    }
}

impl Next {
    /// Notes the configuration, for the next one and for a forked child.
    pub(crate) fn put(self, applied: &mut Applied) {
        (applied.keys, applied.sinks) = (self.keys, self.known);
        if let Some(options) = applied.options.downcast_ref::<Arc<Lock<Builder>>>() {
            let mut options = options.lock();
            options.sinks.retain(|sink| sink.common.written.is_none());
            options.sinks.extend(self.sinks);
            options.filter = self.filter.or(options.filter.take());
        }
    }
}

/// Adds a fault for each key that has another value, and changes only with a restart.
fn check_keys(keys: &[(&'static str, u64)], applied: &Applied, faults: &mut Faults) {
    let before = applied.keys.iter().filter(|key| !keys.contains(key));
    let after = keys.iter().filter(|key| !applied.keys.contains(key));
    let changed: BTreeSet<_> = before.chain(after).map(|(key, _)| *key).collect();
    for key in changed.into_iter().filter(|key| !CHANGEABLE.contains(key)) {
        faults.unless(false, || format!("another `{key}`"), RESTART);
    }
}

/// Opens sinks, and adds a fault for each that can't be opened or closed. `known` are those that
/// stay.
fn open(
    sinks: Vec<Sink>,
    closes: &[Known],
    known: &[Known],
    (shared, applied): (&Shared, &Applied),
    faults: &mut Faults,
) -> Opened {
    let is_same = closes.is_empty() && sinks.is_empty();
    let call = || "other `sinks` beside Builder::survive".to_owned();
    faults.unless(is_same || !applied.survives, call, RESTART);
    for sink in closes.iter().filter(|it| !it.is_of_records) {
        let call = || format!("`sinks` without {} of spans or durations", sink.receiver);
        faults.unless(false, call, RESTART);
    }
    let Applied { patience, record_bytes, redacted, .. } = applied;
    let opened = Opened::new(sinks, *patience, *record_bytes, known, faults);
    opened.check_late(shared.wanted, faults);
    let is_redacted = |key: &str| frame::is_redacted(redacted, key);
    for field in opened.renamed(is_redacted).iter().filter(|field| !is_redacted(field)) {
        faults.unless(false, || format!("a redacted key for the field {field:?}"), RESTART);
    }
    opened
}
