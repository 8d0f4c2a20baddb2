//! The place of a call in the source and the thread of the call, as attributes
//! (<https://opentelemetry.io/docs/specs/semconv/registry/attributes/code/>).

use tach_log::Value;
use tach_log::adapter::Site;

use super::attributes::Attributes;
use super::taken::Taken;

impl Attributes {
    /// Appends what is known of the place in the source, unless a field has the key.
    pub fn add_place(&mut self, to: &mut Vec<u8>, taken: Taken, site: &Site<'_>) {
        if let Some(file) = site.file {
            self.add_own(to, taken, "code.file.path", Value::Str(file));
        }
        if let Some(module) = site.module {
            self.add_own(to, taken, "code.module.name", Value::Str(module));
        }
        if let Some(line) = site.line {
            self.add_own(to, taken, "code.line.number", line.into());
        }
    }

    /// Appends what is known of the thread, unless a field has the key.
    pub fn add_thread(&mut self, to: &mut Vec<u8>, taken: Taken, site: &Site<'_>) {
        if let Some(id) = site.thread_id {
            self.add_own(to, taken, "thread.id", id.into());
        }
        if let Some(name) = site.thread_name {
            self.add_own(to, taken, "thread.name", Value::Str(name));
        }
    }
}
