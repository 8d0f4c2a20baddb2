//! Reports incidents, each kind of trouble as a state.

use core::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe};
use std::panic;
use std::sync::Arc;
use std::time::Instant;

use super::Incident;
use super::state::State;
use crate::host::to_stderr;
use tach_sinks::Task;

/// The owner's function.
pub(crate) type OnIncident = Arc<dyn Fn(&Incident<'_>) + Send + Sync>;

/// The kinds of trouble that last: one for each [`Task`], one for receivers that refuse records,
/// and one for receivers that warn.
const KINDS: usize = 7;
const REFUSED: usize = 5;
const WARNED: usize = 6;

/// Reports incidents to the owner's function, or else on stderr.
///
/// A trouble that lasts is reported when it begins, and again after pauses that grow. So a record
/// that the owner's function logs, and that meets the same trouble, causes no report.
#[derive(Clone, Default)]
pub(crate) struct Reporter {
    pub(crate) on_incident: Option<OnIncident>,
    /// Whether stderr is itself the sink.
    is_stderr: bool,
    states: [State; KINDS],
}

/// A panic of the owner's function leaves no state of the pipeline half changed.
impl UnwindSafe for Reporter {}
impl RefUnwindSafe for Reporter {}

impl Reporter {
    pub(crate) fn new(on_incident: Option<OnIncident>) -> Self {
        Self { on_incident, ..Self::default() }
    }

    /// Returns a copy for the sink with that name.
    pub(crate) fn of_sink(&self, name: &str) -> Self {
        Self { is_stderr: name == "stderr", ..self.clone() }
    }

    /// Reports an incident. A trouble that lasts is reported only if its pause is over, and its end
    /// only if the trouble was reported. Returns whether the incident was reported.
    #[cold]
    pub(crate) fn report(&mut self, incident: &Incident<'_>) -> bool {
        let is_due = match *incident {
            Incident::Failed { task, .. } => self.states[task as usize].lasts(Instant::now()),
            Incident::Stalled { .. } => self.states[Task::Write as usize].lasts(Instant::now()),
            Incident::Refused { .. } => self.states[REFUSED].lasts(Instant::now()),
            Incident::Warned { .. } => self.states[WARNED].lasts(Instant::now()),
            Incident::Recovered { task, .. } => self.states[task as usize].ends(),
            _ => true,
        };
        if is_due {
            self.say(incident);
        }
        is_due
    }

    /// Calls the owner's function, which may panic, or prints the incident on stderr.
    fn say(&self, incident: &Incident<'_>) {
        if let Some(on_incident) = &self.on_incident {
            let _panic = panic::catch_unwind(AssertUnwindSafe(|| on_incident(incident)));
            return;
        }
        // The log itself contains a record about dropped records, so stderr need not repeat it.
        if !self.is_stderr && !matches!(incident, Incident::Dropped { .. }) {
            to_stderr(format_args!("{incident}"));
        }
    }
}
