//! What sinks take, as messages name it.

/// What a sink takes, in the plural: `records`, `spans` or `durations`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Items(pub(crate) &'static str);

impl Items {
    pub(crate) const RECORDS: Self = Self("records");
    pub(crate) const DURATIONS: Self = Self("durations");

    /// Returns whether the filter of a sink applies. The durations of all spans are sent.
    pub(crate) fn are_filtered(self) -> bool {
        self != Self::DURATIONS
    }

    pub(crate) const fn as_str(self) -> &'static str {
        self.0
    }
}

impl Default for Items {
    fn default() -> Self {
        Self::RECORDS
    }
}
