//! The C functions that this program defines in place of the C library's.
//!
//! A definition in the executable takes precedence, for the standard library and for tach.
//! [`World`] selects the machine that answers.
#![expect(unsafe_code, reason = "defines functions of the C library and calls the system")]

use core::ffi::{CStr, c_char, c_int, c_long, c_uint, c_ulong};
use core::mem;
use core::ptr;

use libc::{clockid_t, size_t, timespec};

use super::machine;
use super::word::Word;

const CURRENT: &CStr = c"/sys/devices/system/clocksource/clocksource0/current_clocksource";
const AVAILABLE: &CStr = c"/sys/devices/system/clocksource/clocksource0/available_clocksource";

/// The machine that answers the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum World {
    /// The kernel, by a system call each.
    Kernel,
    Simulated,
    /// The simulated machine's clocks, with the kernel's files and with its `prctl`, so that a
    /// filter may kill the process.
    SimulatedClocks,
    /// The C library, which reads the counter itself.
    Library,
}

static WORLD: Word = Word::new(World::Kernel as u64);
static LIBRARY_CLOCK: Word = Word::new(0);
static OPENS: Word = Word::new(0);
static PRCTLS: Word = Word::new(0);
/// The clocks that can't be read: a bit for each id.
static UNREADABLE: Word = Word::new(0);

/// Sets the machine that answers.
pub(crate) fn enter(world: World) {
    if world == World::Library {
        // SAFETY: the name ends with a NUL byte.
        let function = unsafe { libc::dlsym(libc::RTLD_NEXT, c"clock_gettime".as_ptr()) };
        assert!(!function.is_null(), "the C library has no clock_gettime");
        LIBRARY_CLOCK.set(function as u64);
    }
    WORLD.set(world as u64);
}

/// Makes the calls for these clocks fail, as under a filter of system calls. All others succeed.
pub(crate) fn refuse(clocks: &[clockid_t]) {
    UNREADABLE.set(clocks.iter().map(|clock| 1 << clock).sum());
}

pub(crate) fn opens() -> u64 {
    OPENS.get()
}

pub(crate) fn prctls() -> u64 {
    PRCTLS.get()
}

fn is(worlds: &[World]) -> bool {
    worlds.iter().any(|&world| WORLD.get() == world as u64)
}

fn fail(error: c_int) -> c_int {
    // SAFETY: the address of this thread's errno is always valid.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: only this thread accesses it.
    unsafe {
        *errno = error;
    }
    -1
}

#[unsafe(no_mangle)]
extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    if is(&[World::Simulated, World::SimulatedClocks]) {
        return simulated_clock(clock, time);
    }
    if is(&[World::Library]) {
        type Function = extern "C" fn(clockid_t, *mut timespec) -> c_int;
        let address = ptr::with_exposed_provenance::<()>(
            usize::try_from(LIBRARY_CLOCK.get()).expect("an address"),
        );
        // SAFETY: `enter` stored the address of the C library's function, which has this type.
        let function = unsafe { mem::transmute::<*const (), Function>(address) };
        return function(clock, time);
    }
    // SAFETY: the caller gives a pointer that the kernel checks.
    let answer = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) };
    int(answer)
}

/// Makes a system call, like C libraries that don't use the vDSO.
#[unsafe(no_mangle)]
extern "C" fn clock_getres(clock: clockid_t, step: *mut timespec) -> c_int {
    // SAFETY: the caller gives a pointer that the kernel checks.
    let answer = unsafe { libc::syscall(libc::SYS_clock_getres, clock, step) };
    int(answer)
}

