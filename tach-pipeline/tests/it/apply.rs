//! Configurations that are applied to a running pipeline.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::fs::{self, OpenOptions};
use std::io::Read as _;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Instant;

use tach_pipeline::{Config, Guard, Pipeline, Sink, SinkStats};

use crate::support::{Folder, LONG, Memory, Moody, info};

/// Returns a configuration with these tables of sinks, and paths in the folder for `@`.
fn config(folder: &Folder, text: &str) -> Config {
    let path = folder.path("").display().to_string();
    toml::from_str(&text.replace('@', &path)).unwrap()
}

fn build(folder: &Folder, text: &str) -> Guard {
    config(folder, text).builder().build().unwrap()
}

/// Applies a configuration that must be refused. Returns the error.
#[track_caller]
fn refused(pipeline: &Pipeline, folder: &Folder, text: &str) -> String {
    pipeline.apply(config(folder, text)).unwrap_err().to_string()
}

fn stats(pipeline: &Pipeline, name: &str) -> SinkStats {
    let stats = pipeline.stats();
    let sink = stats.sinks().iter().find(|sink| sink.name().ends_with(name));
    sink.unwrap_or_else(|| panic!("{name} in {stats:?}")).clone()
}

const A: &str = "[[sinks]]\nfile.path = '@a.log'\n";
const B: &str = "[[sinks]]\nfile.path = '@b.log'\nformat = 'json'\n";
const NULL: &str = "[[sinks]]\nstdout = true\nfilter = 'off'\n";
const THREADS: usize = 8;
const RECORDS: usize = 12_500;
const TIMES: usize = 200;
const STEP: usize = RECORDS / TIMES + 1;

/// For each record in a file, the number of its thread, and its number in the thread.
fn numbers(folder: &Folder, file: &str) -> Vec<(usize, usize)> {
    let text = fs::read_to_string(folder.path(file)).unwrap();
    let numbers = text.lines().map(|line| {
        let (_, number) = line.split_once("record ").unwrap_or_else(|| panic!("{line}"));
        let number = number.trim_end_matches(['"', '}']).split_once(' ').unwrap();
        (number.0.parse().unwrap(), number.1.parse().unwrap())
    });
    numbers.collect()
}

/// Each state is a configuration: which of the two files it has.
fn states() -> [(String, [bool; 2]); 5] {
    [
        (A.to_owned(), [true, false]),
        ([A, B].concat(), [true, true]),
        (B.to_owned(), [false, true]),
        ([NULL, B].concat(), [false, true]),
        ([B, A, NULL].concat(), [true, true]),
    ]
}

/// The state after a number of changes. Odd numbers are changes that are under way.
fn state(epoch: usize) -> [[bool; 2]; 2] {
    let at = |change: usize| states()[change % 5].1;
    [at(epoch / 2), at(epoch.div_ceil(2))]
}

