//! The resource that all telemetry describes: its methods and its message.

use tach_log::Value;

use super::Otlp;
use crate::encode::protobuf::{bytes, message};
use crate::encode::value::key_value;

/// The number of `Resource` in `ResourceLogs`, and of its attributes in `Resource`.
const RESOURCE: u32 = 1;
const ATTRIBUTES: u32 = 1;

pub(super) const SERVICE_NAME: &str = "OTEL_SERVICE_NAME";

impl Otlp {
    /// Sets the resource's `service.name`: `unknown_service:` and the program's name by default.
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_otlp::Otlp::new().service_name("checkout");
    /// ```
    pub fn service_name(mut self, name: impl Into<String>) -> Self {
        self.ignored.retain(|fault| fault.name() != SERVICE_NAME);
        self.attribute("service.name", name.into().as_str())
    }

    /// Sets an attribute of the resource. It replaces an earlier one of that key.
    ///
    /// # Examples
    ///
    /// ```
    /// let otlp = tach_otlp::Otlp::new().attribute("service.instance.id", 3);
    /// ```
    pub fn attribute<'a>(mut self, key: impl Into<String>, value: impl Into<Value<'a>>) -> Self {
        let key = key.into();
        self.attributes.retain(|(known, _)| *known != key);
        let attribute = Self::encoded(&key, value.into());
        self.attributes.push((key, attribute));
        self
    }

    /// Returns an attribute as a whole message.
    pub(super) fn encoded(key: &str, value: Value<'_>) -> Vec<u8> {
        let mut attribute = Vec::new();
        key_value(&mut attribute, key, value, usize::MAX);
        attribute
    }

    /// Returns the `Resource` as a field of `ResourceLogs`, `ResourceSpans` or `ResourceMetrics`.
    pub(crate) fn resource(&self) -> Vec<u8> {
        let mut to = Vec::new();
        message(&mut to, RESOURCE, |to| {
            self.attributes.iter().for_each(|(_, attribute)| bytes(to, ATTRIBUTES, attribute));
        });
        to
    }
}
