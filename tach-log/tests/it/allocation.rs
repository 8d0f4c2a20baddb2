//! Neither a timestamp nor a line allocates, once the thread has written one.

use core::fmt;
use core::hint::black_box;
use std::io::{self, Write};

use allocation_counter::measure;
use log::Record;
use log::kv::{ToValue, Value};
use tach_log::{Event, Format, Json, Line, Logfmt, Timestamp};

#[test]
fn printing_into_a_buffer_does_not_allocate() {
    let counted = measure(|| {
        let mut line = [0; 64];
        write!(&mut line[..], "{} {:.3}", Timestamp::new(), Timestamp::new()).unwrap();
        assert_eq!(line[26], b'Z');
    });
    assert_eq!(counted.count_total, 0);
}

#[test]
fn writing_a_record_does_not_allocate() {
    let fields = [
        ("text", "needs \n escapes".to_value()),
        ("printed", Value::from_debug(&Some(1))),
        ("float", 0.1.to_value()),
        ("big", u128::MAX.to_value()),
    ];
    let mut room = [0; 2048];
    let number = black_box(1); // Without it the compiler makes the message a constant.
    let mut write = |message: fmt::Arguments<'_>| {
        let mut lines = &mut room[..];
        let mut builder = Record::builder();
        let record = builder.target("app").args(message).key_values(&fields).build();
        tach_log::write(Line::new())(&mut lines, &record).unwrap();
        tach_log::write(Json::new())(&mut lines, &record).unwrap();
        tach_log::write(Logfmt::new())(&mut lines, &record).unwrap();
    };
    let mut write_both = || {
        write(format_args!("to {number}\n"));
        write(format_args!("a text of the program\n"));
    };
    // The control: the thread's first line allocates its buffers.
    assert!(measure(&mut write_both).count_total > 0);
    assert_eq!(measure(&mut write_both).count_total, 0);
}

/// A format of empty lines.
struct Empty;

impl Format for Empty {
    fn write(&self, _: &Event<'_>, _: &mut Vec<u8>) -> io::Result<()> {
        Ok(())
    }
}

/// Returns whether the thread keeps its buffers after a message of this length.
fn keeps_buffers_after(format: &impl Format, length: usize) -> bool {
    let write = |length| {
        let message = format_args!("{:length$}", 1);
        let record = Record::builder().args(message).build();
        tach_log::write(format)(&mut io::sink(), &record).unwrap();
    };
    write(length);
    measure(|| write(1)).count_total == 0
}

#[test]
fn buffers_are_kept_up_to_16_kib() {
    assert!(keeps_buffers_after(&Line::new(), 3_000));
    assert!(!keeps_buffers_after(&Line::new(), 10_000), "the line and the message are both long");
    assert!(!keeps_buffers_after(&Empty, 20_000), "the message is long");
}

#[cfg(feature = "slog")]
#[test]
fn a_drain_with_an_event_time_does_not_allocate() {
    use ::slog::{Discard, Drain, Logger, info, o};
    use tach_log::EventTime;
    let log = Logger::root(EventTime::new(Discard).fuse(), o!("host" => "a"));
    let counted = measure(|| info!(log, "served"; "number" => 1));
    assert_eq!(counted.count_total, 0);
}

/// The positive control: an allocation is counted.
#[test]
fn a_string_does_allocate() {
    let counted = measure(|| drop(Timestamp::new().to_string()));
    assert!(counted.count_total > 0);
}
