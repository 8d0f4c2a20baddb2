//! std's tests of `Instant`, against tach-core's three instants.
//!
//! No clock crate of the registry has these tests: web-time has no tests, and fastant, minstant and
//! coarsetime have their own. Debian's package of the compiler's source has them.
//! Debian 12 keeps version 1.85. In 1.96, the tests of `Instant` are the same.

use super::source::Source;
use super::taken::File;
use super::{Expected, Form, Peer};

const OF_UNIX_TIME: &str = "of SystemTime, whose counterpart is no instant";

pub(super) const PEER: Peer = Peer {
    name: "std",
    source: Source::Debian {
        package: "rust-web-src",
        version: "1.85.0",
        folder: "usr/src/rustc-1.85.0/library/std/src/time",
    },
    form: Form::Names,
    taken: &[File {
        from: "tests.rs",
        begin: None,
        // Leave out the benchmarks, which need an unstable feature.
        end: Some("macro_rules! bench_instant_threaded"),
        to: "tests.rs",
        substitutions: &[
            // The benchmarks' imports.
            ("#[cfg(not(target_arch = \"wasm32\"))]\nuse test::{Bencher, black_box};\n", ""),
            // The constant is unstable.
            ("Duration::SECOND", "Duration::from_secs(1)"),
            ("crate::thread::", "std::thread::"),
        ],
        left_out: &[
            ("system_time_math", OF_UNIX_TIME),
            ("system_time_elapsed", OF_UNIX_TIME),
            ("since_epoch", OF_UNIX_TIME),
        ],
    }],
    left_out: &[],
    filters: &[],
    alone: &[],
    expected: Expected { passed: 27, differences: &[] },
};
