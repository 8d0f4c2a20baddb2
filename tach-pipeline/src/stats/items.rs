//! What sinks take, as messages name it.

use core::fmt;

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

/// Why records are dropped, and what would help.
pub(crate) const QUEUE_FULL: &str = "since a queue was full; Builder::queue_bytes makes room for \
    bursts, and WhenFull::Block waits";
pub(crate) const SINK_FAILED: &str = "while the sink failed or did not keep up; \
    SinkStats::last_error says why, and Sink::buffer_bytes lets more wait";

/// Why records are lost if the end waits no longer.
pub(crate) const LATE: &str = "not written in time, which Builder::flush_timeout sets";

/// Like [`LATE`], if the records outlive the process.
pub(crate) const KEPT: &str = "not written in time; the next start writes what the folder of \
    Builder::survive has of them";

/// A number of items with its verb, as in "1 record was" and "3 records were". With a sink's name
/// between them, as in "3 spans for otlp were".
pub(crate) struct Were<'a> {
    pub(crate) count: u64,
    pub(crate) items: &'a str,
    pub(crate) sink: Option<&'a str>,
}

impl fmt::Display for Were<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, items, sink } = *self;
        let (items, verb) = match count {
            1 => (items.strip_suffix('s').unwrap_or(items), "was"),
            _ => (items, "were"),
        };
        write!(f, "{count} {items} ")?;
        if let Some(sink) = sink {
            write!(f, "for {sink} ")?;
        }
        f.write_str(verb)
    }
}

impl Default for Items {
    fn default() -> Self {
        Self::RECORDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_item_was_and_others_were() {
        let were = |count, items, sink| Were { count, items, sink }.to_string();
        assert_eq!(were(1, "records", None), "1 record was");
        assert_eq!(were(3, "records", None), "3 records were");
        assert_eq!(were(1, "spans", Some("otlp")), "1 span for otlp was");
        assert_eq!(were(0, "spans", Some("otlp")), "0 spans for otlp were");
    }
}
