//! Patterns of `Builder::redact`.
//!
//! `RUSTC_BOOTSTRAP=1 cargo fuzz run redact -- -max_total_time=600`, in `tach-pipeline`. A test in
//! `tests/it/corpus.rs` reads the corpus in the same way.

#![no_main]

#[path = "../checks/redact.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::check(input));
