//! Conditions of `cfg`.

use core::fmt;
use std::collections::BTreeSet;

use crate::limits::tokens::{Kind, Token, each_level};

/// What only tests and their tools set.
const TESTS: [&str; 4] = ["test", "loom", "fuzzing", "doctest"];

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    /// For instance `unix`, or `feature = "std"`.
    Is(String),
}

impl Condition {
    /// What always holds.
    pub(crate) fn always() -> Self {
        Self::All(Vec::new())
    }

    /// Reads the first argument of a `cfg` or a `cfg_attr`.
    pub(crate) fn read(tokens: &[Token]) -> Self {
        let end = tokens.iter().position(|token| token.is_mark(','));
        let tokens = &tokens[..end.unwrap_or(tokens.len())];
        if let [Token { kind: Kind::Word(name), .. }, arguments] = tokens {
            let arguments = arguments.inner().unwrap_or_default();
            let arguments = arguments.split(|token| token.is_mark(','));
            let mut conditions: Vec<_> =
                arguments.filter(|tokens| !tokens.is_empty()).map(Self::read).collect();
            conditions.sort();
            match name.as_str() {
                "all" => return Self::All(conditions),
                "any" => return Self::Any(conditions),
                "not" if conditions.len() == 1 => {
                    return Self::Not(Box::new(conditions.remove(0)));
                }
                _ => {}
            }
        }
        let texts = tokens.iter().map(|token| match &token.kind {
            Kind::Word(text) | Kind::Literal(text) => text.clone(),
            Kind::Mark(mark) => format!(" {mark} "),
            _ => String::new(),
        });
        Self::Is(texts.collect())
    }

    /// Returns the condition that both hold.
    pub(crate) fn and(&self, other: Self) -> Self {
        Self::All(vec![self.clone(), other])
    }

    /// Returns whether a build without tests can fulfil the condition.
    pub(crate) fn holds_without_tests(&self) -> bool {
        self.can_hold(&|name| !TESTS.contains(&name))
    }

    /// Returns whether no build fulfils both conditions.
    pub(crate) fn excludes(&self, other: &Self) -> bool {
        !self.and(other.clone()).can_hold(&|_| true)
    }

    /// Returns whether some choice fulfils the condition, of which only these names can be true.
    fn can_hold(&self, can_be: &impl Fn(&str) -> bool) -> bool {
        let mut names = BTreeSet::new();
        self.names(&mut names);
        let free: Vec<&str> = names.into_iter().filter(|name| can_be(name)).collect();
        // Assume that a longer condition holds: none has more than a dozen names.
        free.len() > 12
            || (0_u32..1 << free.len()).any(|choice| {
                self.holds(&|name| {
                    free.iter().position(|one| *one == name).is_some_and(|at| choice >> at & 1 == 1)
                })
            })
    }

    fn holds(&self, is_true: &impl Fn(&str) -> bool) -> bool {
        match self {
            Self::All(conditions) => conditions.iter().all(|one| one.holds(is_true)),
            Self::Any(conditions) => conditions.iter().any(|one| one.holds(is_true)),
            Self::Not(condition) => !condition.holds(is_true),
            Self::Is(name) => is_true(name),
        }
    }

    fn names<'a>(&'a self, names: &mut BTreeSet<&'a str>) {
        match self {
            Self::All(conditions) | Self::Any(conditions) => {
                for condition in conditions {
                    condition.names(names);
                }
            }
            Self::Not(condition) => condition.names(names),
            Self::Is(name) => _ = names.insert(name),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, conditions) = match self {
            Self::All(conditions) => ("all", conditions),
            Self::Any(conditions) => ("any", conditions),
            Self::Not(condition) => return write!(f, "not({condition})"),
            Self::Is(name) => return f.write_str(name),
        };
        let texts: Vec<_> = conditions.iter().map(ToString::to_string).collect();
        write!(f, "{name}({})", texts.join(", "))
    }
}

/// Returns the condition of each `cfg`, `cfg!` and `cfg_attr`, and `None` for each `cfg_if!`.
pub(crate) fn conditions(tokens: &[Token]) -> Vec<(Option<Condition>, usize)> {
    let mut found = Vec::new();
    each_level(tokens, &mut |tokens| {
        for (at, token) in tokens.iter().enumerate() {
            let is_macro = tokens.get(at + 1).is_some_and(|next| next.is_mark('!'));
            let arguments = tokens.get(at + if is_macro { 2 } else { 1 });
            let condition = match (token.word(), arguments.and_then(Token::inner)) {
                (Some("cfg" | "cfg_attr"), Some(inner)) => Some(Condition::read(inner)),
                (Some("cfg_if"), Some(_)) if is_macro => None,
                _ => continue,
            };
            found.push((condition, token.first_line));
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::tokens::read;

    fn condition(text: &str) -> Condition {
        Condition::read(&read(text).unwrap().tokens)
    }

    #[test]
    fn the_order_and_the_spaces_of_a_condition_make_no_difference() {
        let one = condition("all(unix, feature = \"a\", not(any(b, c)))");
        assert_eq!(one, condition("all(not( any(c, b,) ),feature=\"a\",\n unix)"));
        assert_ne!(one, condition("all(unix, feature = \"b\", not(any(b, c)))"));
    }

    #[test]
    fn a_condition_excludes_its_negation_however_that_is_written() {
        let excludes = |a, b| condition(a).excludes(&condition(b));
        assert!(excludes("a", "not(a)"));
        assert!(excludes("any(a, b)", "all(not(b), not(a))"));
        assert!(excludes("all(a, b)", "all(c, not(b))"));
        assert!(!excludes("a", "b"));
        assert!(!excludes("a", "not(all(a, b))"));
    }

    #[test]
    fn each_kind_of_condition_is_found() {
        let text = "#[cfg(a)] mod a; #[cfg_attr(b, c)] fn d() { if cfg!(e) {} }
            cfg_if! { if #[cfg(f)] { mod f; } }";
        let found = conditions(&read(text).unwrap().tokens);
        let is = |name: &str| Some(Condition::Is(name.to_owned()));
        let found: BTreeSet<_> = found.into_iter().map(|(condition, _)| condition).collect();
        assert_eq!(found, BTreeSet::from([None, is("a"), is("b"), is("e"), is("f")]));
    }
}
