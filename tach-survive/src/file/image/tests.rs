use core::slice::from_ref;
use core::time::Duration;
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::OnceLock;
use std::{fs, thread};

use proptest::prelude::*;
use tach_core::Instant;
use test_support::is_alone;

use super::*;
use crate::file::contents;
use crate::file::items;
use crate::file::layout::{HEAP, HEAP_AT, Kind, PAGE, RINGS};
use crate::file::owner;
use crate::file::store::Store;
use tach_record::channel::Channel;
use tach_record::channel::wake::Sleep;
use tach_record::frame::{self, Frame, MaybeStatic, Scratch, SpanRecord, ThisThread, Time, Writer};
use tach_record::level::Level;
use tach_record::queue::WhenFull;
use tach_record::queue::all::Queues;
use tach_sinks::adapter::Named;

pub(crate) const RECORDS: usize = 300;
pub(crate) const EVENTS: &[u8] = b"one\ntwo\n";

/// Returns the contents of the only file in a folder, as if its process had ended.
pub(crate) fn file(path: &std::path::Path) -> Vec<u8> {
    let mut files = fs::read_dir(path).unwrap();
    let mut bytes = fs::read(files.next().unwrap().unwrap().path()).unwrap();
    owner::tests::free(&mut bytes);
    bytes
}

/// How many spans a flight recorder has in the image.
pub(crate) const SPANS: u64 = 20;

/// Adds items of a flight recorder.
fn record(store: &Arc<Store>) {
    use crate::file::store::Recording;
    use tach_record::ids::SpanContext;

    let mut recording = Recording::new(store, 64 * 1024, Duration::from_secs(30));
    for span in 201..=200 + SPANS {
        let (mut scratch, time) = (Scratch::new(), Time::Ticks(Instant::now()));
        let context = SpanContext { trace: 1, span, is_sampled: true };
        let mut to = Writer::begin_span(
            &mut scratch,
            Level::INFO,
            ["app", "name"].map(MaybeStatic::Static),
            &SpanRecord { context, parent: span / 2, since: time, age: 0, thread: 0 },
        );
        to.field(MaybeStatic::Static("number"), tach_log::Value::U64(span));
        to.end();
        recording.add(&[1, 0, span], scratch.written());
    }
}

/// Returns the message of the record with a number. Some are long.
pub(crate) fn message(number: usize) -> String {
    let length = match number % 50 {
        3 => 50_000,
        odd => 10 + 90 * (odd % 2),
    };
    format!("{number} {}", "m".repeat(length))
}

/// Returns a file with the records of two threads, with their messages.
pub(crate) fn image() -> &'static (Vec<u8>, HashSet<String>) {
    static IMAGE: OnceLock<(Vec<u8>, HashSet<String>)> = OnceLock::new();
    IMAGE.get_or_init(|| {
        let (store, path) = Store::of_test("records");
        let queues = Queues::in_file(1024 * 1024, Some(&store.rings()));
        let mut senders =
            [queues.new_queue(ThisThread::default()), queues.new_queue(ThisThread::default())];
        let mut scratch = Scratch::new();
        for number in 0..RECORDS {
            let time = Time::Ticks(Instant::now());
            let target = MaybeStatic::Borrowed("app");
            let mut writer = Writer::begin(&mut scratch, time, Level::INFO, target);
            writer.printed_message(format_args!("{}", message(number)));
            writer.field(MaybeStatic::Borrowed("key"), tach_log::Value::U64(number as u64));
            writer.end();
            let sender = &mut senders[number % 2];
            let record = scratch.record();
            assert!(sender.push(record.written()) || sender.push_beyond(record, true));
        }
        store.gathers(1, EVENTS, &[4, 8], 2);
        record(&store);
        store.commit(0);
        let bytes = file(&path);
        fs::remove_dir_all(path).unwrap();
        drop((senders, queues));
        (bytes, (0..RECORDS).map(message).collect())
    })
}

/// Returns the records that were not passed on, with their times and the numbers of their rings.
fn records<'a: 'i, 'i>(
    image: &'i Image<'a>,
) -> impl Iterator<Item = (UnixTime, Cow<'a, [u8]>, usize)> + use<'a, 'i> {
    let mut left = image.left();
    core::iter::from_fn(move || left.next(image))
}

