//! Layouts of tach-log: an event is one line, and one object of JSON, whatever its keys and texts
//! are.

use log::Record;
use tach_log::{Format, Json, Line, Logfmt, Part};

/// The first byte chooses options. The lines after it are keys of the layout, then the target, the
/// key and the value of a field, and the message.
pub(crate) fn check(input: &[u8]) {
    let Some((&options, texts)) = input.split_first() else { return };
    let texts = String::from_utf8_lossy(texts);
    let mut texts = texts.splitn(7, '\n');
    let [time, fixed, renamed, target, key, value, message] =
        core::array::from_fn(|_| texts.next().unwrap_or_default());
    let json = match options & 7 {
        0 => Json::ecs(),
        1 => Json::google_cloud(),
        2 => Json::datadog(),
        3 => Json::bunyan(fixed, renamed),
        4 => Json::empty(),
        5 => Json::new().spans(time).max_depth(2),
        6 => Json::new().texts(key).join_sources(),
        _ => Json::new(),
    };
    let width = usize::from(options >> 3);
    let pairs = [(key, value), (renamed, value)];
    let write = |format: &dyn Format| written(format, target, &pairs, message);
    let json = json.with(time, Part::Time).with(fixed, fixed).rename(renamed, time);
    let json = write(&json.without(renamed));
    let read: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(read.is_object(), "{json}");
    let logfmt = Logfmt::new().with(time, Part::Time).with(fixed, fixed).rename(renamed, time);
    write(&logfmt.without(renamed));
    write(&Line::new().target_width(width));
    write(&Line::tracing().max_target_width(width));
}

/// Returns the event as it is written, which must be one line.
fn written(format: &dyn Format, target: &str, pairs: &[(&str, &str)], message: &str) -> String {
    let mut written = Vec::new();
    let mut record = Record::builder();
    let record = record.target(target).key_values(&pairs);
    let write = tach_log::write(format);
    write(&mut written, &record.args(format_args!("{message}")).build()).unwrap();
    let written = String::from_utf8(written).unwrap();
    let line = written.strip_suffix('\n').unwrap();
    assert!(!line.contains(char::is_control), "{line:?}");
    written
}
