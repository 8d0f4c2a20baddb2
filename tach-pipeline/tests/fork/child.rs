//! A scene: a process with threads that log, and its forked children.
#![expect(unsafe_code, reason = "forks, clones and ends as programs do")]

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::{env, fs, io, process, thread};

use tach_pipeline::{Builder, Guard, Incident, Pipeline, Rotation, Sink, SinkStats};

pub(crate) const SCENE: &str = "TACH_PIPELINE_FORK_SCENE";
pub(crate) const FOLDER: &str = "TACH_PIPELINE_FORK_FOLDER";
/// The address of a receiver, or how often to fork.
pub(crate) const TO: &str = "TACH_PIPELINE_FORK_TO";
pub(crate) const CHILDREN: u64 = 4;
pub(crate) const RECORDS: u64 = 1_000;

const LONG: Duration = Duration::from_secs(60);
/// The longest life of a child: one that waits for an inherited lock ends by SIGALRM.
const LONGEST_LIFE: u32 = 60;

static STOP: AtomicBool = AtomicBool::new(false);
static LOGGED: AtomicU64 = AtomicU64::new(0);

/// How a child ends.
#[derive(Debug, Clone, Copy)]
enum End {
    Return,
    Exit,
    FlushThenExit,
    Leave,
    Terminated,
}

const ENDS: [End; 3] = [End::Return, End::Exit, End::FlushThenExit];

/// Runs the scene that the environment names. Returns whether it names one.
pub(crate) fn run() -> bool {
    let Ok(scene) = env::var(SCENE) else { return false };
    let folder = PathBuf::from(env::var_os(FOLDER).unwrap());
    let is_known =
        [family, children, pipelines, refusals].iter().any(|scenes| scenes(&scene, &folder));
    assert!(is_known, "no such scene: {scene}");
    fs::write(folder.join("logged"), LOGGED.load(Ordering::Relaxed).to_string()).unwrap();
    true
}

/// Scenes with several sinks, one after the other, that four children share with threads of their
/// parent.
fn family(scene: &str, folder: &Path) -> bool {
    let file = || Sink::file(folder.join("app.log"));
    let builder = Pipeline::builder();
    match scene {
        "a file" => flood(builder.sink(file())),
        "a file that rotates" => {
            let rotation = Rotation::new().max_bytes(100_000).keep(1_000);
            flood(builder.sink(file().rotate(rotation)));
        }
        "stdout" => flood(builder.sink(Sink::stdout())),
        "several sinks" => flood(builder.sink(file()).sink(Sink::stdout().filter("warn"))),
        #[cfg(feature = "syslog")]
        "syslog" => {
            flood(builder.sink(Sink::syslog(tach_pipeline::Syslog::unix(to()).rfc5424())));
        }
        #[cfg(all(target_os = "linux", feature = "survive"))]
        "survive" => flood(builder.sink(file()).survive(folder.join("kept"))),
        _ => return false,
    }
    true
}

/// A child logs by the configuration that its parent has applied.
#[cfg(feature = "config")]
fn configured(folder: &Path) {
    let config = |file: &str| -> tach_pipeline::Config {
        let path = folder.join(file);
        toml::from_str(&format!("sinks = [{{ file.path = '{}' }}]", path.display())).unwrap()
    };
    let pipeline = config("old.log").builder().init().unwrap();
    pipeline.apply(config("app.log")).unwrap();
    wait_for(fork(|| numbers(0)));
}

