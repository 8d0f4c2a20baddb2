//! The metadata of a span or an event, as attributes.

use tach_log::Value;
use tach_log::adapter::Site;
use tach_otlp::adapter::{Attributes, Metadata, Shown, Taken};

use crate::frame::Start;

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
        add_place(to, attributes, taken, site);
    }
    if shown.has(Metadata::Thread) {
        if let Some(id) = site.thread_id {
            attributes.add_own(to, taken, "thread.id", id.into());
        }
        if let Some(name) = site.thread_name {
            attributes.add_own(to, taken, "thread.name", Value::Str(name));
        }
    }
    if shown.has(Metadata::Level) {
        attributes.add_own(to, taken, "level", Value::Str(start.level.name()));
    }
    if shown.has(Metadata::Target) {
        attributes.add_own(to, taken, "target", Value::Str(start.target));
    }
}

/// Appends the place in the source as attributes.
pub(super) fn add_place(
    to: &mut Vec<u8>,
    attributes: &mut Attributes,
    taken: Taken,
    site: &Site<'_>,
) {
    if let Some(file) = site.file {
        attributes.add_own(to, taken, "code.file.path", Value::Str(file));
    }
    if let Some(module) = site.module {
        attributes.add_own(to, taken, "code.module.name", Value::Str(module));
    }
    if let Some(line) = site.line {
        attributes.add_own(to, taken, "code.line.number", line.into());
    }
}
