//! A folder with a log, the files of pipelines, and a count of what each thread has logged.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::receivers::Receivers;

/// The test whose children have the log open for longer than the process.
pub(crate) const CLONES: &str = "a_process_that_clones";
pub(crate) const FOLDER: &str = "TACH_SURVIVE_FOLDER";
pub(crate) const SEED: &str = "TACH_SURVIVE_SEED";
pub(crate) const SINKS: &str = "TACH_SURVIVE_SINKS";
pub(crate) const COLLECTOR: &str = "TACH_SURVIVE_COLLECTOR";
pub(crate) const FIRST: &str = "TACH_SURVIVE_FIRST";
/// How many threads of a child have a count.
pub(crate) const THREADS: usize = 64;

pub(crate) struct Scene {
    pub(crate) folder: PathBuf,
    pub(crate) sinks: Sinks,
    pub(crate) receivers: Option<Receivers>,
    has_clones: bool,
}

/// The sinks of a scene's pipelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sinks {
    One,
    /// Three files in different formats, of which one is rotated.
    Files,
    /// A file, a pipe, a syslog daemon's socket and a collector.
    Others,
    /// A file and a collector.
    Collector,
}

impl Sinks {
    const ALL: &'static [(&'static str, Self)] = &[
        ("one", Self::One),
        ("files", Self::Files),
        ("others", Self::Others),
        ("collector", Self::Collector),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, it)| *it == self).unwrap().0
    }

    /// Returns the logs of a scene: each has each record.
    fn logs(self) -> &'static [&'static str] {
        match self {
            Self::One => &["app.log"],
            Self::Files => &["app.log", "keyed.json", "fields.logfmt"],
            Self::Others => &["app.log", "pipe.log", "socket.log", "collector.log"],
            Self::Collector => &["app.log", "collector.log"],
        }
    }
}

impl Scene {
    pub(crate) fn new(name: &str, sinks: Sinks) -> Self {
        let base = env::var_os("TACH_SURVIVE_IN").map_or_else(env::temp_dir, PathBuf::from);
        let folder = base.join(format!("tach-survive-{}-{name}", std::process::id()));
        let _left_behind = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let scene = Self {
            receivers: matches!(sinks, Sinks::Others | Sinks::Collector).then(|| {
                let refuses_first = sinks == Sinks::Others && name.ends_with(['1', '4', '7']);
                Receivers::start(&folder, refuses_first)
            }),
            folder,
            sinks,
            has_clones: name.starts_with(CLONES),
        };
        let counts = File::create(scene.counts()).unwrap();
        counts.set_len(8 * THREADS as u64).unwrap();
        scene
    }

    pub(crate) fn of_child() -> Self {
        let name = env::var(SINKS).unwrap();
        let sinks = Sinks::ALL.iter().find(|(it, _)| *it == name).unwrap().1;
        Self {
            folder: env::var_os(FOLDER).unwrap().into(),
            sinks,
            receivers: None,
            has_clones: false,
        }
    }

    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn files(&self) -> PathBuf {
        self.folder.join("files")
    }

    fn counts(&self) -> PathBuf {
        self.folder.join("counts")
    }

    pub(crate) fn open_counts(&self) -> File {
        File::options().read(true).write(true).open(self.counts()).unwrap()
    }

    /// Returns how many calls of each thread have returned.
    pub(crate) fn returned(&self) -> Vec<u64> {
        let counts = fs::read(self.counts()).unwrap();
        counts.chunks(8).map(|count| u64::from_ne_bytes(count.try_into().unwrap())).collect()
    }

    pub(crate) fn child(&self, role: &str, seed: u64) -> Child {
        self.numbered_child(role, seed, 0)
    }

    /// Starts a child whose threads have numbers from `first` on.
    pub(crate) fn numbered_child(&self, role: &str, seed: u64, first: usize) -> Child {
        self.command(role, seed, first).spawn().unwrap()
    }