/// Scenes of children with a part of their own.
fn children(scene: &str, folder: &Path) -> bool {
    let file = || Sink::file(folder.join("app.log"));
    let builder = Pipeline::builder();
    match scene {
        #[cfg(feature = "otlp")]
        "a collector" => {
            let otlp = tach_pipeline::Otlp::new().endpoint(to());
            let pipeline = builder.sink(Sink::otlp(otlp)).init().unwrap();
            spans(&pipeline);
        }
        "a relative path" => {
            env::set_current_dir(folder).unwrap();
            builder.sink(Sink::file("app.log")).init().unwrap();
            env::set_current_dir("/").unwrap();
            wait_for(fork(|| numbers(0)));
        }
        "a changed filter" => {
            let pipeline = builder.sink(file().filter("debug")).filter("warn").init().unwrap();
            pipeline.set_filter("info").unwrap();
            wait_for(fork(|| {
                numbers(0);
                assert_eq!(
                    (&*pipeline.current_filter(), log::max_level()),
                    ("info", log::Level::Info.to_level_filter())
                );
                pipeline.set_filter("error").unwrap();
                log::info!("refused");
            }));
        }
        #[cfg(feature = "config")]
        "another configuration" => configured(folder),
        "nested" => {
            builder.sink(file()).init().unwrap();
            nested(0);
        }
        "another thread" => {
            builder.sink(file()).init().unwrap();
            let have_begun = Barrier::new(CHILDREN.try_into().unwrap());
            logging(|| {
                thread::scope(|scope| {
                    for number in 0..CHILDREN {
                        let have_begun = &have_begun;
                        scope.spawn(move || {
                            in_the_parent();
                            have_begun.wait();
                            wait_for(fork(|| numbers(number)));
                        });
                    }
                });
            });
        }
        "often" => {
            builder.sink(file()).queue_bytes(4096).init().unwrap();
            let forks: u64 = to().parse().unwrap();
            logging(|| {
                for number in 0..forks {
                    wait_for(fork(|| {
                        if number % 2 == 0 {
                            log::info!("child {number} 0");
                        } else {
                            tracing_warn(number, 0);
                        }
                    }));
                }
            });
        }
        _ => return false,
    }
    true
}

/// Scenes of the pipeline that a child starts.
fn pipelines(scene: &str, folder: &Path) -> bool {
    let file = || Sink::file(folder.join("app.log"));
    let builder = Pipeline::builder();
    match scene {
        "a silent child" => {
            let pipeline = builder.filter("info,quiet=off").sink(file()).init().unwrap();
            in_the_parent();
            wait_for(fork(|| {
                log::info!(target: "quiet", "refused");
                assert!(!log::log_enabled!(target: "quiet", log::Level::Error));
                pipeline.flush(LONG).unwrap();
                assert_eq!(threads(), 1, "no back end");
            }));
            wait_for(fork_that(End::Exit, || {}));
        }
        "SIGTERM" => {
            builder.sink(file()).init().unwrap();
            in_the_parent();
            let child = fork_that(End::Terminated, || numbers(0));
            assert!(libc::WIFSIGNALED(child) && libc::WTERMSIG(child) == libc::SIGTERM, "{child}");
        }
        "threads of a child" => {
            builder.sink(file()).init().unwrap();
            wait_for(fork(|| {
                // All threads find that there is no pipeline yet.
                let all = Barrier::new(4);
                thread::scope(|scope| {
                    for number in 0..4 {
                        let all = &all;
                        scope.spawn(move || {
                            all.wait();
                            numbers(number);
                        });
                    }
                });
            }));
        }
        "a dropped handle" => {
            let mut last = Some(builder.sink(file()).build().unwrap().pipeline().clone());
            let child = start(End::Leave, &mut None, || {
                let pipeline = last.take().unwrap();
                for number in 0..RECORDS {
                    let record = format!("child 0 {number}");
                    let args = format_args!("{record}");
                    log::Log::log(&pipeline, &log::Record::builder().args(args).build());
                }
            });
            wait_for(wait(child));
        }
        "its own pipeline" => {
            builder.sink(file()).init().unwrap();
            wait_for(fork(|| {
                log::info!("child 0 0");
                Pipeline::builder().sink(file()).init().unwrap();
                for number in 1..RECORDS {
                    log::info!("child 0 {number}");
                }
            }));
        }
        _ => return false,
    }
    true
}

