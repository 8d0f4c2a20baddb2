//! Another configuration for a running pipeline.

use std::sync::Arc;

use super::install::filter_changed;
use crate::config::Config;
use crate::error::Error;
use crate::incident::Incident;
use crate::pipeline::Pipeline;
use crate::pipeline::builder::change::Change;
use crate::progress::check_waiter;
use crate::sink::all::Sinks;

impl Pipeline {
    /// Changes the running pipeline to another configuration: opens the new sinks, closes those
    /// that are gone, and replaces filters. No record is lost meanwhile.
    ///
    /// A sink stays open, with its file and its rotation, if the configuration says the same of it
    /// as the last one. If only its filter differs, the filter is replaced. Sinks that the program
    /// has added stay too. Filters of the file that the program has replaced meanwhile apply again;
    /// a variable of the environment still overrides the pipeline's.
    ///
    /// # Guarantees
    ///
    /// The change happens between two records, in the order in which they are written: the old
    /// sinks have all records that were logged before this call, and the new sinks have all that
    /// are logged after it has returned. Of the records that are logged meanwhile, the old sinks
    /// have the first ones, and the new sinks the others.
    ///
    /// A sink that is closed writes its records first, and this call waits for it, within the
    /// [`flush_timeout`](crate::Builder::flush_timeout). Then the other records are dropped:
    /// [`Stats`](crate::Stats) counts them, and a record reports them. If a new sink has the file or
    /// the address of one that is closed, it begins to write afterwards.
    ///
    /// # Errors
    ///
    /// If the configuration has a fault, or would change what only a restart can change:
    ///
    /// - a key other than `filter` and `sinks`,
    /// - a sink that takes spans or durations, or with `survive` any sink,
    /// - the parts of a record: a new format has the file, the line or the thread, and no sink had
    ///   them when the pipeline was built.
    ///
    /// The error names all of these. Also if the back end is busy for five seconds, for example
    /// since the pipeline's only sink stalls, if a thread can't be started, and in a sink or a
    /// forked process. After an error the pipeline goes on as before.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Config, Pipeline};
    ///
    /// let config: Config = toml::from_str("sinks = [{ stderr = true }]")?;
    /// let guard = config.builder().build()?;
    /// // The operator has changed the file.
    /// let config = toml::from_str("filter = 'debug'\nsinks = [{ file.path = 'applied.log' }]")?;
    /// guard.pipeline().apply(config)?;
    /// assert_eq!(guard.pipeline().current_filter(), "debug");
    /// # drop(guard);
    /// # std::fs::remove_file("applied.log")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn apply(&self, config: Config) -> Result<(), Error> {
        let shared = self.shared();
        check_waiter(&shared.channel)?;
        // Hold the lock until the old sinks have closed: the next change must not find a sink that
        // waits for another one to close.
        let mut applied = shared.applied.lock();
        let Some(before) = &mut *applied else { return Err(Error::ended()) };
        let change = Change::new(config.builder(), shared, before)?;
        let Change { swap, levels, environment, next } = change;
        let own = Arc::clone(shared);
        let errand = move |sinks: &mut Sinks| sinks.swap(swap, &own.filters, own.now());
        let swapped = shared.between_records(errand)??;
        next.put(before);
        if let Some(levels) = &levels {
            shared.filters.set(levels.clone());
        }
        filter_changed(shared);
        for (name, lost) in swapped.finish(shared.flush_timeout, shared.now()) {
            let report = move |sinks: &mut Sinks| sinks.report_closed(&name, &lost);
            let _counted_anyway = shared.between_records(report);
        }
        // Release the lock first: the owner's function, which the reports call, may apply a
        // configuration too.
        drop(applied);
        for levels in levels.iter().chain(&*shared.filters.takers()) {
            self.report_doubts(levels);
        }
        for error in &environment {
            shared.reporter.clone().report(&Incident::Environment { error });
        }
        Ok(())
    }
}
