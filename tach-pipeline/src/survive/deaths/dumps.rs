//! The flight recorder's file of a process that has died is written while the next process logs.

use core::panic::{RefUnwindSafe, UnwindSafe};
use core::time::Duration;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, mpsc};
use std::{fs, io, thread};

use opentelemetry_proto::tonic::trace::v1::TracesData;
use prost::Message as _;
use tach_otlp::Otlp;

use super::{Counts, Scene, Snapshot};
use crate::{Builder, FlightFormat, FlightRecorder, Incident, Pipeline, Sink};

const LONG: Duration = Duration::from_secs(60);

fn builder(scene: &Scene, format: FlightFormat) -> Builder {
    let recorder = FlightRecorder::new().folder(scene.0.join("flight"), format);
    let recorder = recorder.slower_than(Duration::from_secs(3_600));
    let builder = Pipeline::builder().sink(Sink::file(scene.log())).flight_recorder(recorder);
    builder.survive(scene.files())
}

fn format<F>(write: F) -> FlightFormat
where
    F: Fn(&mut dyn io::Write) -> io::Result<()>,
    F: Send + Sync + UnwindSafe + RefUnwindSafe + 'static,
{
    let write = Arc::new(move |_: &crate::flight::Snapshot, to: &mut dyn io::Write| write(to));
    FlightFormat { extension: "otlp", write, ignored: Vec::new() }
}

fn otlp() -> FlightFormat {
    FlightFormat::otlp(&Otlp::new())
}

fn log(pipeline: &Pipeline, text: &str) {
    tracing::subscriber::with_default(pipeline.subscriber(), || {
        tracing::info_span!("unit").in_scope(|| tracing::info!("{text}"));
    });
}

/// Returns what a process leaves that has logged and is killed.
fn death() -> Snapshot {
    let scene = Scene::new();
    let left = thread::scope(|scope| {
        // A thread that has logged keeps the store until it ends.
        let process = scope.spawn(|| {
            let guard = builder(&scene, otlp()).build().unwrap();
            log(guard.pipeline(), "the last words");
            guard.pipeline().flush(LONG).unwrap();
            scene.snapshot(&Counts::default())
        });
        process.join().unwrap()
    });
    scene.wait();
    left
}

/// Returns the names and the contents of the files of flight recorders.
fn dumps(scene: &Scene) -> Vec<(String, Vec<u8>)> {
    let files = fs::read_dir(scene.0.join("flight")).unwrap().map(|file| file.unwrap().path());
    let dump = |path: PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, fs::read(path).unwrap())
    };
    files.map(dump).collect()
}

fn is_whole(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|it| it == "otlp")
}

/// Returns how many processes have a file.
fn processes(scene: &Scene) -> usize {
    fs::read_dir(scene.files()).unwrap().count()
}

