//! quanta's tests, against tach-core's `Instant`, `ManualClock`, `AtomicInstant` and `coarse`.

use super::source::Source;
use super::taken::File;
use super::{Difference, Expected, Form, Peer};

pub(super) const PEER: Peer = Peer {
    name: "quanta",
    source: Source::Registry("quanta"),
    form: Form::Names,
    taken: &[
        File::tests_of(
            "src/lib.rs",
            "lib.rs",
            &[
                // An instant of quanta contains nanoseconds, an instant of tach a tick. If the
                // thread is interrupted between the two reads, `beside` repeats them: the test
                // limits their distance, which a busy machine would exceed.
                (
                    "src_samples[i] = clock.now().0;\n                \
                     ref_samples[i] = reference.now();",
                    "(src_samples[i], ref_samples[i]) = clock.beside(&reference);",
                ),
            ],
        ),
        File::tests_of("src/instant.rs", "instant.rs", &[]),
        File::tests_of("src/upkeep.rs", "upkeep.rs", &[]),
    ],
    left_out: &[("src/stats.rs", "the variance in quanta's calibration, which tach does not have")],
    filters: &[],
    alone: &[],
    expected: Expected {
        passed: 10,
        differences: &[Difference {
            test: "upkeep::tests::test_spawning_second_upkeep",
            message: "second upkeep should be error, got handle",
            reason: "several refreshers may run, such as one in each library",
        }],
    },
};