    pub(crate) fn command(&self, role: &str, seed: u64, first: usize) -> Command {
        let mut command = Command::new(env::current_exe().unwrap());
        if let Some(receivers) = &self.receivers {
            command.env(COLLECTOR, &receivers.collector);
        }
        command
            .arg(role)
            .env(FOLDER, &self.folder)
            .env(SINKS, self.sinks.name())
            .env(SEED, seed.to_string())
            .env(FIRST, first.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        command
    }

    /// Passes on what is left.
    pub(crate) fn recover(&self) {
        let status = self.child("recover", 0).wait().unwrap();
        assert!(status.success(), "{status}");
    }

    /// Returns the files of pipelines, but for those that can't be read.
    pub(crate) fn left(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.files()).into_iter().flatten();
        files.map(|file| file.unwrap().path()).filter(|file| !is_aside(file)).collect()
    }

    /// Returns the lines of a log's files, the oldest file first.
    pub(crate) fn lines_of(&self, log: &str) -> Vec<String> {
        let mut paths: Vec<_> =
            fs::read_dir(&self.folder).unwrap().map(|file| file.unwrap().path()).collect();
        paths.retain(|path| path.file_name().unwrap().to_string_lossy().starts_with(log));
        // The name of a rotated file ends with its time.
        paths.sort_by_key(|path| (path == &self.log(log), path.clone()));
        let text = |path: &PathBuf| fs::read_to_string(path).unwrap();
        let texts: Vec<_> = paths.iter().map(text).collect();
        texts.iter().flat_map(|text| text.lines().map(str::to_owned)).collect()
    }

    /// Returns the lines of the first log.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines_of(self.sinks.logs()[0])
    }

    /// Asserts that each record that was logged is there once, whole, and in its thread's order.
    pub(crate) fn check(&self, seed: u64) -> Summary {
        if let Some(receivers) = &self.receivers {
            receivers.drain();
        }
        let check = |log: &&str| {
            let lines = self.lines_of(log);
            // Half of an event may stand in the pipe, since a part of a write was done.
            let lines = match *log {
                "pipe.log" => behind_halves(lines),
                "collector.log" => in_order(lines),
                _ => lines,
            };
            self.check_that(seed, log, lines, |number, expected| number == expected)
        };
        let checked: Vec<_> = self.sinks.logs().iter().map(check).collect();
        // One sink may have written everything when another one had not.
        let recovered = checked.iter().map(|it| it.recovered).max().unwrap_or(0);
        let twice = checked.iter().map(|it| it.twice).sum();
        Summary { recovered, twice, ..checked[0] }
    }

    /// Like [`check`](Self::check), for a log that several processes write. If the death of one of
    /// them cut a line in half, the next line of another one stands behind it.
    pub(crate) fn check_shared(&self, seed: u64) -> Summary {
        let lines = behind_halves(self.lines());
        self.check_that(seed, "app.log", lines, |number, expected| number == expected)
    }

    /// Asserts that each record is there once at most, whole, and in its thread's order.
    pub(crate) fn check_some(&self, seed: u64) -> Summary {
        self.check_that(seed, "app.log", self.lines(), |number, expected| number >= expected)
    }

    fn check_that(
        &self,
        seed: u64,
        log: &str,
        lines: Vec<String>,
        is_next: impl Fn(u64, u64) -> bool,
    ) -> Summary {
        // Threads that begin and end faster than the log is written need more rings than a file
        // has. The report counts them, and their records may be lost.
        let may_lack = lines.iter().any(|line| line.contains("rings_outside="));
        let is_next =
            |number, expected| is_next(number, expected) || may_lack && number >= expected;
        let mut next = BTreeMap::<usize, u64>::new();
        let mut summary = Summary::default();
        // How many of the next events may be there twice, as a record before them says.
        let mut doubtful = 0_u64;
        let mut halves = 0;
        for line in lines {
            // While children live that have the log open, a half of a line stays, as a line.
            let is_whole =
                ["survives", "tach_pipeline", "alive"].iter().any(|it| line.contains(it))
                    && (!line.contains("survives") || line.contains("end"));
            if self.has_clones && !is_whole && halves == 0 {
                halves += 1;
                continue;
            }
            if let Some(count) = may_repeat(&line, log) {
                // The events of a collector are not in order.
                doubtful = if log == "collector.log" { doubtful + count } else { count };
                continue;
            }
            let is_doubtful = doubtful > 0;
            let Some((_, record)) = line.split_once("survives ") else {
                let is_own = line.contains("tach_pipeline") || line.contains("alive");
                if log != "collector.log" {
                    doubtful = doubtful.saturating_sub(1);
                }
                assert!(is_own, "seed {seed}: torn line {line:?} in {}", self.folder.display());
                summary.reports += u64::from(line.contains("ended before it had written"));
                continue;
            };
            // The keyed formats quote the message.
            let record = record.replace("end\"", "end ");
            let parts: Vec<_> = record.split(' ').collect();
            let [thread, number, padding, "end", rest @ ..] = &parts[..] else {
                panic!("seed {seed}: torn record {line:?} in {}", self.folder.display())
            };
            assert!(padding.bytes().all(|byte| byte == b'x'), "seed {seed}: {line:?}");
            let is_recovered = rest.iter().any(|field| field.contains("recovered_pid"));
            summary.recovered += u64::from(is_recovered);
            let (thread, number): (usize, u64) = (thread.parse().unwrap(), number.parse().unwrap());
            let expected = next.entry(thread).or_default();
            let is_twice = (is_doubtful || is_recovered) && number < *expected;
            if is_twice && !is_recovered || log != "collector.log" {
                doubtful = doubtful.saturating_sub(1);
            }
            if is_twice {
                summary.twice += 1;
                continue;
            }
            assert!(
                is_next(number, *expected),
                "seed {seed}: thread {thread} has {number} and not {expected}: lost, twice or out of \
                 order, in {}",
                self.folder.display()
            );
            *expected = number + 1;
            summary.records += 1;
        }
        for (thread, returned) in self.returned().into_iter().enumerate() {
            let there = next.get(&thread).copied().unwrap_or(0);
            assert!(
                there >= returned || is_next(1, 0),
                "seed {seed}: thread {thread} logged {returned}, {there} are there, in {}",
                self.folder.display()
            );
        }
        summary
    }

    pub(crate) fn remove(self) {
        fs::remove_dir_all(&self.folder).unwrap();
    }
}

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Summary {
    pub(crate) records: u64,
    pub(crate) recovered: u64,
    pub(crate) reports: u64,
    /// How many events came twice in sinks that are no regular files.
    pub(crate) twice: u64,
    /// How many spans were received.
    pub(crate) spans: u64,
}

