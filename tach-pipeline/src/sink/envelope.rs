//! What a protocol puts around each event.

use std::sync::Arc;

use super::any_format::AnyFormat;

/// The part of a protocol's message around the event. The event itself may be written in any
/// format.
pub(super) trait Envelope: Send + Sync {
    /// Returns a format that writes whole messages of this process, with the event as `format`
    /// writes it.
    fn around(&self, format: Arc<dyn AnyFormat>) -> Arc<dyn AnyFormat>;
}
