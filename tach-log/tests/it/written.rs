//! A record in each of the formats, by a clock that stands still.

use log::Record;
use log::kv::Source;
use tach_core::{ManualClock, UnixTime};

/// 2023-11-14T22:13:20.000001Z, rounded down.
const TIME: UnixTime = UnixTime::from_nanos(1_700_000_000_000_001_500);
/// What JSON says of it.
pub(crate) const TIME_TEXT: &str = "2023-11-14T22:13:20.000001Z";

/// The one record as every format writes it, each with its line end.
pub(crate) struct Written {
    pub(crate) line: String,
    pub(crate) json: String,
    pub(crate) logfmt: String,
}

/// Writes a record to buffers and by `Display`, which have to agree.
pub(crate) fn written(record: &Record<'_>) -> Written {
    let clock = ManualClock::new(TIME);
    let (mut line, mut json, mut logfmt) = (Vec::new(), Vec::new(), Vec::new());
    tach_log::write_line_by(&clock, &mut line, record).unwrap();
    tach_log::write_json_by(&clock, &mut json, record).unwrap();
    tach_log::write_logfmt_by(&clock, &mut logfmt, record).unwrap();
    let [line, json, logfmt] = [line, json, logfmt].map(|text| String::from_utf8(text).unwrap());
    assert_eq!(line, format!("{}\n", tach_log::line_by(&clock, record)));
    assert_eq!(json, format!("{}\n", tach_log::json_by(&clock, record)));
    assert_eq!(logfmt, format!("{}\n", tach_log::logfmt_by(&clock, record)));
    Written { line, json, logfmt }
}

/// Writes the fields of a record that has nothing else: as they follow the head of each format.
pub(crate) fn written_fields(fields: &dyn Source) -> Written {
    let written = written(&Record::builder().target("t").key_values(&fields).build());
    let after = |text: &str, head: &str, end: &str| {
        let fields = text.strip_prefix(head).expect(text).strip_suffix(end).expect(text);
        fields.to_owned()
    };
    Written {
        line: after(&written.line, &format!("{TIME_TEXT} INFO  t: "), "\n"),
        json: after(
            &written.json,
            &format!(r#"{{"ts":"{TIME_TEXT}","level":"INFO","target":"t","msg":"""#),
            "}\n",
        ),
        logfmt: after(
            &written.logfmt,
            &format!(r#"ts={TIME_TEXT} level=INFO target=t msg="""#),
            "\n",
        ),
    }
}