/// Reads everything in a file. Returns the messages, in their order.
fn read(bytes: &[u8]) -> Vec<String> {
    let Ok(image) = Image::read(bytes) else { return Vec::new() };
    let _read = (image.lanes(), image.program(), image.lost());
    let _summary = contents::summary(&image, image.left());
    contents::recorded(&image, &mut |_, _| ());
    let collector = Named { name: "http".to_owned(), is_remote: true };
    for lane in 0..image.lane_count() {
        let _batch = items::batch(&image, lane, from_ref(&collector), UnixTime::EPOCH);
    }
    for number in 0..8192 {
        let _none = (image.text(number), image.place(number));
    }
    let events = records(&image).filter_map(|(_, record, ring)| {
        match foreign::foreign(&record, &image, Some(ring)) {
            Foreign::Event(event) => Some(Frame::read(&event)?.message.to_owned()),
            Foreign::Part(_) | Foreign::Invalid => None,
        }
    });
    events.collect()
}

#[test]
fn all_records_are_there_in_their_order() {
    let (bytes, _) = image();
    let expected: Vec<_> = (0..RECORDS).map(message).collect();
    assert_eq!(read(bytes), expected);
    let image = Image::read(bytes).unwrap();
    assert_eq!(image.left().cut, 0);
    let (_, record, ring) = records(&image).nth(5).unwrap();
    let Foreign::Event(event) = foreign::foreign(&record, &image, Some(ring)) else { panic!() };
    let event = Frame::read(&event).unwrap();
    let fields: Vec<_> =
        event.fields.parts().map(|(key, value)| format!("{key}={value:?}")).collect();
    let process = format!("recovered_pid=Some(U64({}))", std::process::id());
    assert_eq!(fields, [&process, "key=Some(U64(5))"]);
    let lanes = image.lanes().unwrap();
    let batch = &lanes[1].batch;
    assert_eq!((batch.bytes, &batch.ends[..]), (EVENTS, &[4, 8][..]));
}

/// Each of millions of records may name the longest text twice. To look at all of them would take
/// minutes.
#[test]
fn the_texts_that_are_looked_up_are_bounded() {
    let mut bytes = image().0.clone();
    let entry = |length| crate::file::layout::entry(0, length).to_ne_bytes();
    let at = Kind::Text.entry(0).unwrap();
    bytes[HEAP_AT..HEAP_AT + HEAP].fill(b'x');
    bytes[at..at + 8].copy_from_slice(&entry(HEAP));
    let is_there = |image: &Image<'_>| image.text(0).is_some_and(|text| text.len() == HEAP);
    let image = Image::read(&bytes).unwrap();
    let most = MOST_LOOKED_UP / HEAP;
    assert!((0..most).all(|_| is_there(&image)));
    assert!(!is_there(&image) && !is_there(&image));
    // Texts that are not valid count towards the bound too.
    let mut invalid = bytes.clone();
    invalid[HEAP_AT + HEAP - 1] = 0xFF;
    invalid[at + 8..at + 16].copy_from_slice(&entry(1));
    let image = Image::read(&invalid).unwrap();
    assert!(!is_there(&image) && image.text(1) == Some("x"));
    assert!(!(0..most).any(|_| is_there(&image)));
    assert_eq!(image.text(1), None);
}

/// Ticks convert to the time that the process would have printed.
#[test]
fn ticks_convert_within_a_microsecond() {
    let (store, path) = Store::of_test("ticks");
    let mut instants = vec![Instant::now()];
    for _ in 0..5 {
        thread::sleep(Duration::from_millis(30));
        store.line();
        instants.push(Instant::now());
    }
    let bytes = file(&path);
    let image = Image::read(&bytes).unwrap();
    for instant in instants {
        let (expected, found) = (instant.unix_time(), image.time(instant.as_ticks()));
        let off = expected.as_nanos().abs_diff(found.as_nanos());
        assert!(off <= 1_000, "{expected} {found}");
    }
    fs::remove_dir_all(path).unwrap();
}

/// Rings that are given back are used again, also for other long records.
#[test]
fn a_file_has_a_number_of_rings_at_once() {
    let (store, path) = Store::of_test("rings");
    let first = store.rings().ring(60 * PAGE).unwrap();
    drop(first);
    let _again = store.rings().ring(45 * PAGE).unwrap();
    assert_eq!(Image::read(&file(&path)).unwrap().word(head::RINGS), 1);
    let mut rings: Vec<_> = (1..RINGS).map(|_| store.rings().ring(PAGE).unwrap()).collect();
    assert!(!store.rings().has_ring(PAGE) && !store.rings().has_ring(60 * PAGE));
    assert!(store.rings().ring(PAGE).is_none());
    rings.pop();
    assert!(store.rings().has_ring(PAGE) && !store.rings().has_ring(60 * PAGE));
    assert!(store.rings().ring(PAGE).is_some());
    fs::remove_dir_all(path).unwrap();
}

