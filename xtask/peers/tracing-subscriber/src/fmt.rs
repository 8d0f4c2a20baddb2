//! Formats, whose tests expect a time that a timer of tach-tracing prints, and durations that
//! `CloseTimes` prints.

pub use published::fmt::*;

#[cfg(test)]
use crate::layer;

/// The tests of the `fmt` layer.
#[cfg(test)]
mod fmt_layer {
    use std::env;
    use std::fmt::Debug;

    use published::fmt::{Layer, MakeWriter};
    use tracing_core::Metadata;

    use crate::layer::LayerExt as _;

    /// Returns the private field of a `fmt` layer.
    fn is_ansi(layer: &impl Debug) -> bool {
        let text = format!("{layer:?}");
        let is_ansi = text.contains("is_ansi: true");
        assert_ne!(is_ansi, text.contains("is_ansi: false"), "{text}");
        is_ansi
    }

    include!(concat!(env!("PEER_TESTS"), "/fmt_layer.rs"));
}

pub mod format {
    pub use published::fmt::format::*;

    /// The tests of JSON.
    #[cfg(test)]
    mod json {
        use published::fmt::format::{Format, Json, JsonFields, Writer};

        include!(concat!(env!("PEER_TESTS"), "/fmt_json.rs"));
    }

    #[cfg(test)]
    fn contains(spans: &FmtSpan, other: FmtSpan) -> bool {
        spans.clone() & other.clone() == other
    }

    /// The text of a duration in nanoseconds: that of a span which is busy for so long.
    #[cfg(test)]
    struct TimingDisplay(u64);

    #[cfg(test)]
    impl std::fmt::Display for TimingDisplay {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            use std::time::Duration;

            use published::prelude::*;
            use tach_core::{ManualClock, UnixTime};
            use tach_tracing::{CloseTimes, SpanTiming};

            static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);

            let writer = super::test::MockMakeWriter::default();
            let lines = published::fmt::layer().with_ansi(false).with_writer(writer.clone());
            let registry = published::registry().with(SpanTiming::new().with_clock(&CLOCK));
            tracing::subscriber::with_default(registry.with(CloseTimes::new(lines)), || {
                tracing::info_span!("busy").in_scope(|| {
                    CLOCK.advance(Duration::from_nanos(self.0));
                });
            });
            let line = writer.get_string();
            let (_, busy) = line.split_once("time.busy=").unwrap_or_default();
            f.write_str(busy.split(' ').next().unwrap_or_default())
        }
    }

    // The module `test` of the formats.
    #[cfg(test)]
    include!(concat!(env!("PEER_TESTS"), "/fmt_format.rs"));
}

// The module `test` of the subscriber.
#[cfg(test)]
include!(concat!(env!("PEER_TESTS"), "/fmt.rs"));
