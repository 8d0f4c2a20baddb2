//! The simulated machine: a true time in ns, and a counter and OS clocks that are lines over it.
//!
//! True time passes when a scenario says so, and by the cost of each read. The costs vary
//! pseudo-randomly, the same in every run.

use core::time::Duration;

use super::word::Word;

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const HOUR: Duration = Duration::from_secs(3_600);

/// 2.5 GHz.
const TICKS_PER_NS: f64 = 2.5;
/// The cost of reading an OS clock without a system call, before the random part.
const OS_READ_NS: u64 = 22;
const COUNTER_READ_NS: u64 = 9;
/// One read in this many is interrupted.
const INTERRUPTED: u64 = 512;
const NEVER: u64 = u64::MAX;

/// A clock: a line over true time.
pub(crate) struct Line {
    since_ns: Word,
    start: Word,
    /// Per ns of true time, with 40 fractional bits.
    rate_q40: Word,
    /// The step in which an OS clock shows its time.
    step_ns: Word,
}

impl Line {
    const fn new(start: u64) -> Self {
        Self {
            since_ns: Word::new(0),
            start: Word::new(start),
            rate_q40: Word::new(1 << 40),
            step_ns: Word::new(1),
        }
    }

    /// Returns the clock's value, at no cost.
    pub(crate) fn value(&self) -> u64 {
        let passed = u128::from(TRUE_NS.get() - self.since_ns.get());
        let more = (passed * u128::from(self.rate_q40.get())) >> 40;
        let more = u64::try_from(more).expect("a clock that does not wrap twice");
        self.start.get().wrapping_add(more)
    }

    /// Returns the value that a read shows.
    pub(crate) fn shown(&self) -> u64 {
        self.value() - self.value() % self.step_ns.get()
    }

    pub(crate) fn set_step(&self, step_ns: u64) {
        self.step_ns.set(step_ns);
    }

    pub(crate) fn set(&self, value: u64) {
        self.since_ns.set(TRUE_NS.get());
        self.start.set(value);
    }

    pub(crate) fn shift(&self, change: i64) {
        self.set(self.value().checked_add_signed(change).expect("a value that a clock can have"));
    }

    /// Sets the clock's rate, in units per ns.
    pub(crate) fn set_rate(&self, rate: f64) {
        self.set(self.value());
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "rates are between 0 and a few units per ns"
        )]
        self.rate_q40.set((rate * f64::from(1 << 20) * f64::from(1 << 20)) as u64);
    }
}

pub(crate) static COUNTER: Line = Line::new(0);
pub(crate) static MONOTONIC: Line = Line::new(0);
pub(crate) static REALTIME: Line = Line::new(0);
pub(crate) static BOOTTIME: Line = Line::new(0);
pub(crate) static MONOTONIC_RAW: Line = Line::new(0);

static TRUE_NS: Word = Word::new(0);
static SEED: Word = Word::new(1);
/// The sum of the jumps of `CLOCK_MONOTONIC`, in two's complement.
static JUMPED_NS: Word = Word::new(0);
/// How many times slower reads of the OS clocks are than at first.
static OS_SLOWNESS: Word = Word::new(1);
static READS: Word = Word::new(0);
/// The number of reads at which a loop counts as endless.
static MOST_READS: Word = Word::new(NEVER);
static CLOCKSOURCE_IS_HPET: Word = Word::new(0);
static CLOCKSOURCE_IS_HIDDEN: Word = Word::new(0);

/// Sets the machine to five hours after its start.
pub(crate) fn begin() {
    let uptime_ns = ns(5 * HOUR);
    TRUE_NS.set(uptime_ns);
    COUNTER.set(uptime_ns / 2 * 5 + 12_345);
    COUNTER.set_rate(TICKS_PER_NS);
    for clock in [&MONOTONIC, &BOOTTIME, &MONOTONIC_RAW] {
        clock.set(uptime_ns + 67);
    }
    REALTIME.set(1_700_000_000_123_456_789);
}

pub(crate) fn true_ns() -> u64 {
    TRUE_NS.get()
}

pub(crate) fn pass(duration: Duration) {
    TRUE_NS.add(ns(duration));
}

