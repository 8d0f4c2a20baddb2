//! The CPU's counter: what a back end gives, and which one this target has.
//!
//! A back end is one file with exactly these items. It keeps no state, converts no units and never
//! calls the OS.
//!
//! - `fn features() -> Option<Features>`: what the CPU says of its counter; `None` without one.
//! - `fn ticks() -> u64`: the bare read. The CPU may execute it before earlier loads.
//! - `fn ticks_fenced() -> u64`: a read behind a fence that holds it after every earlier load.
//! - `fn ticks_self_ordered() -> u64`: an instruction that itself waits for every earlier load;
//!   only where `Features::self_ordered` says that it exists.

use cfg_if::cfg_if;

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod none;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod x86;

cfg_if! {
    if #[cfg(all(target_arch = "x86_64", target_os = "linux"))] {
        pub(crate) use x86::{features, ticks, ticks_fenced, ticks_self_ordered};
    } else {
        pub(crate) use none::{features, ticks, ticks_fenced, ticks_self_ordered};
    }
}

/// What the CPU says of its own counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Features {
    /// It runs at one rate, whatever the core's frequency or sleep state.
    pub(crate) invariant: bool,
    /// `ticks_self_ordered` may be executed.
    pub(crate) self_ordered: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `read` often enough for a counter to move and checks that it never goes back.
    fn rises(read: fn() -> u64) {
        let first = read();
        let mut last = first;
        for _ in 0..1000 {
            let next = read();
            assert!(next >= last, "{next} was read after {last}");
            last = next;
        }
        assert!(last > first, "the counter stands still at {first}");
    }

    #[test]
    fn every_read_that_features_names_rises_on_one_thread() {
        let Some(features) = features() else { return };
        rises(ticks);
        rises(ticks_fenced);
        if features.self_ordered {
            rises(ticks_self_ordered);
        }
    }

    #[test]
    fn all_reads_share_one_domain() {
        let Some(features) = features() else { return };
        let before = ticks_fenced();
        let ordered = if features.self_ordered { ticks_self_ordered() } else { ticks_fenced() };
        let after = ticks_fenced();
        assert!(before <= ordered && ordered <= after);
    }
}
