//! Tests that read what they log, and that run at the same time.
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
    use tach_pipeline::testing::capture;

    use super::charge;

    #[test]
    fn a_charge_is_logged_with_its_user() {
        let captured = capture(|| assert!(charge(7, 100)));
        assert_eq!(captured.to_string(), " INFO charge{user=7 cents=100}: captured: charged\n");
    }

    #[test]
    fn a_refusal_is_a_warning() {
        let captured = capture(|| assert!(!charge(7, 100_001)));
        let [refused] = captured.records() else { panic!("{captured}") };
        assert_eq!((refused.level(), refused.message()), ("WARN", "refused"));
        assert_eq!(refused.field("user"), Some("7"));
    }
}
