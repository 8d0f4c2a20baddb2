//! What callers and the back end share about spans.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{Arc, OnceLock};

use tach_flight::recorder::Flight;
use tach_flight::snapshot::Snapshot;

use crate::callsites;
use crate::channel::Channel;
use crate::durations::Collected;
use crate::error::Error;
use crate::frame::Wanted;
use crate::progress::check_waiter;
use crate::sync::Switch;
use crate::trace::Contexts;
pub(crate) use crate::trace::layers::Keys;
use crate::trace::sampling::{Callers, Sampling};

/// Numbers pipelines, so that a thread tells their spans apart.
static NEXT_ID: AtomicU64 = AtomicU64::new(0);

pub(crate) struct Spans {
    pub(crate) id: u64,
    pub(crate) sampling: Sampling,
    /// Whether spans that are open when the process ends are sent.
    pub(crate) sends_unfinished: bool,
    pub(crate) callers: Callers,
    /// The ids of open spans.
    pub(crate) contexts: Contexts,
    /// Whether records have the pipeline's own ids of spans. Otherwise they have the ids of the
    /// caller whose context a span passes on, if there is one.
    pub(crate) has_own_ids: bool,
    /// `None` if no durations are collected.
    pub(crate) durations: Option<Collected>,
    /// `None` without a flight recorder.
    pub(crate) flight: Option<Arc<Flight>>,
    pub(crate) never_closes: NeverCloses,
}

/// The name of the first span that the registry will never close.
#[derive(Default)]
pub(crate) struct NeverCloses {
    span: OnceLock<Box<str>>,
    is_unreported: Switch,
}

impl NeverCloses {
    /// Sets the name, if none is set yet.
    pub(crate) fn set(&self, span: &str) {
        if self.span.set(span.into()).is_ok() {
            self.is_unreported.on();
        }
    }

    /// Returns the name once.
    pub(crate) fn take(&self) -> Option<&str> {
        let span = self.span.get()?;
        (self.is_unreported.is_on() && self.is_unreported.off()).then_some(span)
    }
}

impl Spans {
    pub(crate) fn new(wanted: Wanted) -> Self {
        // ORDERING: Relaxed: each number is given once, and publishes nothing.
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        callsites::set_up();
        Self {
            id,
            sampling: Sampling::default(),
            sends_unfinished: false,
            callers: Callers::default(),
            contexts: Contexts::new(id, wanted.are_spans()),
            has_own_ids: wanted.has_own_ids(),
            durations: None,
            flight: None,
            never_closes: NeverCloses::default(),
        }
    }

    /// Waits for the files that the flight recorder began. Returns `false` if that takes longer
    /// than `timeout`.
    pub(super) fn wait_for_files(&self, timeout: Duration) -> bool {
        self.flight.as_ref().is_none_or(|flight| flight.writing.wait(timeout))
    }

    /// Returns the content of the flight recorder: everything that was recorded before.
    pub(crate) fn snapshot(
        &self,
        channel: &Channel,
        timeout: Duration,
    ) -> Result<Arc<Snapshot>, Error> {
        let Some(flight) = &self.flight else { return Err(Error::no_recorder()) };
        check_waiter(channel)?;
        let answer = flight.requests.wait(timeout, || channel.wake());
        answer.map_err(|why| Error::no_snapshot(why, timeout))
    }
}
