//! Damages the file of a real pipeline in any way, and passes on what is left, to files and to a
//! collector.
//!
//! `RUSTC_BOOTSTRAP=1 cargo fuzz run survivor -- -max_total_time=600`, in `tach-pipeline`.

#![no_main]

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use std::{env, fs, process, thread};

use libfuzzer_sys::fuzz_target;
use log::Log as _;
use tach_log::Json;
use tach_pipeline::{FlightRecorder, Otlp, Pipeline, Signal, Sink, kind};
use test_support::receiver;

/// A record in the batch of the collector.
const IN_BATCH: &str = "the collector is away";

/// Whether the collector refuses all requests.
static IS_AWAY: AtomicBool = AtomicBool::new(false);
/// How many requests with the record of the batch the collector has accepted.
static BATCHES: AtomicUsize = AtomicUsize::new(0);

/// A file with records, and where its bytes are not zero.
struct Real {
    /// The address of the collector, which is the name of a sink in the file.
    collector: String,
    /// Where the next pipeline finds the file.
    folder: PathBuf,
    name: OsString,
    bytes: Vec<u8>,
    words: Vec<usize>,
}

fn real() -> &'static Real {
    static REAL: OnceLock<Real> = OnceLock::new();
    REAL.get_or_init(|| {
        let folder = env::temp_dir().join(format!("tach-fuzz-survivor-{}", process::id()));
        let survivors = folder.join("survivors");
        let (collector, _) = receiver::serve_by(|_, body| {
            if IS_AWAY.load(Ordering::SeqCst) {
                return b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n".to_vec();
            }
            let text = IN_BATCH.as_bytes();
            let has_it = body.windows(text.len()).any(|part| part == text);
            BATCHES.fetch_add(usize::from(has_it), Ordering::SeqCst);
            receiver::OK.to_vec()
        });
        // On a thread of its own: a thread's queue would keep the file in use by this process.
        let made = thread::spawn({
            let (folder, collector) = (folder.clone(), collector.clone());
            move || make(&folder, &survivors, &collector)
        });
        let (name, bytes) = made.join().unwrap();
        let is_used = |at: &usize| bytes[*at..*at + 8] != [0; 8];
        let words: Vec<_> = (0..bytes.len()).step_by(8).filter(is_used).collect();
        let real = Real { collector, folder, name, bytes, words };
        let before = BATCHES.load(Ordering::SeqCst);
        let passed = real.pass_on(&real.bytes);
        assert!(passed.matches("record 4 of 2").count() == 1, "a control: {passed}");
        assert!(passed.contains(" unwritten="), "a control: {passed}");
        assert!(BATCHES.load(Ordering::SeqCst) > before, "a control: {passed}");
        real
    })
}

/// Returns the name and the bytes of the file of a pipeline that has passed on a part of its
/// records.
fn make(folder: &Path, survivors: &Path, collector: &str) -> (OsString, Vec<u8>) {
    let guard = Pipeline::builder()
        .sink(Sink::file(folder.join("app.log")))
        .sink(sink(collector))
        .flush_interval(Duration::from_secs(1))
        .flight_recorder(FlightRecorder::new())
        .survive(survivors)
        .build()
        .unwrap();
    // These spans are open, and what the recorder has of them is committed.
    let open = tracing::subscriber::with_default(guard.pipeline().subscriber(), || {
        let open = tracing::info_span!("open", text = "value", late = tracing::field::Empty);
        open.record("late", 7);
        open.in_scope(|| drop(tracing::info_span!("ended").entered()));
        open
    });
    guard.pipeline().flush(Duration::from_secs(60)).unwrap();
    IS_AWAY.store(true, Ordering::SeqCst);
    // The collector refuses the first record, and the next one waits in the batch.
    for text in ["the first", IN_BATCH] {
        guard.pipeline().log(&log::Record::builder().args(format_args!("{text}")).build());
        let _refused = guard.pipeline().flush(Duration::from_secs(1));
    }
    // After this record the back end naps, and all further records stay in the queues.
    guard.pipeline().log(&log::Record::builder().args(format_args!("the next")).build());
    thread::sleep(Duration::from_millis(100));
    for number in 0..3 {
        let pipeline = guard.pipeline().clone();
        thread::Builder::new()
            .name(format!("worker {number}"))
            .spawn(move || log_all(&pipeline, number))
            .unwrap()
            .join()
            .unwrap();
    }
    let file = fs::read_dir(survivors).unwrap().next().unwrap().unwrap();
    let mut bytes = fs::read(file.path()).unwrap();
    // The words that say which process uses the file: this one does not die.
    bytes[272..304].fill(0);
    IS_AWAY.store(false, Ordering::SeqCst);
    drop((guard, open));
    (file.file_name(), bytes)
}

