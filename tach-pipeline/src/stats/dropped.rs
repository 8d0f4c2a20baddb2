//! How many records were dropped, and when.

use tach_core::UnixTime;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub(crate) count: u64,
    /// When the first and the last of them happened.
    pub(crate) from: UnixTime,
    pub(crate) to: UnixTime,
}

impl Dropped {
    /// Counts one more record, which happened at `time`.
    pub(crate) fn add(all: &mut Option<Self>, time: UnixTime) {
        Self { count: 1, from: time, to: time }.add_to(all);
    }

    /// Counts these records in `all` too.
    pub(crate) fn add_to(self, all: &mut Option<Self>) {
        let Self { count, from, to } = self;
        *all = Some(match *all {
            None => self,
            Some(all) => {
                Self { count: all.count + count, from: all.from.min(from), to: all.to.max(to) }
            }
        });
    }
}
