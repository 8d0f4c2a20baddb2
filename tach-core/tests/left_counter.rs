//! The kernel leaves the counter while a process uses it. The process sees this because a different
//! file is mounted over the kernel's `current_clocksource`.
//!
//! The test runs in a child with a mount namespace of its own. If the system grants none, the test
//! prints that it did not run; with `TACH_TESTS=all` in the environment it fails instead.

#[cfg(target_os = "linux")]
mod linux {
    use core::panic::AssertUnwindSafe;
    use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use core::time::Duration;
    use std::env;
    use std::fs;
    use std::panic;
    use std::process::Command;
    use std::thread;
    use std::time::{Instant as StdInstant, SystemTime};

    use tach_core::{
        Instant, MonotonicInstant, Order, Source, UnixTime, disruptions, status, sync,
    };
    use test_support::this_program;

    /// The allowed error against the system's clocks once tach no longer uses the counter.
    const OFF: Duration = Duration::from_millis(1);

    const CHILD: &str = "in-a-namespace";
    const CLOCKSOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

    pub(crate) fn main() {
        if env::args().any(|argument| argument == CHILD) {
            the_kernel_leaves_the_counter();
            return;
        }
        if let Some(obstacle) = obstacle() {
            assert!(env::var_os("TACH_TESTS").is_none(), "the test can't run here: {obstacle}");
            eprintln!("0 passed, 1 NOT RUN: {obstacle}");
            return;
        }
        let this_program = this_program();
        let mut child = unshare();
        child.arg(this_program.get_program()).args(this_program.get_args()).arg(CHILD);
        let status = child.status().expect("unshare was there");
        assert!(status.success(), "the child failed: {status}");
        eprintln!("1 passed, 0 failed");
    }

    fn unshare() -> Command {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount"]).env_remove("TACH_SOURCE");
        command
    }

    /// Returns the reason why the test can't run here.
    fn obstacle() -> Option<&'static str> {
        if status().source != Source::Counter {
            return Some("the counter is not used on this machine");
        }
        let granted = unshare().arg("true").status().is_ok_and(|status| status.success());
        (!granted).then_some("this system grants no mount namespace")
    }

    /// Makes the kernel appear to keep its time by the HPET.
    fn pretend_hpet() {
        let pretence = env::temp_dir().join(format!("tach-clocksource-{}", std::process::id()));
        fs::write(&pretence, "hpet\n").expect("a temporary file can be written");
        let mounted = Command::new("mount").arg("--bind").arg(&pretence).arg(CLOCKSOURCE).status();
        fs::remove_file(&pretence).expect("the file was there");
        assert!(mounted.is_ok_and(|status| status.success()), "the pretence can't be mounted");
    }

    fn the_kernel_leaves_the_counter() {
        let outer = StdInstant::now();
        let start = Instant::now();
        let inner = StdInstant::now();
        let start_unix = start.unix_time();
        sync();
        let before = disruptions();
        assert_eq!(status().source, Source::Counter);
        let inversions = while_others_read(|| {
            pretend_hpet();
            while status().reason.as_str() != "kernel-left-counter" {
                assert!(
                    inner.elapsed() < Duration::from_secs(60),
                    "tach did not notice that the kernel left the counter"
                );
                thread::sleep(Duration::from_millis(50));
                sync();
            }
            thread::sleep(Duration::from_millis(200));
        });
        assert_eq!(inversions, 0, "strict order was broken");
        let status = status();
        assert_eq!((status.source, status.order), (Source::Os, Order::Enforced), "{status}");
        assert_eq!(status.counter_failures, 1, "{status}");
        assert!(status.last_disruption.is_some_and(|time| time > start_unix), "{status}");
        assert!(disruptions() > before);
        // Instants read from the counter keep their meaning, and intervals span the change.
        assert_eq!(start.unix_time(), start_unix);
        // Each reading of tach lies between two readings of std, even if the thread is delayed.
        let (shortest, elapsed, longest) = (inner.elapsed(), start.elapsed(), outer.elapsed());
        assert!(elapsed + OFF >= shortest, "{elapsed:?} is shorter than std's {shortest:?}");
        assert!(elapsed <= longest + OFF, "{elapsed:?} is longer than std's {longest:?}");
        let system = || UnixTime::from_system_time(SystemTime::now());
        let (before, now, after) = (system(), UnixTime::now(), system());
        assert!(now.saturating_add(OFF) >= before, "{now} is before the system's {before}");
        assert!(now <= after.saturating_add(OFF), "{now} is after the system's {after}");
    }

    /// Runs `work` while two threads hand instants to each other. Returns how often a thread read
    /// an instant before the one handed to it.
    fn while_others_read(work: impl FnOnce()) -> u64 {
        let (last, done) = (AtomicU64::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            let read = || {
                let mut inversions = 0;
                while !done.load(Ordering::Relaxed) {
                    let handed = last.load(Ordering::Acquire);
                    let now = Instant::from(MonotonicInstant::now()).as_ticks();
                    inversions += u64::from(now < handed);
                    last.fetch_max(now, Ordering::Release);
                }
                inversions
            };
            let readers = [scope.spawn(read), scope.spawn(read)];
            // The readers end also if `work` fails.
            let worked = panic::catch_unwind(AssertUnwindSafe(work));
            done.store(true, Ordering::Relaxed);
            worked.unwrap_or_else(|failure| panic::resume_unwind(failure));
            readers.into_iter().map(|reader| reader.join().expect("a reader ends")).sum()
        })
    }
}

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("0 passed, 1 NOT RUN: only Linux publishes its clocksource");
}