fn sink(collector: &str) -> Sink<kind::OneFormat> {
    Sink::otlp(Otlp::new().endpoint(collector).signals([Signal::Logs]))
}

impl Real {
    /// Lets a pipeline find a file with these bytes. Returns what its log has.
    fn pass_on(&self, bytes: &[u8]) -> String {
        let (log, survivors) = (self.folder.join("next.log"), self.folder.join("survivors"));
        for left in fs::read_dir(&survivors).unwrap() {
            // The last pipeline may remove its file meanwhile.
            let _may_be_gone = fs::remove_file(left.unwrap().path());
        }
        let _none_yet = fs::remove_file(&log);
        let file = survivors.join(&self.name);
        fs::write(&file, bytes).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let guard = Pipeline::builder()
            .sink(Sink::file(&log))
            .sink(Sink::file(self.folder.join("next.json")).format(Json::new()))
            .sink(sink(&self.collector))
            .flight_recorder(FlightRecorder::new())
            .on_incident(|_| ())
            .survive(&survivors)
            .build()
            .unwrap();
        guard.pipeline().flush(Duration::from_secs(60)).unwrap();
        drop(guard);
        fs::write(self.folder.join("next.json"), "").unwrap();
        fs::read_to_string(log).unwrap()
    }
}

fn log_all(pipeline: &Pipeline, number: usize) {
    tracing::subscriber::with_default(pipeline.subscriber(), || {
        for at in 0..5 {
            let pairs = [("key", at), ("other", number)];
            pipeline.log(
                &log::Record::builder()
                    .args(format_args!("record {at} of {number}"))
                    .target("app::db")
                    .file_static(Some(file!()))
                    .line(Some(line!()))
                    .module_path_static(Some(module_path!()))
                    .key_values(&pairs)
                    .build(),
            );
            let span = tracing::info_span!("request", id = at);
            let _entered = span.enter();
            tracing::warn!(text = "value", float = 0.5, debug = ?pairs, "event {at}");
            tracing::event!(name: "named", tracing::Level::INFO, long = "l".repeat(100));
        }
    });
}

// Each eight bytes of the input are a change: three bytes say where, one how, and four are a value.
// A test in `tach-survive/src/file/image/tests.rs` reads the corpus in the same way.
fuzz_target!(|input: &[u8]| {
    let real = real();
    let (mut bytes, words) = (real.bytes.clone(), &real.words);
    for change in input.chunks_exact(8) {
        let &[a, b, c, kind, ref value @ ..] = change else { return };
        let Some(value) = value.first_chunk() else { return };
        let at = usize::try_from(u32::from_le_bytes([a, b, c, 0])).unwrap();
        // Three in four changes are where the file has something.
        let at = if kind & 3 == 0 { at % (bytes.len() / 8 + 1) * 8 } else { words[at % words.len()] };
        let Some(word) = bytes.get_mut(at..at + 8) else { continue };
        let value = u32::from_le_bytes(*value);
        let old = u64::from_ne_bytes(word.try_into().unwrap());
        let new = match kind >> 2 & 7 {
            0 => value.into(),
            1 => u64::from(value) << 32 | old & u64::from(u32::MAX),
            2 => old >> 32 << 32 | u64::from(value),
            3 => u64::MAX - u64::from(value),
            4 => old.wrapping_add(u64::from(value)),
            5 => old.wrapping_sub(u64::from(value)),
            6 => old ^ 1 << (value % 64),
            _ => {
                bytes.truncate(at + 8);
                continue;
            }
        };
        word.copy_from_slice(&new.to_ne_bytes());
    }
    real.pass_on(&bytes);
});
