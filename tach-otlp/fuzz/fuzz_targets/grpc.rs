//! Answers of a collector over gRPC.
//!
//! `RUSTC_BOOTSTRAP=1 cargo fuzz run grpc -- -max_total_time=600`, in `tach-otlp`. A test in
//! `tests/it/corpus.rs` reads the corpus in the same way.

#![no_main]

#[path = "../checks/answers.rs"]
mod answers;

libfuzzer_sys::fuzz_target!(|input: &[u8]| answers::check_grpc(input));