#[test]
fn a_slow_disk_holds_up_no_record_and_the_file_of_the_process_stays_until_the_dump_is_whole() {
    let scene = Scene::after(&death());
    let (let_go, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let slow = format(move |to| {
        to.write_all(b"a half")?;
        let _let_go = gate.lock().unwrap().recv();
        to.write_all(b" of it")
    });
    let while_it_waits = thread::scope(|scope| {
        let process = scope.spawn(|| {
            let guard = builder(&scene, slow).build().unwrap();
            let has_begun = || dumps(&scene).iter().any(|(_, dump)| !dump.is_empty());
            // The recorder gets the first span at the latest in the round of the last record.
            for text in ["meanwhile", "later", "last"] {
                log(guard.pipeline(), text);
                let is_logged = || fs::read_to_string(scene.log()).unwrap().contains(text);
                let mut tries = 0..60_000;
                while !(is_logged() && has_begun()) {
                    assert!(tries.next().is_some(), "the record is held up");
                    thread::sleep(Duration::from_millis(1));
                }
            }
            assert_eq!(processes(&scene), 2);
            let while_it_waits = scene.snapshot(&Counts::default());
            let_go.send(()).unwrap();
            guard.pipeline().flush(LONG).unwrap();
            let [(name, dump)] = &dumps(&scene)[..] else { panic!("one file") };
            assert!(is_whole(name) && dump == b"a half of it", "{name}");
            assert_eq!(processes(&scene), 1);
            while_it_waits
        });
        process.join().unwrap()
    });
    scene.wait();
    // The process that writes the dump dies too. The next one writes both dumps.
    let scene = Scene::after(&while_it_waits);
    drop(builder(&scene, otlp()).build().unwrap());
    scene.wait();
    assert_eq!(processes(&scene), 0);
    let has = |dump: &[u8], text: &str| {
        TracesData::decode(dump).unwrap();
        dump.windows(text.len()).any(|part| part == text.as_bytes())
    };
    let dumps = dumps(&scene);
    let count = |text| dumps.iter().filter(|(_, dump)| has(dump, text)).count();
    assert_eq!((count("the last words"), count("meanwhile")), (1, 1));
    let lines = fs::read_to_string(scene.log()).unwrap();
    for text in ["the last words", "meanwhile"] {
        assert_eq!(lines.matches(text).count(), 1, "{text}: {lines}");
    }
}

#[test]
fn neither_a_format_nor_an_observer_that_panics_ends_the_log() {
    let scene = Scene::after(&death());
    let (report, reported) = mpsc::channel();
    let builder = builder(&scene, format(|_| panic!("a format")));
    let guard = builder.on_incident(move |incident| {
        if let Incident::RecordingNotRecovered { .. } = incident {
            report.send(incident.to_string()).unwrap();
            panic!("an observer");
        }
    });
    thread::scope(|scope| {
        scope.spawn(|| {
            let guard = guard.build().unwrap();
            log(guard.pipeline(), "goes on");
            guard.pipeline().flush(LONG).unwrap();
        });
    });
    // Nothing waits for the observer.
    let report = reported.recv_timeout(LONG).unwrap();
    assert!(report.ends_with("lost: the format panicked"), "{report}");
    scene.wait();
    assert!(reported.try_recv().is_err(), "it is reported once");
    let lines = fs::read_to_string(scene.log()).unwrap();
    assert!(lines.contains("goes on"), "{lines}");
    assert!(processes(&scene) == 0 && !dumps(&scene).iter().any(|(name, _)| is_whole(name)));
}

#[test]
fn a_recording_stays_until_the_disk_has_room_for_it() {
    let scene = Scene::after(&death());
    let start = |format| {
        let (report, reported) = mpsc::channel();
        let builder = builder(&scene, format).on_incident(move |incident| {
            let _ended = report.send(incident.to_string());
        });
        drop(builder.build().unwrap());
        scene.wait();
        reported.recv_timeout(LONG).unwrap()
    };
    for _ in 0..2 {
        let full = format(|_| Err(io::ErrorKind::StorageFull.into()));
        let report = start(full);
        assert!(
            report.contains("not passed on, in tach-") && report.contains("can't be written"),
            "{report}"
        );
        assert_eq!((processes(&scene), dumps(&scene).len()), (1, 0));
    }
    let left = scene.snapshot(&Counts::default());
    let report = start(otlp());
    assert!(report.contains("the last spans and events of process"), "{report}");
    assert_eq!((processes(&scene), dumps(&scene).len()), (0, 1));
    let lines = fs::read_to_string(scene.log()).unwrap();
    assert_eq!(lines.matches("the last words").count(), 1, "{lines}");

    // All names are those of processes that died while they wrote the file.
    let scene = Scene::after(&left);
    drop(builder(&scene, format(|_| Err(io::ErrorKind::AlreadyExists.into()))).build());
    scene.wait();
    assert_eq!((processes(&scene), dumps(&scene).len()), (0, 0));
}
