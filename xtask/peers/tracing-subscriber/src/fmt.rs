//! Formats, whose tests expect a time that a timer of tach-tracing prints.

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

    // The module `test` of the formats.
    #[cfg(test)]
    include!(concat!(env!("PEER_TESTS"), "/fmt_format.rs"));
}

// The module `test` of the subscriber.
#[cfg(test)]
include!(concat!(env!("PEER_TESTS"), "/fmt.rs"));
