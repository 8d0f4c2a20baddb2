//! Reading, changing and restoring this machine's clock.
#![expect(unsafe_code, reason = "calls clock_gettime, clock_settime and adjtimex")]

use core::mem;
use std::io;

use libc::{CLOCK_MONOTONIC, CLOCK_REALTIME, c_long, clockid_t, time_t, timespec};

const NS_PER_S: i64 = 1_000_000_000;
/// `ADJ_FREQUENCY` counts in parts per million with 16 fractional bits.
const PPM: c_long = 1 << 16;
/// The error below which the clock counts as restored.
const EXACT_NS: i64 = 1_000;

pub(crate) fn read(clock: clockid_t) -> i64 {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid for one timespec.
    let answer = unsafe { libc::clock_gettime(clock, &raw mut time) };
    assert_eq!(answer, 0, "clock_gettime failed");
    #[allow(clippy::useless_conversion, reason = "the types differ among targets")]
    let (seconds, ns) = (i64::from(time.tv_sec), i64::from(time.tv_nsec));
    seconds * NS_PER_S + ns
}

/// Sets the wall clock ahead by `change_ns`, or back.
pub(crate) fn step(change_ns: i64) -> io::Result<()> {
    let ns = read(CLOCK_REALTIME) + change_ns;
    let seconds = time_t::try_from(ns / NS_PER_S).expect("a date that the clock can have");
    let time = timespec { tv_sec: seconds, tv_nsec: (ns % NS_PER_S) as _ };
    // SAFETY: the pointer is valid for one timespec.
    let answer = unsafe { libc::clock_settime(CLOCK_REALTIME, &raw const time) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The clock's state before it was changed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Saved {
    /// The wall clock minus the monotonic one. A step changes it, a slew does not.
    ahead_ns: i64,
    frequency: c_long,
}

impl Saved {
    pub(crate) fn now() -> io::Result<Self> {
        Ok(Self { ahead_ns: ahead_ns(), frequency: adjust(None)? })
    }

    /// Changes the clock's rate by `ppm` relative to the saved one.
    pub(crate) fn slew(self, ppm: i32) -> io::Result<()> {
        adjust(Some(self.frequency + c_long::from(ppm) * PPM)).map(drop)
    }

    pub(crate) fn restore(self) -> io::Result<()> {
        let frequency = self.slew(0);
        // The clock runs between reading and setting it; the first attempt measures that lag.
        let mut lag_ns = 0;
        for attempt in 0..5 {
            let off_ns = ahead_ns() - self.ahead_ns;
            if off_ns.abs() <= EXACT_NS {
                break;
            }
            if attempt > 0 {
                lag_ns -= off_ns;
            }
            step(lag_ns - off_ns)?;
        }
        frequency
    }
}

/// A guard that restores the clock when it is dropped, also during a panic.
#[derive(Debug)]
pub(crate) struct Guard(pub(crate) Saved);

impl Drop for Guard {
    fn drop(&mut self) {
        if let Err(error) = self.0.restore() {
            eprintln!("THE CLOCK COULD NOT BE RESTORED: {error}: {:?}", self.0);
        }
    }
}

/// Returns the wall clock minus the monotonic one, by the narrowest of 100 brackets.
fn ahead_ns() -> i64 {
    let bracket = |_| {
        let before = read(CLOCK_MONOTONIC);
        let wall = read(CLOCK_REALTIME);
        let after = read(CLOCK_MONOTONIC);
        (after - before, wall - (before + (after - before) / 2))
    };
    (0..100).map(bracket).min().map_or(0, |(_, ahead_ns)| ahead_ns)
}

/// Sets the clock's frequency, if one is given, and returns the previous one.
fn adjust(frequency: Option<c_long>) -> io::Result<c_long> {
    // SAFETY: a timex is made of integers only, and for those zero is a value.
    let mut state: libc::timex = unsafe { mem::zeroed() };
    // SAFETY: the pointer is valid for one timex; a call whose `modes` are 0 only reads the clock.
    let answer = unsafe { libc::adjtimex(&raw mut state) };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    let before = state.freq;
    if let Some(frequency) = frequency {
        state.modes = libc::ADJ_FREQUENCY;
        state.freq = frequency;
        // SAFETY: the pointer is valid for one timex.
        let answer = unsafe { libc::adjtimex(&raw mut state) };
        if answer < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(before)
}
