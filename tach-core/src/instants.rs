//! The three instants, and one that threads share.

mod atomic;
mod instant;
mod monotonic;
mod ops;
mod ordered;

pub use self::atomic::AtomicInstant;
pub use self::instant::Instant;
pub use self::monotonic::MonotonicInstant;
pub use self::ordered::OrderedInstant;
