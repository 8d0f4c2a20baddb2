//! The program of `tach-pipeline/docs/tasks/library.md`.

/// Charges a user.
#[tracing::instrument]
pub fn charge(user: u64, cents: u64) -> bool {
    if cents > 100_000 {
        tracing::warn!(cents, "refused");
        return false;
    }
    log::info!("charged");
    true
}

#[cfg(test)]
mod tests {
    use tach_pipeline::testing::capture;

    use super::charge;

    #[test]
    fn a_refusal_is_a_warning() {
        let captured = capture(|| assert!(!charge(7, 100_001)));
        let [refused] = captured.records() else { panic!("{captured}") };
        assert_eq!((refused.level(), refused.message()), ("WARN", "refused"));
        assert_eq!(refused.field("user"), Some("7"));
    }

    #[test]
    fn a_charge_is_logged_with_its_user() {
        let captured = capture(|| assert!(charge(7, 100)));
        assert!(captured.to_string().starts_with(" INFO charge{user=7 cents=100}: "));
    }
}