#[test]
fn each_record_is_in_the_files_of_its_configuration_and_no_other() {
    let folder = Folder::new("apply-many");
    let guard = build(&folder, &states()[0].0);
    let pipeline = guard.pipeline();
    let (epoch, count, is_done) =
        (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let logged = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (pipeline, epoch, count) = (pipeline, &epoch, &count);
                scope.spawn(move || {
                    let log = |number: usize| {
                        let before = epoch.load(Ordering::SeqCst);
                        #[cfg(feature = "tracing")]
                        if thread % 2 == 0 {
                            tracing::info!("record {thread} {number}");
                            return (before, epoch.load(Ordering::SeqCst));
                        }
                        info(pipeline, &format!("record {thread} {number}"));
                        (before, epoch.load(Ordering::SeqCst))
                    };
                    let log_all = || {
                        let all = (0..RECORDS).map(|number| {
                            // Half of a step's records come before its change, and half beside it.
                            while number > (epoch.load(Ordering::SeqCst) / 2 + 1) * STEP {
                                thread::yield_now();
                            }
                            let logged = log(number);
                            count.fetch_add(1, Ordering::SeqCst);
                            logged
                        });
                        all.collect::<Vec<_>>()
                    };
                    #[cfg(feature = "tracing")]
                    return crate::support::in_subscriber(pipeline, log_all);
                    #[cfg(not(feature = "tracing"))]
                    log_all()
                })
            })
            .collect();
        let flushes = scope.spawn(|| {
            let mut count = 0;
            while !is_done.load(Ordering::SeqCst) {
                pipeline.flush(LONG).unwrap();
                count += 1;
            }
            count
        });
        for change in 1..=TIMES {
            let enough = THREADS * ((change - 1) * STEP + STEP / 2).min(RECORDS);
            while count.load(Ordering::SeqCst) < enough {
                thread::yield_now();
            }
            epoch.fetch_add(1, Ordering::SeqCst);
            pipeline.apply(config(&folder, &states()[change % 5].0)).unwrap();
            epoch.fetch_add(1, Ordering::SeqCst);
        }
        let logged: Vec<_> = threads.into_iter().map(|it| it.join().unwrap()).collect();
        is_done.store(true, Ordering::SeqCst);
        assert!(flushes.join().unwrap() > 0);
        logged
    });
    pipeline.flush(LONG).unwrap();
    let files = ["a.log", "b.log"].map(|file| numbers(&folder, file));
    let mut found = vec![vec![[0; 2]; RECORDS]; THREADS];
    for (at, file) in files.iter().enumerate() {
        let mut last = [None; THREADS];
        for &(thread, number) in file {
            found[thread][number][at] += 1;
            assert!(last[thread].replace(number) < Some(number), "order in a file");
        }
    }
    let mut at_borders = 0;
    for (thread, records) in logged.iter().enumerate() {
        for (number, &(before, after)) in records.iter().enumerate() {
            let has = found[thread][number].map(|count| {
                assert!(count <= 1, "record {thread} {number} is {count} times in a file");
                count == 1
            });
            let mut expected: Vec<_> = (before..=after).flat_map(state).collect();
            expected.dedup();
            at_borders += usize::from(expected.len() > 1);
            assert!(expected.contains(&has), "{thread} {number}: {has:?} in {before} to {after}");
        }
    }
    assert!((100..THREADS * RECORDS * 3 / 4).contains(&at_borders), "{at_borders} prove little");
    // A file that opened again continued its counts.
    assert_eq!(pipeline.stats().sinks().len(), 3, "{:?}", pipeline.stats());
    for (name, file) in ["a.log", "b.log"].into_iter().zip(&files) {
        let sink = stats(pipeline, name);
        assert_eq!((sink.written(), sink.dropped(), sink.waiting()), (file.len() as u64, 0, 0));
    }
}

