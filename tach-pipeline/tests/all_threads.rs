//! No thread allocates once it has logged or written a record. The test has a process of its own,
//! because it counts every allocation of the process.
#![expect(unsafe_code, reason = "counts what the allocator is asked for")]

use core::alloc::{GlobalAlloc, Layout};
use core::fmt;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use core::time::Duration;
use std::alloc::System;
use std::{io, thread};
#[cfg(all(target_os = "linux", target_env = "gnu"))]
use std::{sync::Barrier, time::Instant};

use log::Log as _;
use tach_log::{Format, Json, Line, Logfmt};
use tach_pipeline::{Builder, JournalExport, Pipeline, Sink};

/// Long enough for any machine.
const LONG: Duration = Duration::from_secs(60);
const RECORDS: usize = 4_000;
const TIMES: usize = 10;

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
/// The bytes in use.
static IN_USE: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: it does as the system's allocator does.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::SeqCst);
        IN_USE.fetch_add(layout.size(), Ordering::SeqCst);
        // SAFETY: the caller's promises are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::SeqCst);
        // SAFETY: the caller's promises are the same.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::SeqCst);
        IN_USE.fetch_add(size, Ordering::SeqCst);
        IN_USE.fetch_sub(layout.size(), Ordering::SeqCst);
        // SAFETY: the caller's promises are the same.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// Returns the fewest allocations of all threads while records follow earlier ones, over several
/// times: a buffer that grew once needs no more. An allocation for each record comes each time.
fn allocations(builder: Builder) -> u64 {
    // The queue is smaller than the records, so it has been full before.
    let guard = builder.queue_bytes(16 * 1024).build().unwrap();
    let log_all = || {
        for number in 0..RECORDS {
            let fields = [
                ("float", log::kv::Value::from(0.1)),
                ("text", "two\nlines".into()),
                ("number", (RECORDS + number).into()),
            ];
            let message = format_args!("{} and {}", 1, 2);
            guard.pipeline().log(&log::Record::builder().args(message).key_values(&fields).build());
        }
        guard.pipeline().flush(LONG).unwrap();
    };
    log_all();
    let counts = (0..TIMES).map(|_| {
        let before = ALLOCATIONS.load(Ordering::SeqCst);
        log_all();
        ALLOCATIONS.load(Ordering::SeqCst) - before
    });
    counts.min().unwrap_or(u64::MAX)
}

/// A sink that allocates each time it is written to.
struct Allocating;

impl io::Write for Allocating {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        drop(core::hint::black_box(Box::new(1)));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One test, since the allocations of another test would be counted too.
#[test]
fn memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    threads_that_log_no_more_keep_little();
    nothing_is_allocated_once_records_are_on_their_way();
    a_long_record_s_memory_is_given_back();
    threads_that_have_ended_leave_nothing(Pipeline::builder(), || 0);
    #[cfg(all(feature = "survive", target_os = "linux", target_pointer_width = "64"))]
    threads_that_have_ended_leave_nothing_in_a_file();
}

/// glibc keeps free memory among blocks that are in use. So the test also counts memory that was
/// freed and did not return to the system: the buffers of a burst.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn threads_that_log_no_more_keep_little() {
    const THREADS: usize = 200;
    // SAFETY: only reads the allocator's state.
    let of_allocator = || unsafe { libc::mallinfo2() };
    let kept = || of_allocator().arena + of_allocator().hblkhd;
    let guard = Pipeline::builder().sink(Sink::writer("nothing", io::sink())).build().unwrap();
    let log = || guard.pipeline().log(&log::Record::builder().args(format_args!("text")).build());
    log();
    guard.pipeline().flush(LONG).unwrap();
    let before = kept();
    let burst = |most: usize| {
        let all = Barrier::new(THREADS + 1);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    (0..1_000).for_each(|_| log());
                    all.wait();
                    all.wait();
                });
            }
            all.wait();
            let is_little = comes_true(|| kept() < before + most);
            // The back end is at rest when the threads end.
            thread::sleep(Duration::from_secs(5));
            all.wait();
            assert!(is_little);
        });
    };
    // An arena of glibc has 132 KiB at least.
    burst(THREADS * 16 * 1024);
    guard.pipeline().flush(LONG).unwrap();
    // What the back end keeps for itself is there now. Later no call makes it forget threads.
    thread::sleep(Duration::from_secs(5));
    let in_use = IN_USE.load(Ordering::SeqCst);
    // The first burst has taught glibc to keep blocks of its length.
    burst(usize::MAX - before);
    assert!(comes_true(|| IN_USE.load(Ordering::SeqCst) < in_use + THREADS * 200));
}