/// Returns whether a pipeline could not read a file.
pub(crate) fn is_aside(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "aside")
}

/// Returns the last event of each line. If a process died within a write, the next line of another
/// process stands behind a half of one.
fn behind_halves(lines: Vec<String>) -> Vec<String> {
    let last = |line: String| {
        let starts = ["tach_pipeline: ", "survives "].map(|word| line.rfind(word));
        starts.into_iter().max().flatten().map_or_else(|| line.clone(), |at| line[at..].to_owned())
    };
    lines.into_iter().map(last).collect()
}

/// Returns the lines in the order of their threads' records, behind the reports. A collector gets a
/// request again that it has refused, and others meanwhile.
fn in_order(mut lines: Vec<String>) -> Vec<String> {
    lines.sort_by_key(|line| {
        let record = line.split_once("survives ").map_or("", |(_, record)| record);
        let mut numbers = record.split(' ').map_while(|number| number.parse::<u64>().ok());
        (numbers.next(), numbers.next())
    });
    lines
}

/// Returns how many of the next events of a log a line declares doubtful.
fn may_repeat(line: &str, log: &str) -> Option<u64> {
    let (_, rest) = line.split_once("the next ")?;
    let (count, rest) = rest.split_once(" events of ")?;
    let (sink, _) = rest.split_once(" may be there already")?;
    let name = log.strip_suffix(".log").unwrap_or(log).replace("collector", "http");
    sink.contains(&name).then(|| count.parse().unwrap())
}

/// Counts the calls of a thread that have returned.
pub(crate) struct Count {
    file: File,
    at: u64,
}

impl Count {
    pub(crate) fn new(scene: &Scene, thread: usize) -> Self {
        Self { file: scene.open_counts(), at: 8 * thread as u64 }
    }

    pub(crate) fn set(&self, count: u64) {
        let bytes = count.to_ne_bytes();
        self.file.write_all_at(&bytes, self.at).unwrap();
    }
}

/// Random numbers that a seed repeats.
pub(crate) struct Random(pub u64);

impl Random {
    /// Returns a number below `most`.
    pub(crate) fn size(&mut self, most: usize) -> usize {
        usize::try_from(self.below(most as u64)).unwrap()
    }

    pub(crate) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.size(all.len())]
    }

    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ mixed >> 31) % most
    }
}
