//! What a protocol puts around each event.

use super::any_format::AnyFormat;

/// The part of a message that is not the event, in whatever format that is.
pub(super) trait Envelope: Send {
    /// Returns the format of whole messages.
    fn around(&self, format: Box<dyn AnyFormat>) -> Box<dyn AnyFormat>;
}
