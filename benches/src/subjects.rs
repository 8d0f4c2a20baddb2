//! The clocks and their jobs.

use core::arch::asm;
use core::hint::black_box;
use core::time::Duration;
use std::sync::OnceLock;
use std::time::{Instant as StdInstant, SystemTime, UNIX_EPOCH};

use tach_core::coarse::{self, Refresher};
use tach_core::{
    Clock, Instant, ManualClock, MonotonicInstant, OrderedInstant, SystemClock, UnixTime,
    unix_nanos,
};

use crate::{Group, Subject};

/// A subject that evaluates an expression in a loop, at four addresses in turn.
///
/// The address of a loop within a line of the instruction cache changes the cost of a counter read
/// by up to two cycles of 27, at random with each build. The four addresses are a quarter of a line
/// apart.
macro_rules! subject {
    ($name:literal, $work:expr) => {
        Subject {
            name: $name,
            run: |iterations| {
                subject!(@ 0, iterations, $work);
                subject!(@ 16, iterations, $work);
                subject!(@ 32, iterations, $work);
                subject!(@ 48, iterations, $work);
            },
        }
    };
    (@ $place:literal, $iterations:ident, $work:expr) => {
        // SAFETY: these are no-ops.
        unsafe {
            asm!(".p2align 6", concat!(".rept ", $place), "nop", ".endr", options(nomem, nostack, preserves_flags));
        }
        for _ in 0..$iterations / 4 {
            black_box($work);
        }
    };
}

pub(crate) fn groups() -> Vec<Group> {
    vec![reads(), elapsed(), unix(), for_tests(), upkeep(), coarse()]
}

/// Returns the group with enforced order, for a process with `TACH_ORDER=enforced`.
#[must_use]
pub fn enforced() -> Group {
    let mut subjects = bare::raised();
    subjects.push(subject!("tach MonotonicInstant", MonotonicInstant::now()));
    Group { name: "now(), order enforced", subjects }
}

fn reads() -> Group {
    let mut subjects = bare::reads();
    subjects.extend([
        subject!("tach Instant", Instant::now()),
        subject!("tach OrderedInstant", OrderedInstant::now()),
        subject!("tach MonotonicInstant", MonotonicInstant::now()),
        subject!("std Instant", StdInstant::now()),
        subject!("quanta Instant", quanta::Instant::now()),
        subject!("minstant Instant", minstant::Instant::now()),
        subject!("fastant Instant", fastant::Instant::now()),
        subject!("coarsetime Instant", coarsetime::Instant::now()),
    ]);
    Group { name: "now()", subjects }
}

fn elapsed() -> Group {
    let mut subjects = bare::differences();
    subjects.extend([
        subject!("tach Instant", black_box(Instant::now()).elapsed()),
        subject!("tach MonotonicInstant", black_box(MonotonicInstant::now()).elapsed()),
        subject!("std Instant", black_box(StdInstant::now()).elapsed()),
        subject!("quanta Instant", black_box(quanta::Instant::now()).elapsed()),
        subject!("minstant Instant", black_box(minstant::Instant::now()).elapsed()),
        subject!("fastant Instant", black_box(fastant::Instant::now()).elapsed()),
        subject!("coarsetime Instant", black_box(coarsetime::Instant::now()).elapsed()),
    ]);
    Group { name: "now() and elapsed()", subjects }
}

fn unix() -> Group {
    static MINSTANT: OnceLock<minstant::Anchor> = OnceLock::new();
    static FASTANT: OnceLock<fastant::Anchor> = OnceLock::new();
    MINSTANT.get_or_init(minstant::Anchor::new);
    FASTANT.get_or_init(fastant::Anchor::new);
    let mut subjects = bare::read();
    subjects.extend([
        subject!("tach unix_nanos", unix_nanos()),
        subject!(
            "std SystemTime",
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos())
        ),
        subject!("minstant Anchor", {
            minstant::Instant::now().as_unix_nanos(MINSTANT.get_or_init(minstant::Anchor::new))
        }),
        subject!("fastant Anchor", {
            fastant::Instant::now().as_unix_nanos(FASTANT.get_or_init(fastant::Anchor::new))
        }),
        subject!("coarsetime Clock", coarsetime::Clock::now_since_epoch()),
    ]);
    Group { name: "Unix time in ns", subjects }
}

