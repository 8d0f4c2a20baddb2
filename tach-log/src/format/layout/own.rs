//! Fields that the schema of a service does not name.

use super::Syntax;
use crate::format::nested;
use crate::value::{Value, with_text};

/// Google Cloud's type of an event that Error Reporting reads
/// (<https://cloud.google.com/error-reporting/docs/formatting-error-messages>).
pub(super) const ERROR_TYPE: &str =
    "type.googleapis.com/google.devtools.clouderrorreporting.v1beta1.ReportedErrorEvent";

/// The characters that `_` replaces in the keys of a flat object, as in ECS' labels: a dot would
/// begin another object.
const REPLACED: [char; 3] = ['.', '*', '\\'];

/// How fields that the schema does not name are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) struct Own {
    /// The key of the flat object for the fields, and a dot. Empty if the fields stand beside the
    /// parts.
    pub(in crate::format) object: &'static str,
    /// The names that the schema defines and no part or renamed field writes.
    pub(in crate::format) reserved: &'static [&'static str],
    /// The service's own prefix of names, with a slash at its end. Empty if the service has none.
    pub(in crate::format) prefix: &'static str,
    /// Whether the service reads `a.b` as the member `b` of the object `a`.
    pub(in crate::format) nests: bool,
}

impl Own {
    /// No schema.
    pub(in crate::format) const ANY: Self =
        Self { object: "", reserved: &[], prefix: "", nests: false };

    /// Returns whether own fields are texts in a flat object.
    pub(super) const fn changes_values(self) -> bool {
        !self.object.is_empty()
    }

    /// Returns whether the name of a field contains its key as it is.
    #[inline]
    pub(super) fn keeps(self, syntax: Syntax, key: &str) -> bool {
        if self.object.is_empty() {
            syntax.may_stand(key) && !self.has_prefix(key)
        } else {
            stands_in_object(key)
        }
    }

    fn has_prefix(self, key: &str) -> bool {
        !self.prefix.is_empty() && key.starts_with(self.prefix)
    }

    /// Returns the name of a field, unless it is in use.
    pub(super) fn name(self, syntax: Syntax, key: &str) -> String {
        if self.has_prefix(key) {
            return key.replacen('/', "_", 1);
        }
        if self.object.is_empty() {
            return syntax.key(key).into_owned();
        }
        let mut name = String::with_capacity(self.object.len() + key.len());
        name.push_str(self.object);
        if is_blank(key) {
            name.push('_');
        } else {
            name.extend(key.chars().map(|c| if REPLACED.contains(&c) { '_' } else { c }));
        }
        name
    }
}

/// Returns whether a key needs no change in a flat object.
fn stands_in_object(key: &str) -> bool {
    let mut has_visible = false;
    for byte in key.bytes() {
        if REPLACED.contains(&char::from(byte)) {
            return false;
        }
        has_visible |= byte.is_ascii_graphic();
    }
    has_visible || !is_blank(key)
}

/// Returns whether Elasticsearch refuses a document with this key in a flat object: a key without a
/// visible character, by the definition of whitespace of Java or of Unicode.
fn is_blank(key: &str) -> bool {
    key.chars().all(|c| c.is_whitespace() || c.is_control())
}

/// Returns whether the name `within` is below `object` for a reader that takes dots as paths.
pub(super) fn is_within(within: &str, object: &str) -> bool {
    // Test for the dot first: it rules out most names without a comparison of texts.
    within.as_bytes().get(object.len()) == Some(&b'.') && within.starts_with(object)
}

/// A kind of value that a service's schema requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Kind {
    /// A text. Any other value is written as its text, except `null`, which keeps its key.
    Text,
    /// A text or `null`. Any other value is written as its text.
    Label,
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
        match value {
            Value::Null | Value::Str(_) => f(value),
            _ if self == Self::Texts => f(value),
            // Pass an error with its sources as one text. As a list, the sources would get a name
            // below the text's.
            value => with_text(value, |text| f(Value::Str(text))),
        }
    }
}
