//! The name and the chosen attributes of a series, in one sequence of bytes, so that a key is
//! compared and hashed as a whole.

use core::str;

use tach_log::Value;

/// The kinds of values. Values of kinds that metrics don't support are stored as text.
const NONE: u8 = 0;
const BOOL: u8 = 1;
const INTEGER: u8 = 2;
const FLOAT: u8 = 3;
const TEXT: u8 = 4;

/// The number of bytes in which a length is stored.
const LENGTH: usize = size_of::<u32>();

/// The key of a series. Consists of parts: the name of spans, which is empty for other times, and
/// the value of each chosen attribute. Each part is preceded by its length.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Key(Vec<u8>);

impl Key {
    /// Begins a new key with a name.
    pub(crate) fn begin(&mut self, name: &str) {
        self.0.clear();
        self.part(name.as_bytes());
    }

    /// Adds the value of the next attribute. `bytes` are the bytes that [`write`] wrote.
    pub(crate) fn part(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(0).to_le_bytes());
        self.0.extend_from_slice(bytes);
    }

    pub fn name(&self) -> &str {
        split(&self.0).and_then(|(name, _)| str::from_utf8(name).ok()).unwrap_or_default()
    }

    /// Returns whether this is the key of the series that counts whatever fits in no other series.
    /// That key has no parts.
    pub(crate) fn is_of_others(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the values of the attributes, with `None` for each attribute without a value.
    pub fn values(&self) -> impl Iterator<Item = Option<Value<'_>>> {
        let mut rest = split(&self.0).map(|(_, rest)| rest);
        core::iter::from_fn(move || {
            let (value, after) = split(rest?)?;
            rest = Some(after);
            Some(read(value))
        })
    }
}

/// Splits off the first part. Returns the part and the rest.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH>()?;
    rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)
}

/// Replaces the content of `to` by the bytes of a value.
pub(crate) fn write(to: &mut Vec<u8>, value: Value<'_>) {
    to.clear();
    let integer = match value {
        Value::I64(value) => Some(value),
        Value::U64(value) => i64::try_from(value).ok(),
        Value::I128(value) => i64::try_from(value).ok(),
        Value::U128(value) => i64::try_from(value).ok(),
        _ => None,
    };
    match (value, integer) {
        (_, Some(value)) => {
            to.push(INTEGER);
            to.extend_from_slice(&value.to_le_bytes());
        }
        (Value::Null, _) => {}
        (Value::Bool(value), _) => to.extend_from_slice(&[BOOL, value.into()]),
        (Value::F64(value), _) => {
            to.push(FLOAT);
            to.extend_from_slice(&value.to_bits().to_le_bytes());
        }
        (Value::Str(text), _) => {
            to.push(TEXT);
            to.extend_from_slice(text.as_bytes());
        }
        (value, _) => {
            to.push(TEXT);
            to.extend_from_slice(value.to_string().as_bytes());
        }
    }
}

fn read(bytes: &[u8]) -> Option<Value<'_>> {
    let (kind, bytes) = bytes.split_first().unwrap_or((&NONE, &[]));
    Some(match *kind {
        BOOL => Value::Bool(bytes == [1]),
        INTEGER => Value::I64(i64::from_le_bytes(*bytes.first_chunk()?)),
        FLOAT => Value::F64(f64::from_bits(u64::from_le_bytes(*bytes.first_chunk()?))),
        TEXT => Value::Str(str::from_utf8(bytes).ok()?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_come_back() {
        let values = [
            Value::Str("GET"),
            Value::Null,
            Value::I64(-1),
            Value::U64(200),
            Value::U64(u64::MAX),
            Value::F64(0.5),
            Value::Bool(true),
            Value::Bool(false),
            Value::Str(""),
        ];
        let mut key = Key::default();
        key.begin("stale and longer than the name");
        key.begin("name");
        let mut bytes = Vec::new();
        for value in values {
            write(&mut bytes, value);
            key.part(&bytes);
        }
        let shown: Vec<_> =
            key.values().map(|value| value.map_or("none".into(), |it| it.to_string())).collect();
        let expected =
            ["GET", "none", "-1", "200", "18446744073709551615", "0.5", "true", "false", ""];
        assert_eq!((key.name(), shown), ("name", expected.map(String::from).to_vec()));
        assert!(matches!(key.values().nth(3), Some(Some(Value::I64(200)))));
    }

    /// If two different values had equal bytes, two series would become one.
    #[test]
    fn keys_differ_if_a_value_moves_between_attributes() {
        let key = |name: &str, parts: [&[u8]; 2]| {
            let mut key = Key::default();
            key.begin(name);
            for part in parts {
                key.part(part);
            }
            key
        };
        let all = [key("ab", [b"", b"c"]), key("a", [b"b", b"c"]), key("ab", [b"c", b""])];
        assert!(all[0] != all[1] && all[0] != all[2] && all[1] != all[2]);
    }
}
