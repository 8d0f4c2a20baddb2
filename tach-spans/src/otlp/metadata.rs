//! The metadata of a span, as attributes.

use tach_log::Value;
use tach_log::adapter::Site;
use tach_otlp::adapter::{Attributes, Metadata, Shown, Taken};

use tach_record::frame::Start;

/// Appends the metadata of a span as attributes.
pub(super) fn add_metadata(
    to: &mut Vec<u8>,
    attributes: &mut Attributes,
    taken: Taken,
    start: &Start<'_>,
    site: &Site<'_>,
    shown: Shown,
) {
    if shown.has(Metadata::Location) {
        attributes.add_place(to, taken, site);
    }
    if shown.has(Metadata::Thread) {
        attributes.add_thread(to, taken, site);
    }
    if shown.has(Metadata::Level) {
        attributes.add_own(to, taken, "level", Value::Str(start.level.name()));
    }
    if shown.has(Metadata::Target) {
        attributes.add_own(to, taken, "target", Value::Str(start.target));
    }
}