/// Waits until `is_met`, and returns whether that comes true. Memory is given back in the seconds
/// after the last record.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn comes_true(is_met: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while !is_met() && start.elapsed() < Duration::from_secs(15) {
        thread::sleep(Duration::from_millis(10));
    }
    is_met()
}

fn a_long_record_s_memory_is_given_back() {
    let sink = Sink::writer("nothing", io::sink());
    let guard = Pipeline::builder().sink(sink).queue_bytes(16 * 1024).build().unwrap();
    let log = |text: &str| {
        guard.pipeline().log(&log::Record::builder().args(format_args!("{text}")).build());
        guard.pipeline().flush(LONG).unwrap();
    };
    log("short");
    let before = IN_USE.load(Ordering::SeqCst);
    log(&"x".repeat(10_000_000));
    log("short");
    let after = IN_USE.load(Ordering::SeqCst);
    // At most two batches of lines.
    assert!(after < before + 512 * 1024, "{before} {after}");
}

fn nothing_is_allocated_once_records_are_on_their_way() {
    no_allocation_by(&Line::new());
    no_allocation_by(&Json::new());
    no_allocation_by(&Logfmt::new());
    no_allocation_by(&JournalExport::new());
    // The control: an allocation of the back end is counted.
    let sink = Sink::writer("allocating", Allocating);
    assert!(allocations(Pipeline::builder().sink(sink)) > 0);
}

fn no_allocation_by(format: &(impl Format + Clone + fmt::Debug + Send + Sync + 'static)) {
    let sink = || Sink::writer("nothing", io::sink()).format(format.clone());
    assert_eq!(allocations(Pipeline::builder().sink(sink())), 0, "{format:?}");
}

/// A program with a thread for each request.
fn threads_that_have_ended_leave_nothing(builder: Builder, in_files: impl Fn() -> u64) {
    let guard = builder.sink(Sink::writer("nothing", io::sink())).build().unwrap();
    // The bytes in memory, and those in files.
    let in_use = |requests: usize| {
        for number in 0..requests {
            let log = || {
                guard
                    .pipeline()
                    .log(&log::Record::builder().args(format_args!("{number}")).build());
            };
            thread::scope(|scope| scope.spawn(log).join().unwrap());
            // Flush, so that few threads that have ended wait for the back end.
            if number % 100 == 99 {
                guard.pipeline().flush(LONG).unwrap();
            }
        }
        (IN_USE.load(Ordering::SeqCst), in_files())
    };
    let (before, after) = (in_use(1_000), in_use(9_000));
    assert!(after.0 < before.0 + 512 * 1024, "{before:?} {after:?}");
    // The rings of 9,000 threads would take 72 MB.
    assert!(after.1 < before.1 + 4 * 1024 * 1024, "{before:?} {after:?}");
}

#[cfg(all(feature = "survive", target_os = "linux", target_pointer_width = "64"))]
fn threads_that_have_ended_leave_nothing_in_a_file() {
    let folder = std::env::temp_dir().join(format!("tach-all-threads-{}", std::process::id()));
    let bytes = || {
        let files = std::fs::read_dir(&folder).unwrap();
        files.map(|file| file.unwrap().metadata().unwrap().len()).sum::<u64>()
    };
    threads_that_have_ended_leave_nothing(Pipeline::builder().survive(&folder), bytes);
    std::fs::remove_dir_all(folder).unwrap();
}
