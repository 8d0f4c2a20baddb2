//! Whether a package's test of auto traits names each public type.
//!
//! The names are read from the test's text. An assertion that no target compiles, behind a `cfg`,
//! would pass.

use super::Item;

/// Returns the public types among the items that a test does not name. A hidden module is no
/// promise to users.
pub(super) fn unnamed<'a>(items: &'a [Item], library: &str, test: &str) -> Vec<&'a str> {
    let types = items.iter().filter_map(|item| item.type_path(library));
    let is_public = |path: &&str| !path.starts_with("adapter::");
    types.filter(is_public).filter(|path| !is_named(test, library, path)).collect()
}

/// Returns whether an assertion in a test names the type by this path, with or without the crate's
/// name. Comments, bounds and arguments of types name nothing.
fn is_named(test: &str, library: &str, path: &str) -> bool {
    let code: Vec<_> = test.lines().filter_map(|line| line.split("//").next()).collect();
    let code = code.join("\n");
    let after = code.split("assert_implements!(").skip(1);
    let mut assertions = after.filter_map(|text| text.split_once(");")).map(|(inside, _)| inside);
    assertions.any(|inside| names(inside, library, path))
}

/// Returns whether a list of types names this one.
fn names(list: &str, library: &str, path: &str) -> bool {
    let mut depth = 0;
    let mut outside = |c: char| {
        depth += i32::from(matches!(c, '<' | '[')) - i32::from(matches!(c, '>' | ']'));
        if depth == 0 { c } else { ' ' }
    };
    let list: String = list.chars().map(&mut outside).collect();
    let is_of_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    list.split(|c| !is_of_path(c)).any(|found| {
        let inside = found.strip_prefix(library).and_then(|rest| rest.strip_prefix("::"));
        inside.unwrap_or(found) == path
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_type_is_named_by_its_path() {
        let is_named = |test, path| super::is_named(test, "tach_core", path);
        assert!(is_named("assert_implements!([Send] A, room::B);", "A"));
        assert!(is_named("assert_implements!([Send] A<()>, tach_core::B);", "B"));
        assert!(is_named("assert_implements!([Send] tach_core::room::B);", "room::B"));
        assert!(!is_named("assert_implements!([Send] room::B);", "B"));
        assert!(!is_named("assert_implements!([Send] AB, BA);", "A"));
        assert!(!is_named("assert_implements!([Send] B<A>, C<()>);", "A"));
        assert!(!is_named("assert_implements!([From<A>] B);", "A"));
        assert!(!is_named("assert_implements!([Send]\n    // A,\n    B,\n);", "A"));
        assert!(!is_named("// assert_implements!([Send] A);", "A"));
        assert!(!is_named("use A; assert_implements!([Send] B); A::f();", "A"));
    }
}
