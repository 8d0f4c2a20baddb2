//! The steps of a build that depend on the options of a feature.

use core::time::Duration;
use std::sync::Arc;

use tach_record::keep::Keeper;

use crate::back_end::assembly::Spans;
use crate::error::Error;
use crate::faults::Faults;
use crate::filter::Levels;
use crate::frame::Wanted;
use crate::incident::Reporter;
use crate::shared::Shared;
use crate::sink::Sink;
use crate::sink::all::Sinks;

/// Without spans there are no options for them.
#[cfg(not(feature = "tracing"))]
#[derive(Debug, Clone, Default)]
pub(super) struct NoOptions {}

/// What options add to the steps of a build, in the order of the steps.
pub(super) trait Steps {
    /// The opened files of a feature.
    type Files;

    /// Adds a fault for each option that can't work, beside these sinks.
    fn check(&self, _sinks: &[Sink], _flush_timeout: Duration, _faults: &mut Faults) {}

    /// Takes the options that the environment sets. Returns its fault, if it has one.
    fn read_environment(&mut self, _sinks: &[Sink]) -> Option<Error> {
        None
    }

    /// Returns the variables that the options can't use.
    fn ignored_variables(&self) -> Vec<Error> {
        Vec::new()
    }

    /// Looks at the sinks of the program. Called before the environment removes sinks.
    fn look_at(&mut self, _sinks: &[Sink]) {}

    /// Opens files, if there may be any.
    ///
    /// # Errors
    ///
    /// If their folder is not named or can't be used.
    fn files(&self) -> Result<Option<Self::Files>, Error> {
        Ok(None)
    }

    /// Returns the levels of records that are taken beside those of the sinks.
    fn recorded(&self, _wanted: Wanted) -> Option<Levels> {
        None
    }

    /// Adds what the options ask for.
    fn add_to(&mut self, _wanted: &mut Wanted) {}

    /// Moves the options that calls read to the shared state.
    fn share(&mut self, _shared: &mut Shared, _files: Option<Self::Files>) {}

    /// Returns the back end's part.
    fn start(
        &mut self,
        shared: &Arc<Shared>,
        sinks: &Sinks,
        redacted: &[String],
        reporter: Reporter,
        keeper: &mut Option<Box<dyn Keeper>>,
    ) -> Spans;

    /// Installs a panic hook, if an option asks for one.
    fn dump_on_panic(&self, _shared: &Arc<Shared>) {}
}

#[cfg(not(feature = "tracing"))]
impl Steps for NoOptions {
    type Files = ();

    fn start(
        &mut self,
        _: &Arc<Shared>,
        _: &Sinks,
        _: &[String],
        _: Reporter,
        _: &mut Option<Box<dyn Keeper>>,
    ) -> Spans {
        Spans
    }
}
