//! Incidents: each kind of trouble is a state, with a beginning and an end.

use std::io;
use std::sync::{Arc, Mutex, OnceLock};

use tach_log::{Event, Format, Json};
use tach_pipeline::{Builder, Guard, Incident, Pipeline, Rotation, Sink, Task, WhenFull};

use crate::support::{LONG, Memory, info};

/// The messages of the incidents, by kind: `true` at the beginning of a trouble.
type Told = Arc<Mutex<Vec<(Option<Task>, bool, String)>>>;

/// Builds a pipeline with an owner's function that logs each incident to the pipeline.
fn logs_incidents(sink: impl Into<Sink>) -> (Guard, Told) {
    let (handle, told) = (Arc::<OnceLock<Pipeline>>::default(), Told::default());
    let (pipeline, list) = (Arc::clone(&handle), Arc::clone(&told));
    let builder = Pipeline::builder().sink(sink).on_incident(move |incident| {
        let entry = match incident {
            Incident::Failed { task, .. } => (Some(*task), true),
            Incident::Recovered { task, .. } => (Some(*task), false),
            _ => (None, true),
        };
        list.lock().unwrap().push((entry.0, entry.1, incident.to_string()));
        info(pipeline.get().unwrap(), &incident.to_string());
    });
    let guard = builder.build().unwrap();
    handle.set(guard.pipeline().clone()).unwrap();
    (guard, told)
}

/// The most incidents of a trouble that lasts for the seconds that a test takes: at once, after
/// one second, after two more, and so on.
const FEW: usize = 12;

/// Fails for each record.
#[derive(Clone, Copy)]
struct Fails;

impl Format for Fails {
    fn write(&self, _: &Event<'_>, _: &mut Vec<u8>) -> io::Result<()> {
        Err(io::Error::other("on purpose"))
    }
}

#[test]
fn a_format_that_fails_on_each_record_is_reported_seldom() {
    for sinks in [1, 2] {
        let (guard, told) = logs_incidents(Sink::writer("first", io::sink()).format(Fails));
        for _ in 0..sinks * 500 {
            info(guard.pipeline(), "a record");
            guard.pipeline().flush(LONG).unwrap();
        }
        let told = told.lock().unwrap();
        assert!((1..FEW).contains(&told.len()), "{told:?}");
        let message = "can't format records for first: on purpose; what fails is dropped";
        assert_eq!(told[0], (Some(Task::Format), true, message.to_owned()));
        // Each record is counted, and so are those of the incidents.
        let dropped = guard.pipeline().stats().sinks()[0].dropped();
        assert_eq!(dropped, (sinks * 500 + told.len()) as u64);
    }
}

/// Fails for each record of the program.
#[derive(Clone)]
struct FailsForOthers(Json);

impl Format for FailsForOthers {
    fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
        if event.target() == "app" {
            return Err(io::Error::other("on purpose"));
        }
        self.0.write(event, to)
    }
}

/// Logs and flushes, and returns the counts in the log's own records and those of the incidents.
fn counts(builder: Builder, sink: &Memory, log: impl Fn(&Pipeline)) -> (Vec<u64>, Vec<u64>) {
    let told = Arc::<Mutex<Vec<u64>>>::default();
    let list = Arc::clone(&told);
    let builder = builder.on_incident(move |incident| {
        if let Incident::Dropped { count, .. } = incident {
            list.lock().unwrap().push(*count);
        }
    });
    let guard = builder.build().unwrap();
    for _ in 0..500 {
        log(guard.pipeline());
        guard.pipeline().flush(LONG).unwrap();
    }
    drop(guard);
    let records = sink.records();
    let own = records.iter().filter(|record| record["target"] == "tach_pipeline");
    let counts = own.map(|record| record["count"].as_u64().unwrap()).collect();
    let told = told.lock().unwrap().clone();
    (counts, told)
}

#[test]
fn a_program_that_flushes_after_each_record_is_told_of_losses_once_a_second() {
    let long = "long ".repeat(1_000);
    let new = |sink: Sink| Pipeline::builder().sink(sink).queue_bytes(4096);
    let memory = Memory::default();
    let full = new(memory.json().into()).when_full(WhenFull::DropNewest);
    let (in_log, told) = counts(full, &memory, |pipeline| info(pipeline, &long));
    assert!((2..FEW).contains(&told.len()) && told.iter().sum::<u64>() == 500, "{told:?}");
    assert_eq!(in_log, told);
    for others in [0, 1] {
        let memory = Memory::default();
        let sink = memory.json().format(FailsForOthers(Json::new()));
        let mut builder = new(sink.into());
        for _ in 0..others {
            builder = builder.sink(Sink::writer("other", io::sink()));
        }
        let (in_log, told) = counts(builder, &memory, |pipeline| info(pipeline, "a record"));
        assert!((2..FEW).contains(&told.len()) && told.iter().sum::<u64>() == 500, "{told:?}");
        assert_eq!(in_log, told);
    }
    let memory = Memory::default();
    let limited = new(memory.json().into()).rate_limit(1);
    let (in_log, _) = counts(limited, &memory, |pipeline| {
        let mut record = log::Record::builder();
        record.target("app").level(log::Level::Info).file_static(Some(file!())).line(Some(line!()));
        let record = record.args(format_args!("a record")).build();
        (0..10).for_each(|_| log::Log::log(pipeline, &record));
    });
    assert!((2..FEW).contains(&in_log.len()), "{in_log:?}");
    let written = memory.records().len() - in_log.len();
    assert_eq!(in_log.iter().sum::<u64>(), 5_000 - written as u64);
}

