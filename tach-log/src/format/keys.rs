//! Keys that each stand once in a line, also where a format changes some of them.

use core::cell::RefCell;
use std::collections::HashMap;

/// The key of the number of bytes that a record lacks.
pub const TRUNCATED: &str = "truncated_bytes";

/// A function that passes each key of an event or a span to another function, until that function
/// returns `true`.
pub type AnyKey<'a> = &'a dyn Fn(&dyn Fn(&str) -> bool) -> bool;

/// The names in a line, gathered when the first field can't stand under its own key. Most lines
/// gather none.
#[derive(Debug, Default)]
pub struct Names {
    /// Each name in use, with the last number that was tried behind it.
    taken: Option<HashMap<String, usize>>,
    /// How many lists of an error's sources were named.
    sources: usize,
}

impl Names {
    /// Returns `key`, or `key_`, `key_2`, `key_3` and so on: the first that is not in use.
    ///
    /// `reserved` and `unchanged` pass the names of the head and the keys of the fields that need
    /// no other name. Both are asked once in a line, so the time is linear in the fields.
    #[must_use]
    #[cold]
    pub fn free(&mut self, key: &str, reserved: AnyKey<'_>, unchanged: AnyKey<'_>) -> String {
        let taken = self.taken.get_or_insert_with(|| {
            let names = RefCell::new(HashMap::new());
            let gather = |name: &str| {
                names.borrow_mut().insert(name.to_owned(), 0);
                false
            };
            reserved(&gather);
            unchanged(&gather);
            names.into_inner()
        });
        let mut name = key.to_owned();
        let Some(mut number) = taken.get(key).copied() else {
            taken.insert(name.clone(), 0);
            return name;
        };
        while taken.contains_key(&name) {
            number += 1;
            name.truncate(key.len());
            name.push('_');
            if number > 1 {
                name.push_str(&number.to_string());
            }
        }
        taken.extend([(key.to_owned(), number), (name.clone(), 0)]);
        name
    }

    /// Returns the name of the list of the sources of the error with this key.
    #[must_use]
    #[cold]
    pub fn sources(&mut self, key: &str, reserved: AnyKey<'_>, unchanged: AnyKey<'_>) -> String {
        let name = format!("{key}_sources");
        self.sources += 1;
        let is_it = |other: &str| other == name;
        // A line rarely has several errors, and comparing the keys once is cheaper than a map.
        if self.sources == 1 && !reserved(&is_it) && !unchanged(&is_it) {
            return name;
        }
        self.free(&name, reserved, unchanged)
    }
}
