//! Properties that the compiler derives, and that a change of a private field could take away.

use core::panic::{RefUnwindSafe, UnwindSafe};

use tach_otlp::{
    Compression, Error, Exporter, Metadata, Otlp, Protocol, Rejection, Signal, Temporality, encode,
};
use test_support::assert_implements;

assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + Copy]
    encode::LogRecords, encode::protobuf::Field<'static>, Compression, Metadata, Protocol, Signal, Temporality,
);
assert_implements!([Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + Clone] Error, Otlp);
assert_implements!([Send + Sync + Unpin] Rejection);
assert_implements!([Send + Unpin] Exporter);
