//! SIGBUS: the kernel sends it at an access to a page of a mapped file that is no longer there,
//! because somebody has cut the file, or because the disk fails.
//!
//! The handler maps an anonymous page in its place, so that the log call continues. The back end
//! notices it and begins another file. A signal for any other address is passed on to the previous
//! handler.
#![expect(unsafe_code, reason = "maps a page in a signal handler")]

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::io;
use std::sync::OnceLock;

use libc::{MAP_ANONYMOUS, MAP_FIXED, MAP_PRIVATE, PROT_READ, PROT_WRITE, SIGBUS, siginfo_t};

use tach_record::host::signals::{self, Action};

/// How many files a process may have mapped.
const MOST: usize = 64;
/// The start of a range that is reserved, but not set yet. No page has this address.
const RESERVED: usize = 1;

static RANGES: [Range; MOST] = [const { Range::new() }; MOST];
/// The action before our handler was installed.
static BEFORE: OnceLock<Action> = OnceLock::new();
static INSTALLED: OnceLock<Result<(), io::ErrorKind>> = OnceLock::new();
static PAGE: AtomicUsize = AtomicUsize::new(0);

/// A range of addresses. Free if it begins at zero.
struct Range {
    start: AtomicUsize,
    length: AtomicUsize,
    is_broken: AtomicBool,
}

/// Mapped memory in which an access beyond the file's end does not end the process.
pub(super) struct Guarded(&'static Range);

impl Range {
    const fn new() -> Self {
        Self {
            start: AtomicUsize::new(0),
            length: AtomicUsize::new(0),
            is_broken: AtomicBool::new(false),
        }
    }

    fn contains(&self, address: usize) -> bool {
        // ORDERING: Acquire, with the Release of `Guarded::new`: no older length is loaded below.
        let start = self.start.load(Ordering::Acquire);
        // ORDERING: Acquire, with the Release of `Guarded::new`: if the length belongs to a later
        // range, the next load sees another start.
        let length = self.length.load(Ordering::Acquire);
        let is_same = self.start.load(Ordering::Relaxed) == start && start > RESERVED;
        is_same && address.checked_sub(start).is_some_and(|at| at < length)
    }
}

impl Guarded {
    /// Guards memory until the value is dropped.
    ///
    /// # Errors
    ///
    /// If too much is guarded, or the signal can't have a handler.
    pub(super) fn new(start: usize, length: usize) -> io::Result<Self> {
        let install = || {
            // SAFETY: the call takes and returns no pointer.
            let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
            // ORDERING: Relaxed: the handler is installed afterwards.
            PAGE.store(usize::try_from(page).unwrap_or(4096), Ordering::Relaxed);
            // Save the previous action first: `on_fault` needs it at once if the program faults.
            let before = Action::of(SIGBUS)?;
            let _once = BEFORE.set(before);
            signals::install(SIGBUS, on_fault)
        };
        (*INSTALLED.get_or_init(|| install().map_err(|error| error.kind())))?;
        let reserve = |range: &&Range| {
            // ORDERING: Relaxed: no thread uses a range that is only reserved.
            let (from, to) = (0, RESERVED);
            range.start.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        let range = RANGES.iter().find(reserve);
        let range = range.ok_or_else(|| io::Error::other("64 files are mapped already"))?;
        range.is_broken.store(false, Ordering::Relaxed);
        // ORDERING: Release, with the Acquires of `contains`: a thread that sees the length also
        // sees that the range was reserved, and a thread that sees the start also sees the length.
        range.length.store(length, Ordering::Release);
        range.start.store(start, Ordering::Release);
        Ok(Self(range))
    }

    pub(super) fn is_broken(&self) -> bool {
        // ORDERING: Relaxed: nothing else depends on it.
        self.0.is_broken.load(Ordering::Relaxed)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // ORDERING: Relaxed: nobody accesses the memory any more.
        self.0.start.store(0, Ordering::Relaxed);
    }
}

extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the information with `SA_SIGINFO`.
    let info_of = unsafe { &*info };
    let is_fault = info_of.si_code > 0;
    // SAFETY: the field is plain bytes. If no fault raised the signal, the bytes are no address,
    // and `is_fault` keeps them from being used.
    let address = unsafe { info_of.si_addr() }.addr();
    let range = RANGES.iter().find(|range| is_fault && range.contains(address));
    if range.is_some_and(|range| replace(range, address)) {
        return;
    }
    // An action that ignores the signal does not apply to a fault, at which the kernel ends the
    // process. So ignore the signal only if no fault raised it.
    let is_over =
        |before: &Action| before.call(signal, info, context) || !is_fault && before.is_ignored();
    if BEFORE.get().is_some_and(is_over) {
        return;
    }
    // Return with the default action set: the CPU repeats the access, which then ends the process.
    // SAFETY: the action needs no handler.
    unsafe { libc::signal(SIGBUS, libc::SIG_DFL) };
    if !is_fault {
        // The signal is blocked here, and comes when this function returns.
        // SAFETY: the call takes and returns no pointer.
        unsafe { libc::raise(SIGBUS) };
    }
}

/// Puts an anonymous page in the place of a page. Returns whether that worked.
fn replace(range: &Range, address: usize) -> bool {
    // ORDERING: Relaxed: nothing else depends on it.
    range.is_broken.store(true, Ordering::Relaxed);
    let page = PAGE.load(Ordering::Relaxed);
    let start = core::ptr::without_provenance_mut(address / page * page);
    let (access, flags) = (PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS);
    // SAFETY: the page belongs to the mapping of `range`, and its contents are lost already.
    let mapped = unsafe { libc::mmap(start, page, access, flags, -1, 0) };
    mapped != libc::MAP_FAILED
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::{env, process::Command};

    use super::*;

    const CHILD: &str = "TACH_SIGBUS_BEFORE";

    /// Another process may send SIGBUS, without a fault.
    #[test]
    fn a_signal_without_a_fault_does_what_it_did_before() {
        if let Ok(before) = env::var(CHILD) {
            let before = before.parse().unwrap();
            // SAFETY: the action needs no handler.
            unsafe { libc::signal(SIGBUS, before) };
            let _guarded = Guarded::new(1 << 20, 1).unwrap();
            // SAFETY: the call takes and returns no pointer.
            unsafe { libc::raise(SIGBUS) };
            assert!(Action::of(SIGBUS).unwrap().is(on_fault));
            return;
        }
        for (before, ended_by) in [(libc::SIG_DFL, Some(SIGBUS)), (libc::SIG_IGN, None)] {
            let mut child = Command::new(env::current_exe().unwrap());
            child.arg("a_signal_without_a_fault").env(CHILD, before.to_string());
            let status = child.output().unwrap().status;
            assert_eq!((status.signal(), status.success()), (ended_by, ended_by.is_none()));
        }
    }
}
