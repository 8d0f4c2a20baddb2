//! Which callsites declare a chosen attribute.

use core::sync::atomic::{AtomicU8, Ordering};

use crate::callsites;
use tach_record::frame::Code;

const UNKNOWN: u8 = 0;
const NO: u8 = 1;
const YES: u8 = 2;

/// What is known of each callsite, by its number. Empty if no attributes are chosen.
pub(super) struct Declaring(Box<[AtomicU8]>);

impl Declaring {
    pub(super) fn new(attributes: &[String]) -> Self {
        let most = if attributes.is_empty() { 0 } else { callsites::MOST };
        Self((0..most).map(|_| AtomicU8::new(UNKNOWN)).collect())
    }

    /// Returns whether spans of a callsite declare any of the attributes.
    #[inline]
    pub(super) fn has(&self, code: Code, attributes: &[String]) -> bool {
        // A number is less than `MOST`.
        let Some(known) = self.0.get(code.number() as usize) else { return false };
        // ORDERING: Relaxed: every thread finds the same answer, and it publishes nothing.
        match known.load(Ordering::Relaxed) {
            UNKNOWN => Self::learn(known, code, attributes),
            answer => answer == YES,
        }
    }

    #[cold]
    fn learn(known: &AtomicU8, code: Code, attributes: &[String]) -> bool {
        let is_chosen = |key: &str| attributes.iter().any(|chosen| chosen == key);
        let answer = callsites::callsite(code.number())
            .is_some_and(|it| it.fields().iter().any(|field| is_chosen(callsites::key(&field))));
        // ORDERING: Relaxed: see `has`.
        known.store(if answer { YES } else { NO }, Ordering::Relaxed);
        answer
    }
}