/// A thread that begins while others have all rings waits until the back end frees one. A thread
/// that drops records does not wait.
#[test]
fn a_new_thread_waits_for_a_ring() {
    const SMALLEST: usize = 2 * PAGE;
    let (store, path) = Store::of_test("waits");
    let outside = || Image::read(&file(&path)).unwrap().outside();
    let channel = |policy| {
        let mut channel = Channel::in_file(64 * 1024, policy, Some(&store.rings()));
        channel.longest_for_a_ring = Duration::from_secs(60);
        channel
    };
    let (blocks, drops) = (channel(WhenFull::Block), channel(WhenFull::DropNewest));
    let mut rings = Vec::new();
    while store.rings().has_ring(SMALLEST) {
        rings.push(store.rings().ring(SMALLEST).unwrap());
    }
    assert!(rings.len() > RINGS / 2);
    // This thread plays the back end: it frees a ring when it is woken, or if no thread waits.
    let waker = &blocks.signals.waker;
    let _sleep = Sleep::new(waker, Duration::from_secs(1));
    thread::scope(|scope| {
        scope.spawn(|| {
            let _queue = blocks.new_queue();
            waker.wake();
        });
        waker.nap(Duration::from_secs(600));
        rings.pop();
    });
    assert_eq!(outside(), 0);
    while store.rings().has_ring(SMALLEST) {
        rings.push(store.rings().ring(SMALLEST).unwrap());
    }
    let _queue = drops.new_queue();
    assert_eq!(outside(), 1);
    fs::remove_dir_all(path).unwrap();
}

/// A full file does not stop its pipeline, and must not keep the next pipeline from being built.
#[test]
fn a_second_file_has_the_texts_that_had_room_in_the_first() {
    if !is_alone(a_second_file_has_the_texts_that_had_room_in_the_first) {
        return;
    }
    tach_spans::callsites::set_up();
    let (first, first_path) = Store::of_test("texts-first");
    let write = || {
        let mut scratch = Scratch::new();
        for number in 0..200 {
            let target = format!("{number}{}", "x".repeat(2_000)).leak();
            let (time, level) = (Time::Unix(UnixTime::EPOCH), Level::INFO);
            Writer::begin(&mut scratch, time, level, MaybeStatic::Static(target)).end();
        }
    };
    write();
    let (second, second_path) = Store::of_test("texts-second");
    let [one, other] = [&first_path, &second_path].map(|path| file(path));
    let [one, other] = [&one, &other].map(|bytes| Image::read(bytes).unwrap());
    let all = (0..4096).filter_map(|number| Some((number, one.text(number)?)));
    let all: Vec<_> = all.collect();
    assert!((90..110).contains(&all.len()), "{}", all.len());
    assert!(all.iter().all(|(number, text)| other.text(*number) == Some(text)));
    // Without the full file, more texts get numbers. The other file must contain each such text,
    // since records then contain only its number.
    drop(first);
    write();
    let other = file(&second_path);
    let other = Image::read(&other).unwrap();
    for (number, text) in crate::file::texts::known(frame::numbers::texts()) {
        assert_eq!(other.text(number), Some(text));
    }
    drop(second);
    for path in [first_path, second_path] {
        fs::remove_dir_all(path).unwrap();
    }
}

