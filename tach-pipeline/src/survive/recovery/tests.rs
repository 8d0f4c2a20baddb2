use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use tach_core::Instant;
use tach_files::PrivateFolder;

use super::*;
use crate::back_end::survival::Progress;
use crate::frame::MaybeStatic;
use crate::frame::{Scratch, ThisThread, Time, Writer};
use crate::level::Level;
use crate::queue::all::Queues;
use crate::survive::dead;
use crate::survive::image::tests::file;
use crate::survive::store::Store;

/// A record of 48 bytes is eight times as long as a copy. A process that may use little memory, and
/// that is killed while it recovers, must not be killed at each start.
#[test]
fn a_recovery_takes_little_memory() {
    crate::callsites::set_up();
    let (store, path) = Store::of_test("memory");
    let queues = Queues::in_file(4 * 1024 * 1024, Some(&store.rings()));
    let mut sender = queues.new_queue(ThisThread::default());
    let mut scratch = Scratch::new();
    let mut push = || {
        let time = Time::Ticks(Instant::now());
        let target = MaybeStatic::Static("app::a::module::with::a::long::path::in::the::program");
        let mut to = Writer::begin(&mut scratch, time, Level::of(log::Level::Info), target);
        to.message(format_args!(
            "a message without arguments, whose text is a number in the record and takes no room \
             there, but is in each copy as often as the program has logged it"
        ));
        to.field(MaybeStatic::Static("a.key.in.a.namespace"), tach_log::Value::U64(1));
        to.end();
        let record = scratch.record();
        assert!(record.written().len() <= 48);
        sender.push(record.written()) || sender.push_beyond(record, true)
    };
    let count = (0..1_000_000).take_while(|_| push()).count();
    store.commit(&Progress::default());
    let bytes = file(&path);
    let name = fs::read_dir(&path).unwrap().next().unwrap().unwrap().path();
    drop((sender, queues, store));
    // The process was killed.
    fs::write(&name, &bytes).unwrap();
    fs::set_permissions(&name, fs::Permissions::from_mode(0o600)).unwrap();
    let (mut records, mut longest) = (0, 0);
    let taken = allocation_counter::measure(|| {
        let folder = Arc::new(PrivateFolder::make(&path).unwrap());
        let found = dead::find(&folder, &mut []).unwrap();
        let mut recovery = DeadFiles::new(found.dead, Vec::new());
        while let Ok(Some(left)) = recovery.next(UnixTime::EPOCH) {
            if let Some((record, _)) = left.record {
                records += 1;
                longest = longest.max(record.len());
            }
            if left.is_end {
                recovery.end().unwrap();
            }
        }
    });
    fs::remove_dir_all(path).unwrap();
    let copies = (count * longest) as u64;
    let length = bytes.len() as u64;
    // A control: all copies together would not fit.
    assert!(records == count && copies > 5 * length, "{records}, {count} of {longest}");
    assert!(taken.bytes_max < 1024 * 1024, "{taken:?} for {length}");
}