/// Returns the next number of the pseudo-random sequence, less than `end`.
pub(crate) fn random(end: u64) -> u64 {
    // Knuth's multiplier; the upper bits are the good ones.
    SEED.set(SEED.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    (SEED.get() >> 33) % end
}

/// Reads the counter as its instruction does.
pub(crate) fn read_counter() -> u64 {
    cost(COUNTER_READ_NS, || COUNTER.value())
}

/// Reads an OS clock as `clock_gettime` does.
pub(crate) fn read_os(clock: &Line) -> u64 {
    cost(OS_READ_NS * OS_SLOWNESS.get(), || clock.shown())
}

/// Takes a reading in the middle of about `cost_ns`.
fn cost(cost_ns: u64, read: impl FnOnce() -> u64) -> u64 {
    READS.add(1);
    if READS.get() > MOST_READS.get() {
        super::child::hung();
    }
    TRUE_NS.add(cost_ns / 2 + random(3) + interruption_ns());
    let value = read();
    TRUE_NS.add(cost_ns - cost_ns / 2 + random(3) + interruption_ns());
    value
}

fn interruption_ns() -> u64 {
    if random(INTERRUPTED) == 0 { 300 + random(5_000) } else { 0 }
}

pub(crate) fn reads() -> u64 {
    READS.get()
}

/// Ends the process after `more` further reads.
pub(crate) fn limit_reads(more: u64) {
    MOST_READS.set(READS.get() + more);
}

/// Removes the limit of [`limit_reads`].
pub(crate) fn unlimit_reads() {
    MOST_READS.set(NEVER);
}

/// Returns the correct time for durations: `CLOCK_MONOTONIC` without its jumps.
pub(crate) fn lived_ns() -> u64 {
    MONOTONIC.value().wrapping_sub(JUMPED_NS.get())
}

/// Slews the OS clocks, as `adjtimex` does; 0 ends the slew.
pub(crate) fn slew(ppm: i32) {
    for clock in [&MONOTONIC, &REALTIME, &BOOTTIME] {
        clock.set_rate(1.0 + f64::from(ppm) / 1e6);
    }
}

/// Sets the counter's rate to `factor` times its initial rate.
pub(crate) fn set_counter_speed(factor: f64) {
    COUNTER.set_rate(TICKS_PER_NS * factor);
}

/// Suspends the machine: `CLOCK_MONOTONIC` stands; the others and the counter run.
pub(crate) fn suspend(duration: Duration) {
    let standing = [(&MONOTONIC, MONOTONIC.value()), (&MONOTONIC_RAW, MONOTONIC_RAW.value())];
    pass(duration);
    for (clock, value) in standing {
        clock.set(value);
    }
}

/// Suspends the machine, whose counter stands meanwhile.
pub(crate) fn suspend_with_counter(duration: Duration) {
    let counter = COUNTER.value();
    suspend(duration);
    COUNTER.set(counter);
}

/// Moves `CLOCK_MONOTONIC` and `CLOCK_BOOTTIME`, as a time namespace does.
pub(crate) fn jump_monotonic(seconds: i64) {
    let change = seconds * 1_000_000_000;
    MONOTONIC.shift(change);
    BOOTTIME.shift(change);
    JUMPED_NS.set(JUMPED_NS.get().wrapping_add_signed(change));
}

/// Makes reads of the OS clocks `factor` times as slow as at first, like system calls.
pub(crate) fn slow_os_reads(factor: u64) {
    OS_SLOWNESS.set(factor);
}

pub(crate) fn leave_counter() {
    CLOCKSOURCE_IS_HPET.set(1);
}

/// Hides the kernel's files on its clocksource.
pub(crate) fn hide_clocksource() {
    CLOCKSOURCE_IS_HIDDEN.set(1);
}

/// Returns the content of the kernel's file on its clocksource, if there is one.
pub(crate) fn clocksource() -> Option<&'static str> {
    let name = if CLOCKSOURCE_IS_HPET.get() == 1 { "hpet\n" } else { "tsc\n" };
    (CLOCKSOURCE_IS_HIDDEN.get() == 0).then_some(name)
}

/// Returns the duration in ns. Scenarios stay below 584 years.
pub(crate) fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
