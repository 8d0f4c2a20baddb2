//! Attributes of `opentelemetry` as fields of a record.

use core::fmt;

use opentelemetry::{Array, KeyValue, Value};

use crate::frame::MaybeStatic;
use crate::frame::Writer;

pub(super) fn write_fields<'a>(
    to: &mut Writer<'_>,
    attributes: impl Iterator<Item = &'a KeyValue>,
) {
    for attribute in attributes {
        let key = MaybeStatic::Borrowed(attribute.key.as_str());
        match &attribute.value {
            Value::Bool(value) => to.field(key, (*value).into()),
            Value::I64(value) => to.field(key, (*value).into()),
            Value::F64(value) => to.field(key, (*value).into()),
            Value::String(text) => to.field(key, text.as_str().into()),
            Value::Array(array) => to.nested_field(key, format_args!("{}", Json(array))),
            // A kind that a later version of opentelemetry adds.
            other => to.printed_field(key, format_args!("{other}")),
        }
    }
}

/// Prints a list as JSON.
struct Json<'a>(&'a Array);

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Array::Bool(all) => list(f, all, |f, value| write!(f, "{value}")),
            Array::I64(all) => list(f, all, |f, value| write!(f, "{value}")),
            // Print a point or an exponent, which distinguishes the number from an integer.
            Array::F64(all) => list(f, all, |f, value| {
                if value.is_finite() { write!(f, "{value:?}") } else { write!(f, "\"{value}\"") }
            }),
            Array::String(all) => list(f, all, |f, text| string(f, text.as_str())),
            other => string(f, &other.to_string()),
        }
    }
}

fn list<T>(
    f: &mut fmt::Formatter<'_>,
    all: &[T],
    each: impl Fn(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    f.write_str("[")?;
    for (at, value) in all.iter().enumerate() {
        if at > 0 {
            f.write_str(",")?;
        }
        each(f, value)?;
    }
    f.write_str("]")
}

fn string(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for character in text.chars() {
        match character {
            '"' | '\\' => write!(f, "\\{character}")?,
            '\0'..='\x1f' => write!(f, "\\u{:04x}", u32::from(character))?,
            character => write!(f, "{character}")?,
        }
    }
    f.write_str("\"")
}

#[cfg(test)]
mod tests {
    use opentelemetry::StringValue;

    use super::*;

    #[test]
    fn lists_are_json() {
        let texts = ["a", "\"\\\n\u{1}é"].map(StringValue::from).to_vec();
        for (array, expected) in [
            (Array::Bool(vec![true, false]), "[true,false]"),
            (Array::I64(vec![]), "[]"),
            (Array::I64(vec![-1, 2]), "[-1,2]"),
            (Array::F64(vec![1.0, f64::NAN]), r#"[1.0,"NaN"]"#),
            (Array::String(texts), r#"["a","\"\\\u000a\u0001é"]"#),
        ] {
            assert_eq!(Json(&array).to_string(), expected);
        }
    }
}
