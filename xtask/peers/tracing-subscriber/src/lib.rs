//! tracing-subscriber's names, with tach-tracing's timers and layers in them, for its tests. `cargo
//! xtask peers tracing-subscriber` runs them.
//!
//! [`layer::SubscriberExt::with`] wraps each layer in an `EventTime`, and so does
//! [`tracing_mock::layer`]. The time that the tests of formats expect is printed by a timer of
//! tach-tracing. All else is tracing-subscriber's own.

extern crate alloc;
// The tests are programs, which know the crate by its name.
extern crate self as tracing_subscriber;

pub mod fmt;
pub mod layer;
#[cfg(test)]
mod programs;
pub mod tracing_mock;

pub use published::*;
use tach_core::{ManualClock, UnixTime};

/// The clock of all layers and timers here.
pub static CLOCK: ManualClock = ManualClock::new(UnixTime::from_nanos(1_795_268_926_884_123_456));

pub mod prelude {
    pub use published::field::{MakeExt as _, RecordFields as _};
    pub use published::fmt::writer::MakeWriterExt as _;
    pub use published::layer::Layer as _;
    pub use published::util::SubscriberInitExt as _;

    pub use crate::layer::{LayerExt as _, SubscriberExt as _};
}
