//! The user's requests by environment variables.

use super::{Order, Source};
use crate::os;

/// An environment variable and the meanings of its values.
#[derive(Debug)]
pub(crate) struct Variable<T: 'static> {
    name: &'static str,
    values: &'static [(&'static str, T)],
    /// The message for any other value.
    complaint: &'static str,
}

/// The source of all ticks.
pub(crate) const SOURCE: Variable<Source> = Variable {
    name: "TACH_SOURCE",
    values: &[("os", Source::Os), ("counter", Source::Counter)],
    complaint: "TACH_SOURCE is ignored: it must be \"os\" or \"counter\"",
};

/// The way strict order is kept.
pub(crate) const ORDER: Variable<Order> = Variable {
    name: "TACH_ORDER",
    values: &[("enforced", Order::Enforced)],
    complaint: "TACH_ORDER is ignored: it must be \"enforced\"",
};

/// The request of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked<T> {
    Nothing,
    For(T),
    /// The variable has an unknown value.
    Nonsense,
}

impl<T: Copy> Variable<T> {
    pub(super) fn read(&self) -> Asked<T> {
        let mut asked = Asked::Nothing;
        os::with_variable(self.name, &mut |value| asked = self.parse(value));
        asked
    }

    pub(super) fn parse(&self, value: Option<&str>) -> Asked<T> {
        let Some(value) = value else { return Asked::Nothing };
        let known = self.values.iter().find(|(name, _)| *name == value);
        known.map_or(Asked::Nonsense, |&(_, asked)| Asked::For(asked))
    }
}

impl<T> Variable<T> {
    pub(crate) const fn complaint(&self) -> &'static str {
        self.complaint
    }
}

impl<T> Asked<T> {
    pub(super) fn get(self) -> Option<T> {
        match self {
            Self::For(asked) => Some(asked),
            Self::Nothing | Self::Nonsense => None,
        }
    }

    pub(super) const fn is_nonsense(&self) -> bool {
        matches!(self, Self::Nonsense)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_these_words_are_requests() {
        assert_eq!(SOURCE.parse(None), Asked::Nothing);
        assert_eq!(SOURCE.parse(Some("os")), Asked::For(Source::Os));
        assert_eq!(SOURCE.parse(Some("counter")), Asked::For(Source::Counter));
        assert_eq!(ORDER.parse(Some("enforced")), Asked::For(Order::Enforced));
        for word in ["", "OS", "tsc", "counter ", "ordered"] {
            assert_eq!(SOURCE.parse(Some(word)), Asked::Nonsense, "{word:?}");
            assert_eq!(ORDER.parse(Some(word)), Asked::Nonsense, "{word:?}");
        }
    }

    #[test]
    fn the_complaint_names_the_variable_and_each_value() {
        fn check<T>(variable: &Variable<T>) {
            let names = variable.values.iter().map(|(name, _)| format!("\"{name}\""));
            for word in names.chain([variable.name.to_owned()]) {
                assert!(variable.complaint().contains(&word), "{word}");
            }
        }
        check(&SOURCE);
        check(&ORDER);
    }
}