/// A batch contains its events until the collector has them, and is not overwritten before.
#[test]
fn the_batch_of_a_collector_is_there_until_it_is_sent() {
    let (store, path) = Store::of_test("batch");
    let left = || {
        let bytes = file(&path);
        let batch = &Image::read(&bytes).unwrap().lanes().unwrap()[1].batch;
        (String::from_utf8(batch.bytes.to_vec()).unwrap(), batch.ends.clone())
    };
    store.takes(1);
    assert_eq!(left(), (String::new(), vec![]), "nothing was there to be taken");
    // Five events came before this one, and none of them is in the file.
    store.gathers(1, b"one\n", &[4], 6);
    store.gathers(1, b"one\ntwo\n", &[4, 8], 7);
    assert_eq!((left(), store.has(1)), (("one\ntwo\n".to_owned(), vec![4, 8]), 5..7));
    store.takes(1);
    store.gathers(1, b"three\n", &[6], 8);
    assert_eq!((left(), store.has(1)), (("one\ntwo\n".to_owned(), vec![4, 8]), 5..7));
    store.sent(1);
    assert_eq!((left(), store.has(1)), ((String::new(), vec![]), 0..0));
    store.gathers(1, b"three\n", &[6], 8);
    store.sent(1);
    assert_eq!((left(), store.has(1)), (("three\n".to_owned(), vec![6]), 7..8));
    // Only whole events are kept, as far as there is room.
    let long = vec![b'x'; 200 * 1024];
    let ends = [6, 100_000, long.len()];
    store.gathers(1, &[b"three\n", &long[6..]].concat(), &ends, 10);
    assert_eq!((left().1, store.has(1)), (ends.to_vec(), 7..10));
    let longer = vec![b'x'; 300 * 1024];
    store.gathers(1, &longer, &[6, 100_000, long.len(), longer.len()], 11);
    assert_eq!((left().1, store.has(1)), (ends.to_vec(), 7..10));
    // Sink 0 is a file, for which no batch is kept.
    store.gathers(0, b"one\n", &[4], 1);
    assert_eq!(store.has(0), 0..0);
    fs::remove_dir_all(path).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_truncated_file_has_no_other_records(length in 0..image().0.len()) {
        let (bytes, messages) = image();
        for message in read(&bytes[..length]) {
            prop_assert!(messages.contains(&message));
        }
    }

    /// Words of the head, the tables and the entries, and of the records, have any values.
    #[test]
    fn a_scrambled_file_makes_nothing_panic(
        words in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>(), 0..4), 1..40),
    ) {
        let mut bytes = image().0.clone();
        for (at, value, kind) in words {
            let value = match kind {
                0 => value,
                1 => value % 4096,
                2 => u64::MAX - value % 8,
                _ => value % 64 * 4096,
            };
            // Change a word anywhere in one case of four, and otherwise where the numbers are.
            let room = if kind == 0 { bytes.len() } else { Kind::Text.entry(0).unwrap() };
            let at = at.index(room / WORD) * WORD;
            if at >= 2 * WORD {
                bytes[at..at + WORD].copy_from_slice(&value.to_ne_bytes());
            }
        }
        read(&bytes);
    }
}

/// The inputs that the fuzzer found interesting: `fuzz/fuzz_targets/survivor.rs` says what their
/// bytes mean.
#[test]
fn inputs_of_the_fuzzer_make_nothing_panic() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tach-pipeline/fuzz/corpus/survivor");
    let (original, _) = image();
    let is_used = |at: &usize| original[*at..*at + WORD] != [0; WORD];
    let words: Vec<_> = (0..original.len()).step_by(WORD).filter(is_used).collect();
    let (mut inputs, mut records) = (0, 0);
    for input in fs::read_dir(folder).unwrap() {
        let input = fs::read(input.unwrap().path()).unwrap();
        let mut bytes = original.clone();
        for change in input.chunks_exact(8) {
            damage(&mut bytes, &words, change.try_into().unwrap());
        }
        inputs += 1;
        records += read(&bytes).len();
    }
    assert!(inputs > 100 && records > 1_000, "{inputs} inputs, {records} records");
}

/// Makes one of the fuzzer's changes.
fn damage(bytes: &mut Vec<u8>, words: &[usize], [a, b, c, kind, value @ ..]: [u8; 8]) {
    let at = u32::from_le_bytes([a, b, c, 0]) as usize;
    let at = if kind % 4 == 0 { at % (bytes.len() / 8 + 1) * 8 } else { words[at % words.len()] };
    let Some(word) = bytes.get_mut(at..at + 8) else { return };
    let value = u64::from(u32::from_le_bytes(value));
    let old = u64::from_ne_bytes(word.try_into().unwrap());
    let new = match kind >> 2 & 7 {
        0 => value,
        1 => value << 32 | old & u64::from(u32::MAX),
        2 => old >> 32 << 32 | value,
        3 => u64::MAX - value,
        4 => old.wrapping_add(value),
        5 => old.wrapping_sub(value),
        6 => old ^ 1 << (value % 64),
        _ => return bytes.truncate(at + 8),
    };
    word.copy_from_slice(&new.to_ne_bytes());
}
