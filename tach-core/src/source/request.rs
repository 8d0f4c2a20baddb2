//! The user's requests by environment variables.

use super::{Order, Source};
use crate::os;

/// An environment variable and the meanings of its values.
#[derive(Debug)]
pub(crate) struct Variable<T: 'static> {
    name: &'static str,
    values: &'static [(&'static str, T)],
    /// The message for any other value.
    pub(crate) complaint: &'static str,
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

/// A variable has an unknown value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Nonsense;

impl<T: Copy> Variable<T> {
    /// Returns the request in the environment; `None` if the variable is not set.
    pub(super) fn read(&self) -> Result<Option<T>, Nonsense> {
        let mut asked = Ok(None);
        os::with_variable(self.name, &mut |value| asked = self.parse(value));
        asked
    }

    fn parse(&self, value: Option<&str>) -> Result<Option<T>, Nonsense> {
        let Some(value) = value else { return Ok(None) };
        let known = self.values.iter().find(|(name, _)| *name == value);
        known.map(|&(_, asked)| Some(asked)).ok_or(Nonsense)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_these_words_are_requests() {
        assert_eq!(SOURCE.parse(None), Ok(None));
        assert_eq!(SOURCE.parse(Some("os")), Ok(Some(Source::Os)));
        assert_eq!(SOURCE.parse(Some("counter")), Ok(Some(Source::Counter)));
        assert_eq!(ORDER.parse(Some("enforced")), Ok(Some(Order::Enforced)));
        for word in ["", "OS", "tsc", "counter ", "ordered"] {
            assert_eq!(SOURCE.parse(Some(word)), Err(Nonsense), "{word:?}");
            assert_eq!(ORDER.parse(Some(word)), Err(Nonsense), "{word:?}");
        }
    }

    #[test]
    fn the_complaint_names_the_variable_and_each_value() {
        fn check<T>(variable: &Variable<T>) {
            let names = variable.values.iter().map(|(name, _)| format!("\"{name}\""));
            for word in names.chain([variable.name.to_owned()]) {
                assert!(variable.complaint.contains(&word), "{word}");
            }
        }
        check(&SOURCE);
        check(&ORDER);
    }
}
