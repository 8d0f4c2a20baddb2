use core::fmt;

use proptest::prelude::*;
use tach_core::{Instant, UnixTime};

use super::*;
use crate::frame::MaybeStatic;
use crate::ids::SpanContext;
use crate::level::Level;
use tach_log::adapter::event as event_of;
use tach_log::{Format, Json, Line, Logfmt, Value};

const TIME: Time = Time::Ticks(Instant::from_ticks(7));
const TARGET: &str = "app::db";
const KEY: MaybeStatic<'_> = MaybeStatic::Static("key");

/// Returns a record. Checks that the record reads the same whether its texts are new or already
/// known.
fn encoded(time: Time, write: impl Fn(&mut Writer<'_>)) -> Vec<u8> {
    set_up();
    let mut scratch = Scratch::new();
    let mut record = || {
        let mut writer =
            Writer::begin(&mut scratch, time, Level::WARN, MaybeStatic::Static(TARGET));
        write(&mut writer);
        writer.end();
        scratch.written().to_owned()
    };
    let [first, again] = [record(), record()];
    assert_eq!(event(&first), event(&again));
    again
}

fn event(bytes: &[u8]) -> (String, Vec<(String, String)>) {
    let (frame, rest) = split(bytes).unwrap();
    assert!(rest.is_empty());
    let record = Frame::read(frame).unwrap();
    assert_eq!((record.target, record.level, record.is_line), (TARGET, Level::WARN, false));
    let fields = record.fields.parts().map(|part| match part {
        (key, Some(value)) => (key.to_owned(), text(value)),
        (name, None) => (name.to_owned(), "span".to_owned()),
    });
    (record.message.to_owned(), fields.collect())
}

fn text(value: Value<'_>) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("bool {value}"),
        Value::I64(value) => format!("i64 {value}"),
        Value::U64(value) => format!("u64 {value}"),
        Value::I128(value) => format!("i128 {value}"),
        Value::U128(value) => format!("u128 {value}"),
        Value::F64(value) => format!("f64 {value:?}"),
        Value::Str(value) => format!("str {value}"),
        value => panic!("{value:?}"),
    }
}

#[test]
fn every_kind_of_value_comes_back() {
    let values = [
        (Value::Null, "null"),
        (Value::Bool(true), "bool true"),
        (Value::Bool(false), "bool false"),
        (Value::I64(i64::MIN), "i64 -9223372036854775808"),
        (Value::U64(u64::MAX), "u64 18446744073709551615"),
        (Value::I128(-1), "i128 -1"),
        (Value::U128(u128::MAX), "u128 340282366920938463463374607431768211455"),
        (Value::F64(-0.0), "f64 -0.0"),
        (Value::F64(f64::NAN), "f64 NaN"),
        (Value::Str("a\nb"), "str a\nb"),
    ];
    let bytes = encoded(TIME, |writer| {
        writer.message(format_args!("{} of them", 11));
        for (value, _) in values {
            writer.field(KEY, value);
            writer.field(MaybeStatic::Borrowed("key"), value);
        }
        writer.printed_field(KEY, format_args!("{}", 'c'));
    });
    let (message, fields) = event(&bytes);
    assert_eq!(message, "11 of them");
    let expected = values.map(|(_, text)| vec![("key".to_owned(), text.to_owned()); 2]);
    let printed = ("key".to_owned(), "str c".to_owned());
    assert_eq!(fields, [expected.concat(), vec![printed]].concat());
}

/// Takes the shortest of many records, since some keys are copied: while another test is taking a
/// place, or, with a probability of 1 in 16,000 for each address, if other texts hold all places of
/// the key.
#[test]
fn texts_of_the_program_take_no_room_of_their_own() {
    let least = |key: fn(&'static str) -> MaybeStatic<'static>| {
        let length = |_| {
            let key = key("key".to_owned().leak());
            let write = |writer: &mut Writer<'_>| {
                writer.message(format_args!("a message of the program"));
                writer.field(key, Value::U64(7));
            };
            encoded(TIME, write).len()
        };
        (0..1000).map(length).min().unwrap()
    };
    let head_and_number = HEAD + 2 * WORD;
    assert_eq!(least(MaybeStatic::Static), head_and_number);
    assert_eq!(least(MaybeStatic::Borrowed), head_and_number + WORD);
}

/// A thread knows 256 texts at most, so some of these are written as numbers and some are copied.
#[test]
fn texts_without_numbers_are_copied() {
    let keys: Vec<&str> = (0..1000).map(|key| &*format!("key {key}").leak()).collect();
    let bytes = encoded(TIME, |writer| {
        writer.message(format_args!(""));
        for key in &keys {
            writer.field(MaybeStatic::Static(key), Value::Null);
        }
    });
    let (_, fields) = event(&bytes);
    assert!(fields.iter().map(|(key, _)| key).eq(&keys));
    let copied: usize = keys.iter().map(|key| key.len().next_multiple_of(WORD)).sum();
    assert!(bytes.len() < HEAD + keys.len() * WORD + copied, "no key was sent as a number");
    assert!(bytes.len() > HEAD + keys.len() * WORD, "none was copied");
}

#[test]
fn the_time_is_ticks_or_unix_time() {
    for time in [TIME, Time::Unix(UnixTime::from_nanos(4))] {
        let bytes = encoded(time, |writer| writer.message(format_args!("")));
        assert_eq!(super::time(&bytes), Some(time));
    }
}

struct Panics;

impl fmt::Display for Panics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("half")?;
        panic!("on purpose")
    }
}

struct Fails;

impl fmt::Display for Fails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("half")?;
        Err(fmt::Error)
    }
}