/// Whatever is wrong with a configuration, the pipeline stays as it was.
#[test]
fn a_configuration_that_can_t_be_applied_changes_nothing() {
    let folder = Folder::new("apply-refused");
    let rotated = "[[sinks]]\nfile = { path = '@r.log', rotate.daily = true }\n";
    let start = ["queue_bytes = 8192\nredact = ['pin']\n", A, rotated].concat();
    let guard = build(&folder, &start);
    let pipeline = guard.pipeline();
    let unchanged = ["queue_bytes = 8192\nredact = ['pin']\n", A].concat();
    fs::write(folder.path("file"), "").unwrap();
    let cases: Vec<(String, &[&str])> = vec![
        (
            [&unchanged, "[[sinks]]\nfile.path = '@file/x.log'\n"].concat(),
            &["sinks[1]: ", "file/x.log", "must be a writable file"],
        ),
        (
            ["queue_bytes = '16KiB'\nredact = ['pin']\n", A].concat(),
            &["another `queue_bytes`", "start the process again"],
        ),
        (A.to_owned(), &["2 faults", "another `queue_bytes`", "another `redact`"]),
        (["filter = 'loud=x'\n", &unchanged].concat(), &["\"loud=x\""]),
        ([&unchanged, "filter = 'loud=x'\n"].concat(), &["\"loud=x\" of the sink", "sinks[0]: "]),
        (
            [&start, "[[sinks]]\nfile.path = '@r.log'\nformat = 'json'\n"].concat(),
            &["sinks[2]: ", "Sink::rotate for", "r.log", "one sink"],
        ),
        (
            [&unchanged, "[[sinks]]\nfile.path = '@n.log'\nformat.json.with = { at = 'file' }\n"]
                .concat(),
            &["sinks[1]: ", "n.log", "the file, the line or the thread", "start the process again"],
        ),
        (
            [
                &unchanged,
                "[[sinks]]\nfile.path = '@n.log'\nformat.json.rename = { code = 'pin' }\n",
            ]
            .concat(),
            &["\"code\"", "redacted key"],
        ),
        (
            [&unchanged, "[[sinks]]\nfile.path = '@n.log'\nbuffer_bytes = 1\n"].concat(),
            &["sinks[1]: ", "Sink::buffer_bytes(1)"],
        ),
    ];
    let mut count = 0;
    for (text, expected) in &cases {
        let error = refused(pipeline, &folder, text);
        for words in *expected {
            assert!(error.contains(words), "{words:?} in {error}");
        }
        info(pipeline, "kept");
        count += 1;
        pipeline.flush(LONG).unwrap();
        let stats = pipeline.stats();
        let written: Vec<_> =
            stats.sinks().iter().map(|it| (it.written(), it.is_closed())).collect();
        assert_eq!(written, [(count, false); 2], "{error}");
        assert_eq!(pipeline.current_filter(), "info");
    }
    // The same configuration is no change.
    pipeline.apply(config(&folder, &start)).unwrap();
    assert_eq!(pipeline.stats().sinks().len(), 2);
}

#[test]
fn a_sink_that_is_the_same_stays_open_and_takes_its_filter() {
    let folder = Folder::new("apply-same");
    let text = "[[sinks]]\nfile = { path = '@a.log', keep_open = true, rotate.at_start = true }\n";
    fs::write(folder.path("a.log"), "before\n").unwrap();
    let guard = build(&folder, &["filter = 'info'\n", text].concat());
    let pipeline = guard.pipeline();
    // A sink that opened its file again would not write here.
    fs::rename(folder.path("a.log"), folder.path("moved.log")).unwrap();
    info(pipeline, "one");
    pipeline
        .apply(config(&folder, &["filter = 'info'\n", text, "filter = 'warn'\n"].concat()))
        .unwrap();
    info(pipeline, "two");
    pipeline.apply(config(&folder, &["filter = 'info'\n", B, text].concat())).unwrap();
    info(pipeline, "three");
    // The program changes the filter meanwhile. The next configuration sets it again.
    pipeline.set_filter("off").unwrap();
    info(pipeline, "four");
    pipeline.apply(config(&folder, &["filter = 'info'\n", text, B].concat())).unwrap();
    info(pipeline, "five");
    pipeline.flush(LONG).unwrap();
    assert_eq!(folder.messages("moved.log"), ["one", "three", "five"]);
    assert_eq!(fs::read_to_string(folder.path("b.log")).unwrap().lines().count(), 2);
    // The file from before was rotated once, at the start.
    let files = fs::read_dir(folder.path("")).unwrap().count();
    assert_eq!(files, 3, "moved.log, b.log and the rotated one");
}

