//! One run: a thread that converts, and a handler that interrupts it and converts too.

use core::ffi::c_int;
use core::hint::black_box;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use core::time::Duration;
use std::thread;

use crate::findings::{Findings, Problem};
use crate::log;
use crate::os;
use crate::reading::{READS, Reading, Witnessed};
use crate::timer::Timer;

/// The period of the interruptions: ten thousand per second.
const PERIOD: Duration = Duration::from_micros(100);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Storm {
    /// The number of handler calls after which the run ends.
    pub(crate) handlers: usize,
    /// The time from the start of the timer, and so from the first read, to the first signal.
    pub(crate) delay: Duration,
    /// Whether another thread, which is not interrupted, converts as well.
    pub(crate) neighbour: bool,
    /// The handler's flaw, in a positive control.
    pub(crate) flaw: Option<Problem>,
}

/// The flaw's number plus one; 0 if there is none.
static FLAW: AtomicU8 = AtomicU8::new(0);

pub(crate) fn run(storm: &Storm) -> Findings {
    os::begin();
    // ORDERING: Relaxed, since the timer whose handler reads it starts on this thread.
    FLAW.store(storm.flaw.map_or(0, |flaw| flaw as u8 + 1), Ordering::Relaxed);
    let done = AtomicBool::new(false);
    let convert = || {
        // ORDERING: Relaxed, since the flag publishes nothing.
        while !done.load(Ordering::Relaxed) {
            black_box(Reading::at(READS[0]()));
        }
    };
    thread::scope(|scope| {
        if storm.neighbour {
            scope.spawn(convert);
        }
        let mut findings = Findings::default();
        let own = interrupted(storm, &mut findings);
        // ORDERING: Relaxed, since the flag publishes nothing.
        done.store(true, Ordering::Relaxed);
        check(&own, &mut findings);
        findings
    })
}

/// Reads and converts during the storm. Returns this thread's readings that are adjacent to
/// readings of the handler.
fn interrupted(storm: &Storm, findings: &mut Findings) -> Vec<Reading> {
    let mut own = Vec::with_capacity(2 * storm.handlers);
    let mut last = Reading::default();
    let mut seen = 0;
    let mut between = 0;
    let _timer = Timer::start(handle, storm.delay, PERIOD);
    for read in READS.into_iter().cycle() {
        let before = log::len();
        let tick = read();
        let after = log::len();
        let reading = Reading::at(tick);
        // The handler made these readings between this thread's last read and this one, mostly
        // during the last conversion.
        let mut within: Vec<Reading> = (seen..before).map(|at| log::entry(at).reading).collect();
        if !within.is_empty() {
            between += within.len();
            own.extend([last, reading]);
        }
        within.push(reading);
        findings.check_order(&last, &within);
        findings.check_past(&reading);
        if before >= storm.handlers {
            break;
        }
        (last, seen) = (reading, after);
    }
    assert!(
        between > storm.handlers / 10,
        "only {between} readings of the handler have a place among the thread's own"
    );
    own.retain(|reading| *reading != Reading::default());
    own
}

/// Runs the checks that need no storm.
fn check(own: &[Reading], findings: &mut Findings) {
    let entries: Vec<Witnessed> = (0..log::len()).map(log::entry).collect();
    let readings: Vec<Reading> = entries.iter().map(|entry| entry.reading).collect();
    findings.check_order(&Reading::default(), &readings);
    for reading in readings.iter().chain(own) {
        findings.check_purity(reading);
    }
    for entry in &entries {
        findings.check_truth(entry, &entries[0]);
    }
}

/// Handles the signal. Async-signal-safe: it does not allocate, lock or panic.
extern "C" fn handle(_: c_int) {
    let mut witnessed = Witnessed::take(READS[0]);
    // ORDERING: Relaxed, since the timer starts after `run` has stored the flaw on this thread.
    match FLAW.load(Ordering::Relaxed).checked_sub(1) {
        Some(0) => witnessed.reading.tick = witnessed.reading.tick.saturating_sub(1_000_000),
        Some(1) => witnessed.reading.unix_ns = witnessed.reading.unix_ns.saturating_sub(1),
        Some(_) => witnessed.before.unix_ns = witnessed.reading.unix_ns.saturating_add(2_000_000),
        None => {}
    }
    log::push(&witnessed);
}
