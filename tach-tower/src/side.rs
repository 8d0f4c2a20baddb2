//! The difference between servers and clients.

use core::time::Duration;

use crate::settings::Settings;

/// How a request is sent on, which differs between servers and clients. Sealed: the module is
/// private.
pub trait Side<R> {
    /// Tells the inner service how much time is left for the response and its body. Returns false
    /// if that can't be said, since it would be written as no time.
    fn announce(settings: &Settings, left: Duration, request: &mut R, is_grpc: bool) -> bool;
}