/// Scenes of children that can't log.
fn refusals(scene: &str, folder: &Path) -> bool {
    let file = || Sink::file(folder.join("app.log"));
    let builder = Pipeline::builder();
    match scene {
        "a writer" => {
            let writer = fs::File::create(folder.join("app.log")).unwrap();
            refuses(builder.sink(Sink::writer("own", writer)), fork_here);
        }
        #[cfg(target_os = "linux")]
        "clone" => refuses(builder.sink(file()), raw_clone),
        #[cfg(all(target_os = "linux", feature = "survive"))]
        "clone beside survive" => {
            refuses(builder.sink(file()).survive(folder.join("kept")), raw_clone);
        }
        "a lost file" => {
            let below = folder.join("below");
            let pipeline = builder.sink(Sink::file(below.join("app.log"))).init().unwrap();
            fs::remove_dir_all(&below).unwrap();
            fs::write(&below, "").unwrap();
            wait_for(fork(|| {
                numbers(0);
                assert_eq!(pipeline.stats().dropped(), RECORDS);
                pipeline.flush(LONG).unwrap_err();
            }));
            fs::remove_file(&below).unwrap();
        }
        _ => return false,
    }
    true
}

fn to() -> String {
    env::var(TO).unwrap()
}

fn in_the_parent() {
    log::warn!("in the process");
    LOGGED.fetch_add(1, Ordering::Relaxed);
}

/// Logs all numbers of a child.
fn numbers(child: u64) {
    for number in 0..RECORDS {
        if number % 2 == 0 {
            log::warn!("child {child} {number}");
        } else {
            tracing_warn(child, number);
        }
    }
}

#[cfg(feature = "tracing")]
fn tracing_warn(child: u64, number: u64) {
    let _span = tracing::info_span!("of the child", child).entered();
    tracing::warn!("child {child} {number}");
}

#[cfg(not(feature = "tracing"))]
fn tracing_warn(child: u64, number: u64) {
    log::warn!("child {child} {number}");
}

/// Forks children while threads log. The children log in a span of the parent.
fn flood(builder: Builder) {
    let guard = builder.build().unwrap();
    guard.pipeline().set_logger().unwrap();
    #[cfg(feature = "tracing")]
    tracing::subscriber::set_global_default(guard.pipeline().subscriber()).unwrap();
    let mut guard = Some(guard);
    logging(|| {
        #[cfg(feature = "tracing")]
        let span = tracing::info_span!("around", number = 7).entered();
        let children: Vec<_> = (0..CHILDREN)
            .map(|child| {
                let end = ENDS[usize::try_from(child).unwrap() % ENDS.len()];
                start(end, &mut guard, || numbers(child))
            })
            .collect();
        #[cfg(feature = "tracing")]
        drop(span);
        for child in children {
            wait_for(wait(child));
        }
    });
    drop(guard);
}

/// Logs by two threads and this one while `f` runs.
fn logging(f: impl FnOnce()) {
    struct Stops;
    impl Drop for Stops {
        fn drop(&mut self) {
            STOP.store(true, Ordering::Relaxed);
        }
    }
    // A thread that begins holds a lock of std's. In a child that is forked then, each new thread and
    // the exit wait for it.
    log::logger().flush();
    let have_begun = Barrier::new(3);
    thread::scope(|scope| {
        let _stops = Stops;
        for of in 0..2 {
            let have_begun = &have_begun;
            scope.spawn(move || {
                have_begun.wait();
                for number in 0.. {
                    if STOP.load(Ordering::Relaxed) {
                        break;
                    }
                    log::warn!("parent {of} {number}");
                    LOGGED.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(Duration::from_micros(20));
                }
            });
        }
        have_begun.wait();
        f();
    });
}