fn for_tests() -> Group {
    static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    static DYNAMIC: &dyn Clock = &CLOCK;
    let subjects = vec![
        subject!("tach SystemClock", SystemClock.now()),
        subject!("tach ManualClock", black_box(&CLOCK).now()),
        subject!("tach ManualClock, Unix time", black_box(&CLOCK).unix_time()),
        subject!("tach ManualClock, dyn", black_box(DYNAMIC).now()),
    ];
    Group { name: "a Clock's now()", subjects }
}

/// Returns the coarse clocks, and starts their threads.
fn coarse() -> Group {
    static REFRESHER: OnceLock<Refresher> = OnceLock::new();
    static UPKEEP: OnceLock<quanta::Handle> = OnceLock::new();
    let interval = Duration::from_millis(100);
    REFRESHER.get_or_init(|| Refresher::spawn(interval).expect("the system gives a thread"));
    UPKEEP.get_or_init(|| quanta::Upkeep::new(interval).start().expect("the only upkeep"));
    coarsetime::Instant::update();
    let subjects = vec![
        subject!("tach coarse::unix_time", coarse::unix_time().as_nanos()),
        subject!("tach coarse::now", coarse::now()),
        subject!("quanta Instant::recent", quanta::Instant::recent()),
        subject!("coarsetime Instant::recent", coarsetime::Instant::recent()),
    ];
    Group { name: "coarse", subjects }
}

fn upkeep() -> Group {
    let subjects = vec![
        subject!("tach sync", tach_core::sync()),
        subject!("tach now_with_uncertainty", UnixTime::now_with_uncertainty()),
        subject!("tach disruptions", tach_core::disruptions()),
        subject!("tach status", tach_core::status()),
    ];
    Group { name: "upkeep", subjects }
}

/// The instructions themselves.
#[cfg(target_arch = "x86_64")]
mod bare {
    use core::arch::asm;
    use core::arch::x86_64::_rdtsc;
    use core::hint::black_box;
    use core::sync::atomic::{AtomicU64, Ordering};

    use crate::Subject;

    fn rdtsc() -> u64 {
        // SAFETY: RDTSC accesses no memory.
        unsafe { _rdtsc() }
    }

    macro_rules! ordered {
        ($($instruction:literal),+) => {{
            let (low, high): (u32, u32);
            // SAFETY: the instructions access no memory, and write only these three registers.
            unsafe {
                asm!($($instruction),+, out("eax") low, out("edx") high, out("ecx") _,
                     options(nostack, preserves_flags));
            }
            u64::from(high) << 32 | u64::from(low)
        }};
    }

    pub(super) fn read() -> Vec<Subject> {
        vec![subject!("bare rdtsc", rdtsc())]
    }

    pub(super) fn reads() -> Vec<Subject> {
        let mut subjects = read();
        subjects.push(subject!("bare rdtscp", ordered!("rdtscp")));
        subjects.push(subject!("bare lfence; rdtsc", ordered!("lfence", "rdtsc")));
        subjects
    }

    pub(super) fn raised() -> Vec<Subject> {
        static HIGHEST: AtomicU64 = AtomicU64::new(0);
        vec![subject!("bare rdtsc and fetch_max", {
            let now = rdtsc();
            HIGHEST.fetch_max(now, Ordering::Relaxed).max(now)
        })]
    }

    pub(super) fn differences() -> Vec<Subject> {
        vec![subject!("two bare rdtsc", {
            let start = black_box(rdtsc());
            rdtsc() - start
        })]
    }
}

/// On other architectures no bare instruction is measured. The reference is the standard library.
#[cfg(not(target_arch = "x86_64"))]
mod bare {
    use crate::Subject;

    pub(super) fn read() -> Vec<Subject> {
        Vec::new()
    }

    pub(super) use read as reads;
    pub(super) use read as differences;
    pub(super) use read as raised;
}