/// The new sink of a file waits for the old one.
#[test]
fn a_sink_with_other_options_goes_on_in_the_same_file() {
    let folder = Folder::new("apply-format");
    let both = ["[[sinks]]\nfile.path = '@a.log'\nformat = 'json'\n", A];
    let guard = build(&folder, both[1]);
    let pipeline = guard.pipeline();
    let mut expected = Vec::new();
    for change in 1..=20 {
        for number in 0..500 {
            info(pipeline, &format!("{change} {number}"));
            expected.push((change % 2 == 0, format!("{change} {number}")));
        }
        pipeline.apply(config(&folder, both[(change + 1) % 2])).unwrap();
    }
    pipeline.flush(LONG).unwrap();
    let text = fs::read_to_string(folder.path("a.log")).unwrap();
    let lines: Vec<_> = text
        .lines()
        .map(|line| {
            let is_json = line.starts_with('{');
            let message = if is_json {
                serde_json::from_str::<serde_json::Value>(line).unwrap()["msg"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            } else {
                line.rsplit_once(": ").unwrap().1.to_owned()
            };
            (is_json, message)
        })
        .collect();
    assert_eq!(lines, expected);
    // A new sink counts apart from one of its name that is closed at the same time.
    let stats = pipeline.stats();
    assert_eq!(stats.sinks().iter().map(SinkStats::written).sum::<u64>(), 10_000);
    assert_eq!(stats.sinks().len(), 2);
}

#[test]
fn sinks_of_the_program_stay() {
    let (folder, memory) = (Folder::new("apply-code"), Memory::default());
    let guard = config(&folder, A).builder().sink(memory.json()).build().unwrap();
    let pipeline = guard.pipeline();
    pipeline.set_sink_filter("memory", "warn").unwrap();
    pipeline.apply(config(&folder, "")).unwrap();
    info(pipeline, "to none");
    pipeline.set_sink_filter("memory", "info").unwrap();
    let a = folder.path("a.log").display().to_string();
    let error = pipeline.set_sink_filter(&a, "info").unwrap_err().to_string();
    assert!(error.contains("are memory"), "a closed sink has no filter: {error}");
    pipeline.apply(config(&folder, B)).unwrap();
    info(pipeline, "to both");
    pipeline.flush(LONG).unwrap();
    assert_eq!(memory.messages(), ["to both"]);
    assert!(stats(pipeline, "a.log").is_closed() && !stats(pipeline, "b.log").is_closed());
    assert_eq!(fs::read_to_string(folder.path("a.log")).unwrap(), "");
}

/// A pipeline without a configuration may get one, and one without sinks writes to stderr.
#[test]
fn sinks_come_and_go() {
    let folder = Folder::new("apply-none");
    let guard = Pipeline::builder().filter("error").build().unwrap();
    let pipeline = guard.pipeline();
    pipeline.apply(config(&folder, A)).unwrap();
    info(pipeline, "not for a file that says nothing about the filter");
    pipeline.apply(config(&folder, &["filter = 'info'\n", A].concat())).unwrap();
    info(pipeline, "one");
    pipeline.apply(config(&folder, "")).unwrap();
    assert_eq!(pipeline.current_filter(), "info", "the default");
    pipeline.flush(LONG).unwrap();
    assert_eq!(folder.messages("a.log"), ["one"]);
    let open: Vec<_> =
        pipeline.stats().sinks().iter().map(|it| (it.name().len() < 7, it.is_closed())).collect();
    assert_eq!(open, [(true, false), (false, true)], "stderr again, and a.log");
}

#[cfg(target_os = "linux")]
fn fifo(folder: &Folder, name: &str) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    mknodat(CWD, folder.path(name), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

/// Nobody reads the FIFO. The wait is bounded, and the loss is counted and reported.
#[cfg(target_os = "linux")]
#[test]
fn a_sink_that_stalls_is_closed() {
    let folder = Folder::new("apply-stalled");
    fifo(&folder, "fifo");
    let stalls = "[[sinks]]\nfile.path = '@fifo'\nstall_timeout = '0s'\n";
    let guard = build(&folder, &[A, stalls].concat());
    let pipeline = guard.pipeline();
    let (count, text) = (3_000, "x".repeat(100));
    for _ in 0..count {
        info(pipeline, &text);
    }
    pipeline.apply(config(&folder, A)).unwrap();
    info(pipeline, "after");
    // The closed sink no longer holds up a flush.
    pipeline.flush(LONG).unwrap();
    let sink = stats(pipeline, "fifo");
    assert!(sink.is_closed() && sink.written() > 0 && sink.dropped() > 0, "{sink:?}");
    assert_eq!((sink.written() + sink.dropped(), sink.waiting()), (count, 0));
    let log = fs::read_to_string(folder.path("a.log")).unwrap();
    let told = log.lines().find(|line| line.contains("was closed before")).unwrap();
    assert!(told.contains(&format!("count={}", sink.dropped())), "{told}");
    assert_eq!(log.lines().count() as u64, count + 2);
    // The closed sink's thread still has its counts, so another sink of the name counts apart.
    pipeline.apply(config(&folder, &[A, stalls].concat())).unwrap();
    assert_eq!(pipeline.stats().sinks().len(), 3);
}

/// A disk that is full is not waited for.
#[cfg(target_os = "linux")]
#[test]
fn a_sink_that_fails_is_closed_at_once() {
    let folder = Folder::new("apply-full");
    let full = "[[sinks]]\nfile.path = '/dev/full'\n";
    let guard = build(&folder, &[full, A].concat());
    let pipeline = guard.pipeline();
    (0..10).for_each(|_| info(pipeline, "lost"));
    let start = Instant::now();
    pipeline.apply(config(&folder, A)).unwrap();
    let took = start.elapsed();
    assert!(pipeline.flush(LONG).is_ok() && took < Duration::from_secs(5), "{took:?}");
    let sink = stats(pipeline, "full");
    assert_eq!((sink.written(), sink.dropped(), sink.waiting()), (0, 10, 0), "{sink:?}");
    let log = fs::read_to_string(folder.path("a.log")).unwrap();
    assert!(log.contains("/dev/full was closed before") && log.contains("count=10"), "{log}");
}

/// Records of the old sink, which the reader is slow to take, come before those of the new one.
#[cfg(target_os = "linux")]
#[test]
fn a_new_sink_waits_for_the_old_one_of_its_receiver() {
    let folder = Folder::new("apply-late");
    fifo(&folder, "fifo");
    let one = "[[sinks]]\nfile.path = '@fifo'\nstall_timeout = '1m'\n";
    let both = [one.to_owned(), format!("{one}format = 'logfmt'\n")];
    let guard = build(&folder, &[A, &both[0]].concat());
    let pipeline = guard.pipeline();
    let mut fifo = OpenOptions::new().read(true).write(true).open(folder.path("fifo")).unwrap();
    let count = 6_000;
    let text = thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let (mut all, mut part) = (Vec::new(), [0; 4096]);
            while !all.ends_with(b"the end\"\n") && !all.ends_with(b"the end\n") {
                let read = fifo.read(&mut part).unwrap();
                all.extend_from_slice(&part[..read]);
                thread::sleep(Duration::from_micros(500));
            }
            String::from_utf8(all).unwrap()
        });
        let records = scope.spawn(|| {
            for number in 0..count {
                info(pipeline, &format!("{} number={number}", "x".repeat(100)));
                thread::sleep(Duration::from_micros(10));
            }
        });
        for change in 1..=6 {
            pipeline.apply(config(&folder, &[A, &both[change % 2]].concat())).unwrap();
        }
        records.join().unwrap();
        info(pipeline, "the end");
        reader.join().unwrap()
    });
    let numbers = text.lines().filter_map(|line| line.split_once("number="));
    let numbers: Vec<u32> =
        numbers.map(|(_, number)| number.trim_end_matches('"').parse().unwrap()).collect();
    assert_eq!(numbers, (0..count).collect::<Vec<_>>());
}

