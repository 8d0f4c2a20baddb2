use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;

use tach_core::Instant;
use tach_files::PrivateFolder;

use super::*;
use crate::file::dead;
use crate::file::image::tests::file;
use crate::file::layout::FIXED;
use crate::file::owner;
use crate::file::store::Store;
use tach_record::frame::{Frame, MaybeStatic};
use tach_record::frame::{Scratch, ThisThread, Time, Writer};
use tach_record::level::Level;
use tach_record::queue::all::Queues;

/// How many records of 48 bytes and of 64 KB a file has.
const SHORT: usize = 20_000;
const LONG: usize = 980;

/// Returns how many bytes of a folder's files have blocks.
fn blocks(path: &Path) -> u64 {
    let files = fs::read_dir(path).unwrap();
    files.map(|file| 512 * file.unwrap().metadata().unwrap().blocks()).sum()
}

/// The copy of a record of 48 bytes is eight times as long. A process that may use little memory,
/// and that is killed while it recovers, must not be killed at each start.
#[test]
fn a_recovery_takes_little_memory_and_gives_blocks_back() {
    tach_spans::callsites::set_up();
    let (store, path) = Store::of_test("memory");
    let queues = Queues::in_file(64 * 1024 * 1024, Some(&store.rings()));
    let mut sender = queues.new_queue(ThisThread::default());
    let mut scratch = Scratch::new();
    let long = "x".repeat(64_000);
    for number in 0..SHORT + LONG {
        let time = Time::Ticks(Instant::now());
        let target = MaybeStatic::Static("app::a::module::with::a::long::path::in::the::program");
        let mut to = Writer::begin(&mut scratch, time, Level::INFO, target);
        if number < SHORT {
            to.message(format_args!(
                "a message without arguments, whose text is a number in the record and takes no room \
                 there, but is in each copy as often as the program has logged it"
            ));
        } else {
            to.printed_message(format_args!("{long}"));
        }
        to.field(MaybeStatic::Static("a.key.in.a.namespace"), tach_log::Value::U64(1));
        to.end();
        let record = scratch.record();
        assert!(number >= SHORT || record.written().len() <= 48);
        assert!(sender.push(record.written()) || sender.push_beyond(record, true));
    }
    let bytes = file(&path);
    assert!(bytes.len() > 60 * 1024 * 1024);
    drop((sender, queues, store));
    fs::remove_dir_all(&path).unwrap();
    let folder = Arc::new(PrivateFolder::make(&path).unwrap());
    // Four processes were killed.
    for id in 0..4 {
        let name = path.join(owner::name(1, id));
        fs::write(&name, &bytes).unwrap();
        fs::set_permissions(&name, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let (before, length) = (blocks(&path), bytes.len() as u64);
    drop(bytes);
    let (mut records, mut own) = (0, None);
    let taken = allocation_counter::measure(|| {
        let found = dead::find(&folder, &mut []).unwrap();
        let mut recovery = DeadFiles::new(found.dead, Vec::new());
        // This process's own file has no ring yet.
        let mut last = before + FIXED as u64;
        while let Some(left) = recovery.next(UnixTime::EPOCH).unwrap() {
            records += usize::from(matches!(left, Piece::Record(..)));
            if records % 1_000 == 0 || matches!(left, Piece::Report(_)) {
                recovery.mark();
                assert!(recovery.note().is_empty());
                own.get_or_insert_with(|| Store::new(&folder, &[]).unwrap());
                let now = blocks(&path);
                assert!(now <= last, "{now} after {last} of {before}");
                last = now;
            }
        }
    });
    drop(own);
    fs::remove_dir_all(path).unwrap();
    assert_eq!(records, 4 * (SHORT + LONG));
    assert!(taken.bytes_max < 1024 * 1024, "{taken:?} for four times {length}");
}

/// A record of megabytes is only in memory, so the report counts it as lost. The records beside it
/// are recovered.
#[test]
fn a_record_that_is_longer_than_all_others_takes_no_memory() {
    tach_spans::callsites::set_up();
    let (store, path) = Store::of_test("long");
    let queues = Queues::in_file(48 * 1024 * 1024, Some(&store.rings()));
    let mut sender = queues.new_queue(ThisThread::default());
    let mut scratch = Scratch::new();
    let lengths = [10, 200_000, 30 << 20, 10];
    for length in lengths {
        let (time, target) = (Time::Ticks(Instant::now()), MaybeStatic::Static("app"));
        let mut to = Writer::begin(&mut scratch, time, Level::INFO, target);
        to.printed_message(format_args!("{}", "x".repeat(length)));
        to.end();
        let record = scratch.record();
        assert!(sender.push(record.written()) || sender.push_beyond(record, true));
    }
    let bytes = file(&path);
    drop((sender, queues, store));
    fs::remove_dir_all(&path).unwrap();
    let folder = Arc::new(PrivateFolder::make(&path).unwrap());
    let name = path.join(owner::name(1, 1));
    fs::write(&name, bytes).unwrap();
    fs::set_permissions(&name, fs::Permissions::from_mode(0o600)).unwrap();
    let (mut found, mut report) = (Vec::new(), Vec::new());
    let taken = allocation_counter::measure(|| {
        let dead = dead::find(&folder, &mut []).unwrap().dead;
        let mut recovery = DeadFiles::new(dead, Vec::new());
        while let Some(piece) = recovery.next(UnixTime::EPOCH).unwrap() {
            match piece {
                Piece::Record(record, _) => found.push(Frame::read(&record).unwrap().message.len()),
                Piece::Report(record) => report = record,
                Piece::Batch { .. } => {}
            }
        }
    });
    fs::remove_dir_all(path).unwrap();
    assert!(taken.bytes_max < 1024 * 1024, "{taken:?}");
    assert_eq!(found, [10, 200_000, 10]);
    let report = Frame::read(&report).unwrap();
    let count = |key| report.fields.parts().find(|(it, _)| *it == key).and_then(|(_, value)| value);
    assert_eq!(count("count"), Some(tach_log::Value::U64(3)));
    assert_eq!(count("cut"), Some(tach_log::Value::U64(1)));
}