#[cfg(feature = "otlp")]
fn spans(pipeline: &Pipeline) {
    let around = tracing::info_span!("around").entered();
    in_the_parent();
    for child in 0..CHILDREN {
        wait_for(fork(|| {
            for number in 0..RECORDS / 10 {
                let _span = tracing::info_span!("of the child").entered();
                tracing::warn!("child {child} {number}");
            }
            pipeline.flush(LONG).unwrap();
        }));
    }
    drop(around);
}

fn nested(depth: u64) {
    for number in 0..RECORDS {
        if number == RECORDS / 2 && depth < 3 {
            wait_for(fork_that(End::Exit, || nested(depth + 1)));
        }
        log::info!("child {depth} {number}");
    }
}

/// Makes a child that is refused all of its records, and that knows their number.
fn refuses(builder: Builder, make: fn() -> libc::pid_t) {
    let incident = |incident: &Incident<'_>| {
        let line = format!("incident: {incident}\n");
        io::stderr().write_all(line.as_bytes()).unwrap();
    };
    let pipeline = builder.on_incident(incident).init().unwrap();
    in_the_parent();
    pipeline.flush(LONG).unwrap();
    let child = make();
    if child == 0 {
        // SAFETY: only sets a timer.
        unsafe { libc::alarm(LONGEST_LIFE) };
        numbers(0);
        let flushed = pipeline.flush(LONG);
        let stats = pipeline.stats();
        let lost = stats.dropped() + stats.sinks().iter().map(SinkStats::dropped).sum::<u64>();
        eprintln!("child: {lost} lost, flush: {flushed:?}");
        // SAFETY: ends the process.
        unsafe { libc::_exit(i32::from(lost != RECORDS || flushed.is_ok())) };
    }
    in_the_parent();
    wait_for(wait(child));
}

fn fork_here() -> libc::pid_t {
    // SAFETY: the child calls the code under test, and ends.
    unsafe { libc::fork() }
}

#[cfg(target_os = "linux")]
fn raw_clone() -> libc::pid_t {
    // SAFETY: the child has a copy of the memory, as after a fork.
    let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
    libc::pid_t::try_from(child).unwrap()
}

/// Forks a child that runs `f` and flushes. Returns its status.
fn fork(f: impl FnOnce()) -> libc::c_int {
    fork_that(End::FlushThenExit, f)
}

fn fork_that(end: End, f: impl FnOnce()) -> libc::c_int {
    wait(start(end, &mut None, f))
}

/// Starts a child. `guard` is the pipeline's, if the child may drop it.
fn start(end: End, guard: &mut Option<Guard>, f: impl FnOnce()) -> libc::pid_t {
    let child = fork_here();
    if child != 0 {
        assert!(child > 0, "fork failed");
        return child;
    }
    // SAFETY: only sets a timer.
    unsafe { libc::alarm(LONGEST_LIFE) };
    f();
    match end {
        // As a return from `main` does: the guard is dropped, and then the process exits.
        End::Return => {
            drop(guard.take());
            process::exit(0);
        }
        End::Exit => process::exit(0),
        End::FlushThenExit => {
            if let Some(guard) = guard {
                guard.pipeline().flush(LONG).unwrap();
            } else {
                log::logger().flush();
            }
            // SAFETY: ends the process without its functions of the exit.
            unsafe { libc::_exit(0) };
        }
        // SAFETY: ends the process without its functions of the exit.
        End::Leave => unsafe { libc::_exit(0) },
        End::Terminated => {
            // SAFETY: only sends a signal.
            unsafe { libc::raise(libc::SIGTERM) };
            thread::sleep(LONG);
            process::exit(1);
        }
    }
}

fn wait(child: libc::pid_t) -> libc::c_int {
    let mut status = 0;
    // SAFETY: the status is this function's own.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(waited, child);
    status
}

fn wait_for(status: libc::c_int) {
    assert_eq!(status, 0, "the child failed or was stopped by its timer");
}

#[cfg(target_os = "linux")]
fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

#[cfg(not(target_os = "linux"))]
fn threads() -> usize {
    1
}
