//! Fields that the schema of a service does not name.

use super::Syntax;
use crate::format::nested;
use crate::value::Value;

/// Google Cloud's type of an event that Error Reporting reads
/// (<https://cloud.google.com/error-reporting/docs/formatting-error-messages>).
pub(super) const ERROR_TYPE: &str =
    "type.googleapis.com/google.devtools.clouderrorreporting.v1beta1.ReportedErrorEvent";

/// The characters of a key for which `_` stands in a flat object, as ECS' labels have them: a dot
/// would begin another object.
const REPLACED: [char; 3] = ['.', '*', '\\'];

/// How fields that the schema does not name are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) struct Own {
    /// The flat object for the fields, with a dot. Empty if they stand beside the parts.
    pub(in crate::format) object: &'static str,
    /// The names that the schema defines and no part or renamed field writes.
    pub(in crate::format) reserved: &'static [&'static str],
}

impl Own {
    /// No schema.
    pub(super) const ANY: Self = Self { object: "", reserved: &[] };

    /// Returns whether own fields are scalars in a flat object.
    pub(super) const fn changes_values(self) -> bool {
        !self.object.is_empty()
    }

    /// Returns whether the name of a field contains its key as it is.
    pub(super) fn keeps(self, syntax: Syntax, key: &str) -> bool {
        if self.object.is_empty() { syntax.may_stand(key) } else { !key.contains(REPLACED) }
    }

    /// Returns the name of a field, unless it is in use.
    pub(super) fn name(self, syntax: Syntax, key: &str) -> String {
        if self.object.is_empty() {
            return syntax.key(key).into_owned();
        }
        let mut name = String::new();
        self.write_name(&mut name, key);
        name
    }

    /// Replaces `name` by the name of a field in the flat object, unless it is in use.
    pub(super) fn write_name(self, name: &mut String, key: &str) {
        name.clear();
        name.push_str(self.object);
        if key.contains(REPLACED) {
            name.push_str(&key.replace(REPLACED, "_"));
        } else {
            name.push_str(key);
        }
    }
}

/// A kind of value that a service's schema requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Kind {
    /// Any other value is written as its text.
    Text,
    /// An object or a list is written as its text.
    Scalar,
    /// An object of texts. Any other value keeps its key.
    Texts,
}

impl Kind {
    /// Returns whether the value can be written as one of this kind.
    pub(super) fn may_have(self, value: Value<'_>) -> bool {
        match (self, value) {
            (Self::Texts, Value::Json(json)) => {
                json.starts_with('{') && nested::items(json).all(|(_, item)| item.starts_with('"'))
            }
            (Self::Texts, _) | (Self::Text, Value::Null) => false,
            _ => true,
        }
    }

    /// Calls `f` with the value as one of this kind.
    pub(super) fn pass<R>(self, value: Value<'_>, f: impl FnOnce(Value<'_>) -> R) -> R {
        match (self, value) {
            (Self::Text | Self::Scalar, Value::Json(json)) => f(Value::Str(json)),
            (Self::Text, Value::Str(_) | Value::Error(_)) | (Self::Scalar | Self::Texts, _) => {
                f(value)
            }
            (Self::Text, value) => f(Value::Str(&value.to_string())),
        }
    }
}
