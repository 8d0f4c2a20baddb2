//! Keys that the program's own fields take from the encoders.

/// The keys of attributes that the encoders add, and that a field may have too.
const KEYS: [&str; 13] = [
    "code.file.path",
    "code.line.number",
    "code.module.name",
    "exception.message",
    "exception.stacktrace",
    "level",
    "span",
    "tach.incomplete",
    "tach.unfinished",
    "target",
    "thread.id",
    "thread.name",
    "truncated_bytes",
];

/// Which keys of the encoders' attributes a record's own fields have. OTLP requires that each key
/// occurs once, so the encoders leave these attributes out.
#[derive(Debug, Clone, Copy, Default)]
pub struct Taken(u32);

impl Taken {
    /// Returns the keys that fields have.
    #[must_use]
    pub fn by<'a>(fields: impl IntoIterator<Item = &'a str>) -> Self {
        let mut taken = Self::default();
        fields.into_iter().for_each(|key| taken.add(key));
        taken
    }

    /// Adds the key of a field.
    #[inline]
    pub fn add(&mut self, key: &str) {
        self.0 |= bit(key);
    }

    /// Returns whether a field has the key, which is the key of an encoder's attribute.
    #[inline]
    #[must_use]
    pub fn has(self, key: &str) -> bool {
        debug_assert_ne!(bit(key), 0, "{key} is missing in KEYS");
        // The first test is a shortcut: most records take no key.
        self.0 != 0 && self.0 & bit(key) != 0
    }
}

#[inline]
fn bit(key: &str) -> u32 {
    KEYS.iter().position(|known| *known == key).map_or(0, |at| 1 << at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_taken_by_its_field_alone() {
        for key in KEYS {
            let taken = Taken::by(["other", key]);
            let others = KEYS.iter().filter(|other| taken.has(other));
            assert_eq!(others.collect::<Vec<_>>(), [&key]);
        }
    }
}
