//! The process dies after each store to its file, in turn, and a later one passes on what is left.
//!
//! A test copies the folder and the log after each store, as the kernel keeps them if the process
//! is killed there. The next process, which begins with the copy, may die after each of its stores
//! too.

#![cfg(all(target_os = "linux", target_pointer_width = "64"))]

mod stalled;
mod with_spans;

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{env, process, thread};

use log::{Level, Log as _, Record};
use tach_pipeline::{Guard, Pipeline, Sink};
use tach_survive::watched;
use test_support::is_alone;

/// The bytes that are kept together if one of them is not zero.
const PAGE: usize = 512;
/// How many records a write to the log has at most.
const BETWEEN_FLUSHES: u64 = 4;
/// The words of a file that say which process uses it. Zeros if none does.
const OWNER: core::ops::Range<usize> = 272..304;

type Observer = Arc<dyn Fn() + Send + Sync>;

/// What is called after each store to a file.
static OBSERVER: Mutex<Option<Observer>> = Mutex::new(None);

fn observe(observer: Option<Observer>) {
    *OBSERVER.lock().unwrap_or_else(PoisonError::into_inner) = observer;
    watched::STORED.get_or_init(|| {
        || {
            let observer = OBSERVER.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some(observe) = observer {
                observe();
            }
        }
    });
}

/// A folder with a log, and the folder of the pipelines' files in it. It disappears with the value.
struct Scene(PathBuf, Log);

/// Where a log is now. The files of pipelines name its inode, so scenes move the same file.
#[derive(Clone)]
struct Log(Arc<Mutex<PathBuf>>);

impl Log {
    fn move_to(&self, path: &Path) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        fs::rename(&*now, path).unwrap();
        path.clone_into(&mut now);
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if let Some(path) = Arc::get_mut(&mut self.0) {
            let path = path.get_mut().unwrap_or_else(PoisonError::into_inner);
            let _gone_with_its_scene = fs::remove_file(path);
        }
    }
}

impl PartialEq for Log {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The contents of a scene.
#[derive(Clone, PartialEq)]
struct Snapshot {
    log: Vec<u8>,
    file: Log,
    files: Vec<(OsString, Sparse)>,
    /// How many calls had returned before.
    returned: u64,
    /// How many spans a collector had received afterwards.
    received: u64,
}

#[derive(Debug, Clone, Default)]
struct Counts {
    returned: Arc<AtomicU64>,
    received: Arc<AtomicU64>,
}

impl Counts {
    fn new(returned: u64) -> Self {
        Self { returned: Arc::new(AtomicU64::new(returned)), ..Self::default() }
    }
}

/// A file's length, and the parts of it that are not zero.
#[derive(Clone, PartialEq)]
struct Sparse(usize, Vec<(usize, Vec<u8>)>);

impl Sparse {
    fn new(bytes: &[u8]) -> Self {
        let parts = bytes.chunks(PAGE).enumerate();
        let parts = parts.filter(|(_, part)| part.iter().any(|byte| *byte != 0));
        Self(bytes.len(), parts.map(|(at, part)| (at * PAGE, part.to_owned())).collect())
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.0];
        for (at, part) in &self.1 {
            bytes[*at..*at + part.len()].copy_from_slice(part);
        }
        bytes
    }
}

