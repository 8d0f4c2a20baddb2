//! JSON that every reader understands alike.

use std::io;

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

/// The greatest integer that a reader whose numbers are doubles keeps apart from its neighbours
/// (RFC 8259, section 6).
const GREATEST: u64 = (1 << 53) - 1;

/// Returns a value as a line of JSON. Greater integers, which `jq` and JavaScript would round, are
/// texts.
pub(super) fn line(value: &impl Serialize) -> serde_json::Result<String> {
    let mut line = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut line, Exact))?;
    Ok(String::from_utf8(line).expect("serde_json writes UTF-8"))
}

struct Exact;

impl Formatter for Exact {
    fn write_u64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: u64) -> io::Result<()> {
        if value > GREATEST { write!(writer, "\"{value}\"") } else { write!(writer, "{value}") }
    }

    fn write_i64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: i64) -> io::Result<()> {
        if value.unsigned_abs() > GREATEST {
            write!(writer, "\"{value}\"")
        } else {
            write!(writer, "{value}")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn integers_that_a_double_rounds_are_texts() {
        let value = json!({
            "a": 9_007_199_254_740_991_u64,
            "b": 9_007_199_254_740_992_u64,
            "c": u64::MAX,
            "d": [-9_007_199_254_740_991_i64, -9_007_199_254_740_992_i64],
            "e": 1.5,
        });
        let expected = "{\"a\":9007199254740991,\"b\":\"9007199254740992\",\
                        \"c\":\"18446744073709551615\",\
                        \"d\":[-9007199254740991,\"-9007199254740992\"],\"e\":1.5}";
        assert_eq!(line(&value).unwrap(), expected);
    }
}
