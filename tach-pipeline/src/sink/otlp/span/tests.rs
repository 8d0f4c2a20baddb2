use tach_core::UnixTime;

use super::*;
use crate::frame::texts::MaybeStatic;
use crate::frame::{RecordKind, Scratch, Time, Writer};
use crate::level::Level;
use crate::spans::span::READ;

#[test]
fn many_values_are_read_a_few_times() {
    const VALUES: usize = 100;
    let context = SpanContext { trace: 1, span: 2, is_sampled: true };
    let at = Time::Unix(UnixTime::EPOCH);
    let mut scratch = Scratch::new();
    Writer::begin_span(&mut scratch, at, Level::INFO, "app", "name", context, None).end();
    let mut records = scratch.written().to_owned();
    for value in 0..VALUES {
        let mut to = Writer::begin_part(&mut scratch, at, RecordKind::Values, context);
        let key = format!("key-{}.", value / 2);
        to.field(MaybeStatic::Borrowed(&key), Value::U64(value as u64));
        to.end();
        records.extend_from_slice(scratch.written());
    }
    let span = Span {
        context,
        start: UnixTime::EPOCH,
        end: UnixTime::EPOCH,
        is_unfinished: false,
        records: &records,
        has_values: true,
        has_end: true,
        is_on_one_thread: true,
        dropped: Dropped::default(),
        redacted: &[],
    };
    let limits = SpanLimits::default();
    let mut written = Vec::new();
    READ.set(0);
    let levels = Levels::all(log::LevelFilter::Trace);
    write_span(&mut written, &span, &span.begin().unwrap(), &limits, &levels);
    assert!(READ.get() <= 3 * (VALUES + 1), "{}", READ.get());
    let text = String::from_utf8_lossy(&written);
    assert_eq!(text.matches("key-").count(), VALUES / 2, "each key once");
}
