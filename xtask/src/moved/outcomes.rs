//! The outcomes of tests in the output of `cargo test`.

use std::collections::BTreeMap;

/// Returns the outcome of each test by its name, such as `ok`.
pub(super) fn outcomes(printed: &str) -> BTreeMap<String, String> {
    let tests = printed.lines().filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "));
    tests.map(|(name, outcome)| (name.to_owned(), outcome.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::outcomes;

    #[test]
    fn each_test_has_an_outcome() {
        let printed =
            "running 2 tests\ntest a::b ... ok\ntest c ... FAILED\ntest result: FAILED. 1";
        let expected = [("a::b", "ok"), ("c", "FAILED")];
        let expected = expected.map(|(name, outcome)| (name.to_owned(), outcome.to_owned()));
        assert_eq!(outcomes(printed), expected.into());
    }
}
