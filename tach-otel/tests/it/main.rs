//! Clocked spans and logs with the real SDK, and with a tracer that records its calls.

#[cfg(feature = "trace")]
mod auto_traits;
#[cfg(feature = "trace")]
mod direct;
#[cfg(feature = "trace")]
mod early;
#[cfg(feature = "logs")]
mod event_time;
#[cfg(feature = "trace")]
mod explicit;
#[cfg(feature = "trace")]
mod given;
#[cfg(feature = "trace")]
mod global;
#[cfg(feature = "trace")]
mod layer;
#[cfg(feature = "logs")]
mod logs;
#[cfg(feature = "trace")]
mod manual;
#[cfg(feature = "trace")]
mod reads;
#[cfg(feature = "trace")]
mod support;
#[cfg(feature = "trace")]
mod threads;
#[cfg(any(feature = "trace", feature = "logs"))]
mod times;
#[cfg(feature = "trace")]
mod traces;
