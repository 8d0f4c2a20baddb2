//! The variables of OpenTelemetry, as a caller sets them.
//!
//! `RUSTC_BOOTSTRAP=1 cargo fuzz run variables -- -max_total_time=600`, in `tach-otlp`. A test in
//! `tests/it/corpus.rs` reads the corpus in the same way.

#![no_main]

#[path = "../checks/variables.rs"]
mod variables;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    for name in variables::NAMES {
        // SAFETY: this process has no other thread that reads variables.
        unsafe { std::env::remove_var(name) };
    }
    for (name, value) in variables::variables(input) {
        // SAFETY: this process has no other thread that reads variables.
        unsafe { std::env::set_var(name, value) };
    }
    variables::check();
});
