//! Neither a timestamp nor a line allocates.

use core::fmt;
use core::hint::black_box;
use std::io::Write;

use allocation_counter::measure;
use log::Record;
use log::kv::{ToValue, Value};

#[test]
fn printing_into_a_buffer_does_not_allocate() {
    let counted = measure(|| {
        let mut line = [0; 64];
        write!(&mut line[..], "{} {:.3}", tach_log::timestamp(), tach_log::timestamp()).unwrap();
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
    let number = black_box(1); // Or else the message is a text that the compiler has put together.
    let mut write = |message: fmt::Arguments<'_>| {
        let mut lines = &mut room[..];
        let mut builder = Record::builder();
        let record = builder.target("app").args(message).key_values(&fields).build();
        tach_log::write_line(&mut lines, &record).unwrap();
        tach_log::write_json(&mut lines, &record).unwrap();
        tach_log::write_logfmt(&mut lines, &record).unwrap();
    };
    let counted = measure(|| {
        write(format_args!("to {number}\n"));
        write(format_args!("a text of the program\n"));
    });
    assert_eq!(counted.count_total, 0);
}

#[cfg(feature = "slog")]
#[test]
fn slog_terms_timestamp_does_not_allocate() {
    let counted = measure(|| tach_log::slog::term(&mut &mut [0; 64][..]).unwrap());
    assert_eq!(counted.count_total, 0);
}

#[cfg(feature = "slog")]
#[test]
fn a_pinned_drain_does_not_allocate() {
    use ::slog::{Discard, Drain, Logger, info, o};
    let log = Logger::root(tach_log::slog::Pinned::new(Discard).fuse(), o!("host" => "a"));
    let counted = measure(|| info!(log, "served"; "number" => 1));
    assert_eq!(counted.count_total, 0);
}

/// The positive control: what allocates is counted.
#[test]
fn a_string_does_allocate() {
    let counted = measure(|| drop(tach_log::timestamp().to_string()));
    assert!(counted.count_total > 0);
}
