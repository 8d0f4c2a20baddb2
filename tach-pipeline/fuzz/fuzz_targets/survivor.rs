//! Damages the file of a real pipeline in any way, and reads what is left.
//!
//! `RUSTC_BOOTSTRAP=1 cargo fuzz run survivor -- -max_total_time=600`, in `tach-pipeline`. Under a
//! fuzzer the decoder ignores its checksums, which would refuse most inputs.

#![no_main]

use std::sync::OnceLock;
use std::time::Duration;
use std::{env, fs, process, thread};

use libfuzzer_sys::fuzz_target;
use log::Log as _;
use tach_log::{Event, Format as _, Json, Line};
use tach_pipeline::{FlightRecorder, Pipeline, Sink, Survivor};

/// A file with records, and where its bytes are not zero.
struct Real {
    bytes: Vec<u8>,
    words: Vec<usize>,
}

fn real() -> &'static Real {
    static REAL: OnceLock<Real> = OnceLock::new();
    REAL.get_or_init(|| {
        let folder = env::temp_dir().join(format!("tach-fuzz-survivor-{}", process::id()));
        let survivors = folder.join("survivors");
        let pipeline = Pipeline::builder()
            .sink(Sink::file(folder.join("app.log")))
            .flush_interval(Duration::from_secs(1))
            .flight_recorder(FlightRecorder::new())
            .survive(&survivors)
            .build()
            .unwrap();
        // These spans are open, and what the recorder has of them is committed.
        let open = tracing::subscriber::with_default(pipeline.subscriber(), || {
            let open = tracing::info_span!("open", text = "value", late = tracing::field::Empty);
            open.record("late", 7);
            open.in_scope(|| drop(tracing::info_span!("ended").entered()));
            open
        });
        pipeline.flush(Duration::from_secs(60)).unwrap();
        // After its first record the back end naps, and all others stay in the queues.
        pipeline.log(&log::Record::builder().args(format_args!("the first")).build());
        thread::sleep(Duration::from_millis(100));
        for number in 0..3 {
            let pipeline = pipeline.clone();
            thread::Builder::new()
                .name(format!("worker {number}"))
                .spawn(move || log_all(&pipeline, number))
                .unwrap()
                .join()
                .unwrap();
        }
        let file = fs::read_dir(survivors).unwrap().next().unwrap().unwrap().path();
        let bytes = fs::read(file).unwrap();
        drop((pipeline, open));
        fs::remove_dir_all(folder).unwrap();
        let is_used = |at: &usize| bytes[*at..*at + 8] != [0; 8];
        let words: Vec<_> = (0..bytes.len()).step_by(8).filter(is_used).collect();
        let left = Survivor::from_bytes(&bytes).unwrap();
        assert!(left.records() > 30, "{} records", left.records());
        assert!(left.spans() > 0 && left.recorded() > 0, "{left:?}");
        Real { bytes, words }
    })
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
fuzz_target!(|input: &[u8]| {
    let Real { bytes, words } = real();
    let mut bytes = bytes.clone();
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
    let Ok(left) = Survivor::from_bytes(&bytes) else { return };
    let (mut count, mut lines) = (0, Vec::new());
    let mut write = |event: &Event<'_>| {
        count += 1;
        lines.clear();
        Line::new().write(event, &mut lines)?;
        Json::new().write(event, &mut lines)
    };
    left.each(&mut write).unwrap();
    left.each_span(&mut write).unwrap();
    left.each_recorded(&mut write).unwrap();
    assert!(count <= left.records() + left.spans() + left.recorded());
    assert!(left.formatted().map(|(_, event)| event.len()).sum::<usize>() <= bytes.len());
});
