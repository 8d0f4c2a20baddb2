//! The faults of a configuration. One error names all of them.

use core::mem;

use crate::error::Error;

/// The faults that were found so far.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<Error>);

impl Faults {
    /// Adds a fault unless `is_right`: the call that is wrong, and what would be right.
    pub(crate) fn unless(&mut self, is_right: bool, call: impl FnOnce() -> String, wanted: &str) {
        if !is_right {
            self.add(Error::setting(call(), wanted));
        }
    }

    pub(crate) fn add(&mut self, fault: Error) {
        self.0.push(fault);
    }

    /// Adds the faults of another crate's options.
    pub(crate) fn add_all(&mut self, faults: Vec<(String, &'static str)>) {
        self.0.extend(faults.into_iter().map(|(call, wanted)| Error::setting(call, wanted)));
    }

    /// Adds to all faults the key of a configuration file that led to them.
    pub(crate) fn at(&mut self, place: &str) {
        self.0 = mem::take(&mut self.0).into_iter().map(|fault| fault.at(place)).collect();
    }

    /// Moves the other faults to these.
    pub(crate) fn append(&mut self, others: &mut Self) {
        self.0.append(&mut others.0);
    }

    /// Returns the value, or adds the fault.
    pub(crate) fn take<T>(&mut self, result: Result<T, Error>) -> Option<T> {
        result.map_err(|fault| self.add(fault)).ok()
    }

    /// # Errors
    ///
    /// If there is a fault.
    pub(crate) fn into_result(self) -> Result<(), Error> {
        Error::all(self.0).map_or(Ok(()), Err)
    }
}
