//! Printing a timestamp does not allocate.

use std::io::Write;

use allocation_counter::measure;

#[test]
fn printing_into_a_buffer_does_not_allocate() {
    let counted = measure(|| {
        let mut line = [0; 64];
        write!(&mut line[..], "{} {:.3}", tach_log::timestamp(), tach_log::timestamp()).unwrap();
        assert_eq!(line[26], b'Z');
    });
    assert_eq!(counted.count_total, 0);
}

#[cfg(feature = "slog")]
#[test]
fn slog_terms_timestamp_does_not_allocate() {
    let counted = measure(|| tach_log::slog::term(&mut &mut [0; 64][..]).unwrap());
    assert_eq!(counted.count_total, 0);
}

/// The positive control: what allocates is counted.
#[test]
fn a_string_does_allocate() {
    let counted = measure(|| drop(tach_log::timestamp().to_string()));
    assert!(counted.count_total > 0);
}
