//! Layouts of tach-log.
//!
//! `RUSTC_BOOTSTRAP=1 cargo fuzz run layout -- -max_total_time=600`, in `tach-pipeline`. A test in
//! `tests/it/corpus.rs` reads the corpus in the same way.

#![no_main]

#[path = "../checks/layout.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::check(input));
