//! The content of a sink in builds without sinks of spans: always events.
#![expect(
    clippy::unused_self,
    clippy::unnecessary_wraps,
    reason = "the calls are those of the room in whose place it is"
)]

use super::any_format::{self, AnyFormat};
use crate::frame::Wanted;
use crate::stats::Items;

pub(super) struct Content(Box<dyn AnyFormat>);

impl Content {
    pub(super) fn events(format: Box<dyn AnyFormat>) -> Self {
        Self(format)
    }

    #[inline]
    pub(super) fn format(&self) -> Option<&dyn AnyFormat> {
        Some(&*self.0)
    }

    pub(super) fn items(&self) -> Items {
        Items::RECORDS
    }

    pub(super) fn add_to(&self, wanted: &mut Wanted) {
        wanted.add(&*self.0);
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        any_format::is_same(&*self.0, &*other.0)
    }
}
