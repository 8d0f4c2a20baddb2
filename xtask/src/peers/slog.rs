//! slog's tests, whose records tach-pipeline's drain writes too.

use super::source::Source;
use super::taken::File;
use super::{Difference, Expected, Form, Peer};

/// What the tests of errors with sources have in common.
const CAUSE: Difference = Difference {
    test: "",
    message: "error: foo, not Collected",
    reason: "the error of the tests has `cause`, which is deprecated, and no `source`",
};

pub(super) const PEER: Peer = Peer {
    name: "slog",
    source: Source::Registry("slog"),
    form: Form::Names,
    taken: &[File::whole(
        "src/tests.rs",
        "tests.rs",
        &[
            // Send the records to slog's own drains and to tach's.
            ("CheckError,", "crate::Both(CheckError),"),
            ("Logger::root(CheckOwned,", "Logger::root(crate::Both(CheckOwned),"),
            ("Logger::root(CheckExample,", "Logger::root(crate::Both(CheckExample),"),
            // A private field.
            ("record.kv.serialize", "record.kv().serialize"),
        ],
    )],
    left_out: &[
        ("src/lib.rs", "levels and names, without a drain"),
        ("tests/", "what compiles with slog's own names"),
    ],
    filters: &[],
    alone: &[],
    expected: Expected {
        passed: 24,
        differences: &[
            Difference { test: "tests::std_only::error_fmt_single_source", ..CAUSE },
            Difference { test: "tests::std_only::error_fmt_two_sources", ..CAUSE },
            Difference { test: "tests::std_only::error_ref_fmt_single_source", ..CAUSE },
            Difference { test: "tests::std_only::error_ref_fmt_two_sources", ..CAUSE },
        ],
    },
};