/// As before a configuration was applied, a pipeline's only sink drops nothing.
#[cfg(target_os = "linux")]
#[test]
fn the_only_sink_is_waited_for() {
    let folder = Folder::new("apply-alone");
    fifo(&folder, "fifo");
    let alone = "[[sinks]]\nfile.path = '@fifo'\nbuffer_bytes = '64 KiB'\nstall_timeout = '0s'\n";
    let guard = build(&folder, alone);
    let pipeline = guard.pipeline();
    pipeline.apply(config(&folder, &[alone, A].concat())).unwrap();
    pipeline.apply(config(&folder, alone)).unwrap();
    let mut fifo = OpenOptions::new().read(true).write(true).open(folder.path("fifo")).unwrap();
    let reader = thread::spawn(move || {
        let (mut lines, mut text) = (0, [0; 4096]);
        while lines < 10_000 {
            let count = fifo.read(&mut text).unwrap();
            lines += text[..count].split(|byte| *byte == b'\n').count() - 1;
            // Slower than the records come.
            thread::sleep(Duration::from_micros(500));
        }
    });
    let text = "x".repeat(100);
    (0..10_000).for_each(|_| info(pipeline, &text));
    pipeline.flush(LONG).unwrap();
    reader.join().unwrap();
    let sink = stats(pipeline, "fifo");
    assert_eq!((sink.written(), sink.dropped()), (10_000, 0));
}

