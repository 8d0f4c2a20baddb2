//! Counts of looks and of events of the OS clock and the counter.

/// Counts of the looks and events so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    pub(crate) syncs: u32,
    pub(crate) forward_steps: u32,
    pub(crate) backward_steps: u32,
    pub(crate) rate_changes: u32,
}

/// An event of the OS clock or the counter that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    ForwardStep,
    BackwardStep,
    RateChange,
}

impl Counts {
    pub(crate) fn events(&self) -> u64 {
        u64::from(self.forward_steps)
            + u64::from(self.backward_steps)
            + u64::from(self.rate_changes)
    }

    pub(super) fn with(self, event: Option<Event>) -> Self {
        let plus = |count: u32, wanted| count.saturating_add(u32::from(event == Some(wanted)));
        Self {
            syncs: self.syncs.saturating_add(1),
            forward_steps: plus(self.forward_steps, Event::ForwardStep),
            backward_steps: plus(self.backward_steps, Event::BackwardStep),
            rate_changes: plus(self.rate_changes, Event::RateChange),
        }
    }
}
