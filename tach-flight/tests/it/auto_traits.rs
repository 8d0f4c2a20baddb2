//! Properties that the compiler derives, and that a change of a private field could take away.

use core::panic::{RefUnwindSafe, UnwindSafe};

use tach_flight::{files, options, recorder, requests, snapshot, writing};
use test_support::assert_implements;

// The program's owner is another thread's too.
assert_implements!([Send] recorder::Recorder<()>);

assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + RefUnwindSafe]
    tach_flight::FlightFormat, tach_flight::FlightRecorder, options::FlightRecorder,
    files::Cause, files::Files, requests::NoAnswer, requests::Requests, recorder::Flight,
    snapshot::Snapshot, writing::Begun, writing::Writing,
);

assert_implements!(
    [Send + Sync + Unpin]
    options::NoFiles,
);