#[test]
fn values_that_fail_or_panic_keep_what_they_wrote() {
    let bytes = encoded(TIME, |writer| {
        writer.message(format_args!("{Panics}"));
        writer.printed_field(MaybeStatic::Static("fails"), format_args!("{Fails}"));
        let _ended = writer.guard(|writer| {
            writer.field(MaybeStatic::Borrowed("kept"), Value::Null);
            panic!("on purpose");
        });
    });
    let (message, fields) = event(&bytes);
    assert_eq!(message, "half<panicked>");
    let expected = [("fails", "str half<failed to format>"), ("kept", "null")];
    assert_eq!(fields, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
}

#[test]
fn records_follow_each_other() {
    let one = encoded(TIME, |writer| writer.message(format_args!("one")));
    let two = encoded(TIME, |writer| writer.message(format_args!("the other")));
    let both = [one.clone(), two.clone()].concat();
    let (first, rest) = split(&both).unwrap();
    assert_eq!((first, split(rest).unwrap()), (&one[..], (&two[..], &[][..])));
    for end in 0..one.len() {
        assert!(split(&one[..end]).is_none(), "not whole at {end}");
    }
}

/// Asserts that every format writes one line for `bytes`, even if they are not a valid record.
fn assert_one_line(bytes: &[u8]) {
    let Some(record) = Frame::read(bytes) else { return };
    let event = event_of(record.parts(UnixTime::EPOCH, false));
    let formats: [&dyn Format; 3] = [&Json::new(), &Logfmt::new(), &Line::new()];
    for format in formats {
        let mut line = Vec::new();
        format.write(&event, &mut line).unwrap();
        let end = line.iter().position(|&byte| byte == b'\n');
        assert_eq!(end, Some(line.len() - 1), "{}", String::from_utf8_lossy(&line));
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        assert_one_line(&bytes);
    }

    /// Reads words that look like fields, cut off at any byte.
    #[test]
    fn no_fields_make_it_panic(
        fields in proptest::collection::vec((0_u32..16, 0_u32..40, 0_u32..40, any::<[u8; 24]>()), 0..6),
        end in 0_usize..300,
    ) {
        let mut bytes = vec![0; HEAD];
        for (tag, length, key, rest) in fields {
            bytes.extend((length << TAG_BITS | tag).to_le_bytes());
            bytes.extend(key.to_le_bytes());
            bytes.extend(rest);
        }
        bytes.truncate(end.max(HEAD));
        prop_assert!(Frame::read(&bytes).is_some());
        assert_one_line(&bytes);
    }

    #[test]
    fn a_record_that_is_cut_or_bent_does_not_make_it_panic(at in 0_usize..100, byte: u8) {
        let mut bytes = encoded(TIME, |writer| {
            writer.message(format_args!("a message"));
            writer.field(KEY, Value::Str("text"));
            writer.field(MaybeStatic::Borrowed("other"), Value::U64(1));
        });
        let at = at % bytes.len();
        bytes[at] = byte;
        assert_one_line(&bytes);
        assert_one_line(&bytes[..at]);
    }
}

/// Start and end are ticks, Unix times, or one of each.
#[test]
fn a_span_says_when_and_where_it_started() {
    let context = SpanContext { trace: 1 << 100 | 2, span: 3, is_sampled: true };
    let code = Code::of(5).unwrap();
    let ticks = |number| Time::Ticks(Instant::from_ticks(number));
    let unix = |number| Time::Unix(UnixTime::from_nanos(number));
    for time in [ticks, unix] {
        let (since, end) = (time(9_000), time(10_000));
        let record = SpanRecord { context, parent: 4, since, age: 7, thread: 8 };
        let bytes = record.words(code, end).map(u64::to_le_bytes).concat();
        let mut scratch = Scratch::new();
        Writer::begin_span_at(&mut scratch, code, &record).end();
        scratch.end_span(end, true);
        assert_eq!(scratch.written(), bytes);
        assert_eq!((starter(&bytes), kind(&bytes)), (Some(8), Some(RecordKind::Span)));
        assert!(is_of_span(&bytes) && has_callsite(&bytes));
        let part = SpanPart::read(&bytes).unwrap();
        assert_eq!((part.time, part.context), (end, context));
        let What::Start(start) = part.what else { panic!("{part:?}") };
        let began = time(9_000 - (7 << AGE_SHIFT));
        assert_eq!((start.parent, start.since, start.began, start.thread), (4, since, began, 8));
        // A short record is kept when the queue is full.
        assert_eq!(remains(&bytes), Remains::Span);
        let mut to = Writer::begin_span_at(&mut scratch, code, &record);
        to.field(KEY, Value::Str(&"x".repeat(200)));
        to.end();
        assert_eq!(remains(scratch.written()), Remains::NoSpan);
        let texts = ["app", "a name"].map(MaybeStatic::Borrowed);
        for other in [ticks(11_000), unix(11_000)] {
            for is_whole in [false, true] {
                let mut to = if is_whole {
                    Writer::begin_span(&mut scratch, Level::INFO, texts, &record)
                } else {
                    Writer::begin_span_at(&mut scratch, code, &record)
                };
                to.field(KEY, Value::Bool(true));
                to.end();
                scratch.end_span(other, false);
                let part = SpanPart::read(scratch.written()).unwrap();
                assert_eq!(part.time.unix_time(), other.unix_time());
                assert_eq!((part.fields.parts().count(), part.context.is_sampled), (1, false));
                let What::Start(start) = part.what else { panic!("{part:?}") };
                let off = start.since.unix_time().as_nanos().abs_diff(since.unix_time().as_nanos());
                assert!(off < 1_000_000, "the rate of the ticks may be corrected meanwhile");
            }
        }
    }
    assert_eq!(starter(&encoded(TIME, |_| {})), None);
}
