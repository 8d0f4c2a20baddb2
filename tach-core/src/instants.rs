//! The instants, one that threads share, and one with its Unix time.

mod anchor;
mod atomic;
mod boot;
mod instant;
mod monotonic;
mod ops;
mod ordered;
mod uptime;

pub use self::anchor::Anchor;
pub use self::atomic::AtomicInstant;
pub use self::boot::BootInstant;
pub use self::instant::Instant;
pub use self::monotonic::MonotonicInstant;
pub use self::ordered::OrderedInstant;
pub use self::uptime::{uptime, uptime_at};