/// A writer that fails at each second write.
#[test]
fn a_trouble_that_comes_and_goes_is_reported_seldom() {
    struct Alternates(bool);
    impl io::Write for Alternates {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = !self.0;
            if self.0 { Err(io::Error::other("on purpose")) } else { Ok(bytes.len()) }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (guard, told) = logs_incidents(Sink::writer("moody", Alternates(false)));
    for _ in 0..500 {
        info(guard.pipeline(), "a record");
        let _fails_by_turns = guard.pipeline().flush(LONG);
    }
    guard.pipeline().flush(LONG).or_else(|_| guard.pipeline().flush(LONG)).unwrap();
    let told = told.lock().unwrap();
    assert!((2..2 * FEW).contains(&told.len()), "{told:?}");
    for (at, (task, begins, _)) in told.iter().enumerate() {
        assert_eq!((*task, *begins), (Some(Task::Write), at % 2 == 0), "{told:?}");
    }
}

/// Such a rotation is due only once, so no later write would begin it again.
#[cfg(unix)]
#[test]
fn a_rotation_on_demand_that_fails_is_tried_again() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Instant;

    use crate::support::Folder;

    let folder = Folder::new("not-rotated-on-demand");
    let set_mode = |mode| {
        fs::set_permissions(folder.path(""), Permissions::from_mode(mode)).unwrap();
    };
    set_mode(0o755);
    let sink = Sink::file(folder.path("app.log")).rotate(Rotation::new().daily());
    let (guard, told) = logs_incidents(sink);
    info(guard.pipeline(), "before");
    guard.pipeline().flush(LONG).unwrap();
    set_mode(if rustix::process::geteuid().is_root() { 0o777 } else { 0o555 });
    guard.pipeline().rotate();
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(told.lock().unwrap()[0].0, Some(Task::Rotate));
    set_mode(0o755);
    let start = Instant::now();
    while fs::read_dir(folder.path("")).unwrap().count() < 2 {
        assert!(start.elapsed() < LONG, "the rotation is never tried again");
        info(guard.pipeline(), "after");
        guard.pipeline().flush(LONG).unwrap();
    }
}

/// The folder lets nobody rename a file, or the process is root and others may write the folder.
#[cfg(unix)]
#[test]
fn a_rotation_that_fails_is_reported_once_and_tried_again() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use crate::support::Folder;

    let folder = Folder::new("not-rotated");
    let path = folder.path("app.log");
    let set_mode = |mode| {
        fs::set_permissions(folder.path(""), Permissions::from_mode(mode)).unwrap();
    };
    set_mode(0o755);
    let rotation = Rotation::new().max_bytes(64 * 1024);
    let (guard, told) = logs_incidents(Sink::file(&path).rotate(rotation));
    let forbidden = if rustix::process::geteuid().is_root() { 0o777 } else { 0o555 };
    set_mode(forbidden);
    let long = "x".repeat(1_000);
    for _ in 0..200 {
        info(guard.pipeline(), &long);
        guard.pipeline().flush(LONG).unwrap();
    }
    {
        let told = told.lock().unwrap();
        assert!((1..FEW).contains(&told.len()), "{told:?}");
        let (task, begins, message) = &told[0];
        assert_eq!((*task, *begins), (Some(Task::Rotate), true));
        let start = format!("can't rotate {}: ", path.display());
        let end = "the log goes on in the old file, and the rotation is tried again after 1s";
        assert!(message.starts_with(&start) && message.ends_with(end), "{message}");
    }
    // Nothing is lost meanwhile, and the incidents are in the log too.
    let count = told.lock().unwrap().len();
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(folder.messages("app.log").len(), 200 + count);
    set_mode(0o755);
    let is_over = || told.lock().unwrap().last().is_some_and(|(_, begins, _)| !begins);
    while !is_over() {
        info(guard.pipeline(), &long);
        guard.pipeline().flush(LONG).unwrap();
    }
    let told = told.lock().unwrap();
    assert!(told.iter().all(|(task, ..)| *task == Some(Task::Rotate)), "{told:?}");
    assert!(fs::read_dir(folder.path("")).unwrap().count() > 1);
}
