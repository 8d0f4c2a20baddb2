//! Decides when a trouble that lasts is reported.

use core::time::Duration;
use std::time::Instant;

/// The pause after the first report of a trouble. It doubles with each report.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A trouble that was not seen for so long begins anew, with the first pause.
const FORGOTTEN: Duration = Duration::from_secs(2 * 60);

/// One kind of trouble of one sink.
///
/// The pause survives the end of the trouble. Otherwise a sink that fails and works by turns would
/// be reported with each turn.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    /// Whether the trouble was reported, and its end was not.
    is_told: bool,
    /// When the trouble was last reported, and the pause that begins there.
    reported: Option<(Instant, Duration)>,
}

impl State {
    /// Returns whether the trouble, which is seen at `now`, is to be reported now.
    pub(super) fn lasts(&mut self, now: Instant) -> bool {
        let pause = match self.reported {
            None => FIRST_PAUSE,
            Some((last, pause)) => {
                let since = now.saturating_duration_since(last);
                if since < pause {
                    return false;
                }
                if since >= FORGOTTEN { FIRST_PAUSE } else { (2 * pause).min(LONGEST_PAUSE) }
            }
        };
        self.reported = Some((now, pause));
        self.is_told = true;
        true
    }

    /// Ends the trouble. Returns whether the end is to be reported.
    pub(super) fn ends(&mut self) -> bool {
        core::mem::take(&mut self.is_told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trouble_that_lasts_is_reported_after_pauses_that_grow() {
        let (start, mut state) = (Instant::now(), State::default());
        let millis = (0..300_000).step_by(10);
        let told: Vec<_> =
            millis.filter(|&at| state.lasts(start + Duration::from_millis(at))).collect();
        let seconds = [0, 1, 3, 7, 15, 31, 63, 123, 183, 243];
        assert_eq!(told, seconds.map(|at| at * 1_000));
        assert!(state.ends());
        assert!(!state.ends());
    }

    #[test]
    fn a_trouble_that_comes_and_goes_is_reported_no_more_often() {
        let (start, mut state) = (Instant::now(), State::default());
        let (mut begins, mut ends) = (0, 0);
        for at in 0..10_000 {
            begins += u32::from(state.lasts(start + Duration::from_millis(at)));
            ends += u32::from(state.ends());
        }
        assert_eq!((begins, ends), (4, 4));
        assert!(state.lasts(start + Duration::from_secs(1_000)));
        assert!(state.lasts(start + Duration::from_secs(1_001)), "it began anew");
    }
}
