//! What a protocol puts around each event.

use super::any_format::AnyFormat;

/// The part of a protocol's message around the event. The event itself may be written in any
/// format.
pub(super) trait Envelope: Send {
    /// Returns a format that writes whole messages, with the event as `format` writes it.
    fn around(&self, format: Box<dyn AnyFormat>) -> Box<dyn AnyFormat>;
}