impl Scene {
    fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        // ORDERING: Relaxed: only the number counts.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("tach-deaths-{}-{number}", process::id()));
        let _left_behind = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        let path = path.canonicalize().unwrap();
        let log = path.join("app.log");
        fs::write(&log, "").unwrap();
        Self(path, Log(Arc::new(Mutex::new(log))))
    }

    fn log(&self) -> PathBuf {
        self.0.join("app.log")
    }

    fn files(&self) -> PathBuf {
        self.0.join("files")
    }

    fn pipeline(&self) -> Guard {
        Pipeline::builder().sink(Sink::file(self.log())).survive(self.files()).build().unwrap()
    }

    /// Builds a pipeline and ends it.
    fn recover(&self) {
        drop(self.pipeline());
        self.wait();
    }

    /// Waits until the thread of the last pipeline has ended, which a guard does not wait for.
    fn wait(&self) {
        for _ in 0..10_000 {
            let mut names = fs::read_dir(self.files()).unwrap().map(|it| it.unwrap().file_name());
            let has_ended = |name| {
                // The file may be removed meanwhile.
                let bytes = fs::read(self.files().join(name)).unwrap_or_default();
                bytes.get(OWNER).is_none_or(|owner| owner.iter().all(|byte| *byte == 0))
            };
            if names.all(has_ended) {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
        panic!("a pipeline goes on");
    }

    fn snapshot(&self, counts: &Counts) -> Snapshot {
        Self::snapshot_of(&self.0, &self.1, counts)
    }

    fn snapshot_of(folder: &Path, log: &Log, counts: &Counts) -> Snapshot {
        let (file, log, folder) = (log.clone(), folder.join("app.log"), folder.join("files"));
        // ORDERING: Acquire, with the Release of the call.
        let returned = counts.returned.load(Ordering::Acquire);
        let log = fs::read(log).unwrap_or_default();
        let files = fs::read_dir(&folder).into_iter().flatten();
        let files = files.map(|file| file.unwrap().file_name()).filter_map(|name| {
            // A file may be removed meanwhile.
            let bytes = fs::read(folder.join(&name)).ok()?;
            Some((name, Sparse::new(&bytes)))
        });
        let mut files: Vec<_> = files.collect();
        files.sort_by(|(one, _), (other, _)| one.cmp(other));
        // ORDERING: Acquire, with the Release of the collector. What the files say was sent is
        // counted.
        let received = counts.received.load(Ordering::Acquire);
        Snapshot { log, file, files, returned, received }
    }

    /// Creates a scene as the snapshot shows it, with the same log: the files name its inode.
    fn after(snapshot: &Snapshot) -> Self {
        let mut scene = Self::new();
        // The earlier log replaces the log of the new scene.
        scene.1 = snapshot.file.clone();
        snapshot.file.move_to(&scene.log());
        fs::write(scene.log(), &snapshot.log).unwrap();
        fs::create_dir(scene.files()).unwrap();
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(&scene.files(), 0o700);
        for (name, bytes) in &snapshot.files {
            let mut bytes = bytes.bytes();
            // The process is dead.
            bytes.get_mut(OWNER).unwrap_or_default().fill(0);
            let path = scene.files().join(name);
            fs::write(&path, bytes).unwrap();
            mode(&path, 0o600);
        }
        scene
    }

    /// Calls `act`, and returns what a death after each of its stores leaves. A death within a
    /// write to the log leaves a part of it.
    fn deaths(&self, counts: &Counts, act: impl FnOnce()) -> Vec<Snapshot> {
        let found = Arc::new(Mutex::new(Vec::<Snapshot>::new()));
        let observer = {
            let (folder, log, found) = (self.0.clone(), self.1.clone(), Arc::clone(&found));
            let counts = counts.clone();
            move || {
                let mut found = found.lock().unwrap();
                let snapshot = Self::snapshot_of(&folder, &log, &counts);
                if let Some(last) = found.last().cloned() {
                    let (from, to) = (last.log.len(), snapshot.log.len());
                    // The log may be shorter: the recovery cuts a part of a line.
                    for part in 1..4 {
                        let length = from + to.saturating_sub(from) * part / 4;
                        if length > from {
                            let log = snapshot.log[..length].to_owned();
                            found.push(Snapshot { log, ..last.clone() });
                        }
                    }
                }
                if found.last() != Some(&snapshot) {
                    found.push(snapshot);
                }
            }
        };
        observe(Some(Arc::new(observer)));
        act();
        self.wait();
        observe(None);
        core::mem::take(&mut *found.lock().unwrap())
    }

    /// Asserts that the log has the records in order, and at least those whose calls had returned.
    /// Only records that are marked as recovered may be there twice. Returns how many are.
    fn check(&self, returned: u64, what: &str) -> u64 {
        let text = fs::read_to_string(self.log()).unwrap();
        let (mut next, mut twice) = (0, 0);
        for line in text.lines() {
            let Some((_, record)) = line.split_once("record ") else {
                assert!(line.contains("ended before it had written"), "{what}: torn {line:?}");
                continue;
            };
            let (number, rest) = record.split_once(' ').unwrap_or((record, ""));
            let number: u64 = number.parse().unwrap();
            let (padding, rest) = rest.split_once("end").unwrap_or((rest, "torn"));
            let is_whole = padding.bytes().all(|byte| byte == b'x' || byte == b' ');
            let is_whole = is_whole && (rest.is_empty() || rest.starts_with(" recovered_pid="));
            assert!(is_whole, "{what}: torn {line:?}");
            if !rest.is_empty() && number < next {
                twice += 1;
                continue;
            }
            assert_eq!(number, next, "{what}: lost, twice or out of order: {line:?}");
            next += 1;
        }
        assert!(next >= returned, "{what}: {returned} calls had returned, and {next} are there");
        assert!(fs::read_dir(self.files()).unwrap().next().is_none(), "{what}: a file is left");
        twice
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if *self.1.0.lock().unwrap_or_else(PoisonError::into_inner) == self.log() {
            self.1.move_to(&self.0.with_extension("log"));
        }
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// Logs records in several batches, some of them long.
fn log_all(pipeline: &Pipeline, returned: &AtomicU64) {
    for number in 0..12_u64 {
        let padding = if number % 5 == 4 { "x".repeat(20_000) } else { String::new() };
        let mut record = Record::builder();
        record.level(Level::Info).target("app").module_path_static(Some("app::deaths"));
        pipeline.log(&record.args(format_args!("record {number} {padding} end")).build());
        // ORDERING: Release, with the Acquire of the observer.
        returned.store(number + 1, Ordering::Release);
        if (number + 1) % BETWEEN_FLUSHES == 0 {
            pipeline.flush(Duration::from_secs(60)).unwrap();
        }
    }
}

fn deaths_of_a_process() -> Vec<Snapshot> {
    let (scene, counts) = (Scene::new(), Counts::default());
    scene.deaths(&counts, || {
        let (guard, returned) = (scene.pipeline(), Arc::clone(&counts.returned));
        // A thread that has logged keeps the store until it ends.
        thread::spawn(move || log_all(guard.pipeline(), &returned)).join().unwrap();
    })
}

#[test]
fn a_process_dies_after_each_of_its_stores() {
    if !is_alone(a_process_dies_after_each_of_its_stores) {
        return;
    }
    let deaths = deaths_of_a_process();
    // A control: several commits, and the stores before the first one.
    assert!(deaths.len() > 50, "{} deaths", deaths.len());
    let (mut recovered, mut twice) = (0, 0);
    for (number, death) in deaths.iter().enumerate() {
        let scene = Scene::after(death);
        scene.recover();
        let what = format!("death {number} of {}", deaths.len());
        let found = scene.check(death.returned, &what);
        assert!(found <= BETWEEN_FLUSHES, "{what}: {found} came twice");
        twice += found;
        let log = fs::read_to_string(scene.log()).unwrap();
        recovered += log.matches("recovered_pid=").count();
    }
    assert!(recovered > 100 && twice > 0, "{recovered} records were recovered, {twice} twice");
}

/// Each death of a process, followed by each death of the process that passes its records on, would
/// take minutes: `TACH_DEATHS=all` does it.
#[test]
fn a_recovery_dies_after_each_of_its_stores() {
    if !is_alone(a_recovery_dies_after_each_of_its_stores) {
        return;
    }
    let every = if env::var_os("TACH_DEATHS").is_some() { 1 } else { 13 };
    let deaths = deaths_of_a_process();
    let mut count = 0;
    for (number, death) in deaths.iter().enumerate().step_by(every) {
        let scene = Scene::after(death);
        let again = scene.deaths(&Counts::new(death.returned), || drop(scene.pipeline()));
        scene.check(death.returned, &format!("death {number}"));
        for (second, again) in again.iter().enumerate() {
            let scene = Scene::after(again);
            scene.recover();
            scene.check(death.returned, &format!("death {number}, and {second} of the recovery"));
            count += 1;
        }
    }
    assert!(count > 100, "{count} deaths of recoveries");
}