fn simulated_clock(clock: clockid_t, time: *mut timespec) -> c_int {
    const JIFFY_NS: u64 = 4_000_000;
    if UNREADABLE.get() >> clock & 1 == 1 {
        return fail(libc::EPERM);
    }
    let (line, step_ns) = match clock {
        libc::CLOCK_MONOTONIC => (&machine::MONOTONIC, 1),
        libc::CLOCK_REALTIME => (&machine::REALTIME, 1),
        libc::CLOCK_BOOTTIME => (&machine::BOOTTIME, 1),
        libc::CLOCK_MONOTONIC_RAW => (&machine::MONOTONIC_RAW, 1),
        libc::CLOCK_MONOTONIC_COARSE => (&machine::MONOTONIC, JIFFY_NS),
        libc::CLOCK_REALTIME_COARSE => (&machine::REALTIME, JIFFY_NS),
        _ => return fail(libc::EINVAL),
    };
    let ns = machine::read_os(line);
    let ns = i64::try_from(ns - ns % step_ns).expect("a time before 2262");
    let value = timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 };
    // SAFETY: the caller gives a pointer to one timespec.
    unsafe {
        time.write(value);
    }
    0
}

/// Reads the kernel's clock in ns, by a system call.
pub(crate) fn kernel_clock_ns(clock: clockid_t) -> u64 {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid for one timespec.
    let answer = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, &raw mut time) };
    assert_eq!(answer, 0, "the kernel lacks the clock");
    let part = |part: i64| u64::try_from(part).expect("a time after 1970");
    part(time.tv_sec) * 1_000_000_000 + part(time.tv_nsec)
}

#[unsafe(no_mangle)]
extern "C" fn prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int {
    PRCTLS.add(1);
    if option == libc::PR_GET_TSC && is(&[World::Simulated]) {
        let address = usize::try_from(a).expect("an address");
        let mode = ptr::with_exposed_provenance_mut::<c_int>(address);
        // SAFETY: the caller of PR_GET_TSC gives a pointer to one int.
        unsafe {
            mode.write(libc::PR_TSC_ENABLE);
        }
        return 0;
    }
    real_prctl(option, a, b, c, d)
}

pub(crate) fn real_prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int {
    // SAFETY: the caller gives arguments that the kernel checks.
    let answer = unsafe { libc::syscall(libc::SYS_prctl, option, a, b, c, d) };
    int(answer)
}

#[unsafe(no_mangle)]
extern "C" fn open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    openat(libc::AT_FDCWD, path, flags, mode)
}

#[unsafe(no_mangle)]
extern "C" fn open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    openat(libc::AT_FDCWD, path, flags, mode)
}

#[unsafe(no_mangle)]
extern "C" fn openat64(folder: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    openat(folder, path, flags, mode)
}

#[unsafe(no_mangle)]
extern "C" fn openat(folder: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    OPENS.add(1);
    if is(&[World::Simulated]) {
        // SAFETY: the caller gives a path that ends with a NUL byte.
        let name = unsafe { CStr::from_ptr(path) };
        return simulated_file(name);
    }
    // SAFETY: the caller gives a path that the kernel checks.
    let answer = unsafe { libc::syscall(libc::SYS_openat, folder, path, flags, mode) };
    int(answer)
}

/// Opens one of the simulated machine's two files.
fn simulated_file(name: &CStr) -> c_int {
    let content = match machine::clocksource() {
        Some(current) if name == CURRENT => current,
        Some(_) if name == AVAILABLE => "tsc hpet acpi_pm \n",
        _ => return fail(libc::ENOENT),
    };
    // SAFETY: the name ends with a NUL byte.
    let file = unsafe { libc::memfd_create(c"clocksource".as_ptr(), libc::MFD_CLOEXEC) };
    let length: size_t = content.len();
    // SAFETY: the pointer and the length are a valid slice's.
    let written = unsafe { libc::pwrite(file, content.as_ptr().cast(), length, 0) };
    if usize::try_from(written) == Ok(length) { file } else { fail(libc::EIO) }
}

/// Converts the answer of a system call that returns an int.
fn int(answer: c_long) -> c_int {
    c_int::try_from(answer).unwrap_or(-1)
}
