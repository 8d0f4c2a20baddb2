//! A record in each of the formats, at a fixed time.

use log::Record;
use log::kv::Source;
use tach_core::{Anchor, Instant, UnixTime, event_time};
use tach_log::{Format, Json, Line, Logfmt};

/// 2023-11-14T22:13:20.000001Z, rounded down.
const TIME: UnixTime = UnixTime::from_nanos(1_700_000_000_000_001_500);
/// The same in JSON.
pub(crate) const TIME_TEXT: &str = "2023-11-14T22:13:20.000001Z";

/// One record in every format, with its line end.
pub(crate) struct Written {
    pub(crate) line: String,
    pub(crate) json: String,
    pub(crate) logfmt: String,
}

/// Writes a record to a buffer and by `Display`, and asserts that both agree.
pub(crate) fn written(record: &Record<'_>) -> Written {
    Written {
        line: written_by(Line::new(), record),
        json: written_by(Json::new(), record),
        logfmt: written_by(Logfmt::new(), record),
    }
}

fn written_by(format: impl Format, record: &Record<'_>) -> String {
    at(TIME, || {
        let mut line = Vec::new();
        tach_log::write(&format)(&mut line, record).unwrap();
        let line = String::from_utf8(line).unwrap();
        assert_eq!(line, format!("{}\n", tach_log::display(&format, record)));
        line
    })
}

/// Calls `f` with `time` as the event time.
pub(crate) fn at<R>(time: UnixTime, f: impl FnOnce() -> R) -> R {
    event_time::during(Anchor::new(Instant::from_ticks(0), time), f)
}

/// Returns the fields of a record without the head and the end of each format.
pub(crate) fn written_fields(fields: &dyn Source) -> Written {
    let written = written(&Record::builder().target("t").key_values(&fields).build());
    let after = |text: &str, head: &str, end: &str| {
        let fields = text.strip_prefix(head).expect(text).strip_suffix(end).expect(text);
        fields.to_owned()
    };
    Written {
        line: after(&written.line, &format!("{TIME_TEXT} INFO  t:"), "\n"),
        json: after(
            &written.json,
            &format!(r#"{{"ts":"{TIME_TEXT}","level":"INFO","target":"t""#),
            "}\n",
        ),
        logfmt: after(&written.logfmt, &format!("ts={TIME_TEXT} level=INFO target=t"), "\n"),
    }
}