/// A sink that applies a configuration would wait for itself.
#[test]
fn a_sink_can_t_apply_a_configuration() {
    let (folder, memory) = (Folder::new("apply-within"), Memory::default());
    let pipeline = Arc::<OnceLock<Pipeline>>::default();
    let (own, mut within) = (Arc::clone(&pipeline), Some(config(&folder, A)));
    let mood = move || {
        if let Some(config) = within.take() {
            let start = Instant::now();
            assert!(own.get().unwrap().apply(config).unwrap_err().is_timeout());
            assert!(start.elapsed() < LONG);
        }
        Ok(())
    };
    let moody = Moody { memory: memory.clone(), mood };
    let guard = Pipeline::builder().sink(Sink::writer("moody", moody)).build().unwrap();
    assert!(pipeline.set(guard.pipeline().clone()).is_ok());
    info(guard.pipeline(), "written");
    guard.pipeline().flush(LONG).unwrap();
    assert!(memory.text().contains("written"));
    assert!(!folder.path("a.log").exists());
}

#[cfg(feature = "otlp")]
#[test]
fn sinks_of_spans_need_a_restart() {
    let folder = Folder::new("apply-spans");
    let traces = "[[sinks]]\notlp = { endpoint = 'http://127.0.0.1:1', signals = ['traces'] }\n";
    let logs = "[[sinks]]\notlp = { endpoint = 'http://127.0.0.1:1', signals = ['logs'] }\n";
    let sites =
        "[[sinks]]\nfile.path = '@c.log'\nformat.json.with = { l = 'line', t = 'thread_id' }\n";
    let guard = build(&folder, sites);
    let pipeline = guard.pipeline();
    let error = refused(pipeline, &folder, &[sites, traces].concat());
    assert!(error.starts_with("sinks[1]: ") && error.contains("spans"), "{error}");
    // Records for a collector come and go.
    pipeline.apply(config(&folder, &[sites, logs].concat())).unwrap();
    pipeline.apply(config(&folder, sites)).unwrap();
    let guard = build(&folder, &[A, traces].concat());
    let pipeline = guard.pipeline();
    let error = refused(pipeline, &folder, A);
    assert!(error.contains("`sinks` without http://127.0.0.1:1"), "{error}");
    pipeline.apply(config(&folder, &[B, traces].concat())).unwrap();
}

#[cfg(all(feature = "survive", target_os = "linux", target_pointer_width = "64"))]
#[test]
fn sinks_beside_a_file_of_queues_need_a_restart() {
    let folder = Folder::new("apply-survive");
    let kept = "filter = 'info'\nsurvive = '@kept'\n";
    let guard = build(&folder, &[kept, A].concat());
    let pipeline = guard.pipeline();
    for sinks in [[A, B].concat(), B.to_owned()] {
        let error = refused(pipeline, &folder, &[kept, &sinks].concat());
        assert!(error.contains("other `sinks` beside Builder::survive"), "{error}");
    }
    let filter = &kept.replace("info", "warn");
    pipeline.apply(config(&folder, &[filter, A, "filter = 'error'\n"].concat())).unwrap();
    assert_eq!(pipeline.max_level(), log::LevelFilter::Error);
}
