//! Tests that read the log. Each has a pipeline of its own, so they run at the same time.
//!
//! ```text
//! cargo test --example captured
//! ```

use tracing::{info, instrument, warn};

/// The code under test.
#[instrument]
fn charge(user: u64, cents: u64) -> bool {
    if cents > 100_000 {
        warn!(cents, "refused");
        return false;
    }
    info!("charged");
    true
}

fn main() {
    _ = tach_pipeline::init();
    charge(7, 100);
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::io;
    use std::sync::{Arc, Mutex};

    use tach_core::{ManualClock, UnixTime};
    use tach_log::Line;
    use tach_pipeline::{Pipeline, Sink};

    use super::charge;

    /// A writer in memory. Clones share the bytes.
    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns the lines that `work` logs.
    fn lines(work: impl FnOnce()) -> String {
        static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);

        let memory = Memory::default();
        let sink = Sink::writer("memory", memory.clone()).format(Line::tracing());
        let guard = Pipeline::builder().sink(sink).with_clock(&CLOCK).build().unwrap();
        tracing::subscriber::with_default(guard.pipeline().subscriber(), work);
        guard.pipeline().flush(Duration::from_secs(5)).unwrap();
        let bytes = memory.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_charge_is_logged_with_its_user() {
        let lines = lines(|| assert!(charge(7, 100)));
        let time = "1970-01-01T00:00:00.000000Z";
        assert_eq!(lines, format!("{time}  INFO charge{{user=7 cents=100}}: captured: charged\n"));
    }

    #[test]
    fn a_refusal_is_a_warning() {
        let lines = lines(|| assert!(!charge(7, 100_001)));
        assert!(
            lines.contains(" WARN charge{user=7 cents=100001}: captured: refused cents=100001")
        );
    }
}
