//! Pauses between tries, which grow from failure to failure.

use core::hash::BuildHasher as _;
use core::time::Duration;
use std::hash::RandomState;
use std::time::Instant;

/// The pause after the first failure. Each further pause is one and a half times as long.
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(5);
/// The longest pause that a collector may ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(crate) struct Pauses {
    last: Option<Failure>,
}

#[derive(Debug, Clone, Copy)]
struct Failure {
    at: Instant,
    /// The pause without jitter.
    pause: Duration,
    /// The pause with jitter, or the pause for which the collector asked.
    kept: Duration,
}

impl Pauses {
    /// Returns how long the next try has to wait.
    pub(super) fn left(&self) -> Duration {
        self.last.map_or(Duration::ZERO, |last| last.kept.saturating_sub(last.at.elapsed()))
    }

    pub(super) fn end(&mut self) {
        self.last = None;
    }

    /// Begins a pause. If the collector asks for a pause of zero, takes the usual pause, since the
    /// collector is busy nevertheless.
    pub(super) fn failed(&mut self, asked: Option<Duration>) {
        let pause = self.last.map_or(FIRST, |last| (last.pause * 3 / 2).min(LONGEST));
        let asked = asked.filter(|asked| !asked.is_zero());
        let kept = asked.map_or_else(|| jittered(pause), |asked| asked.min(LONGEST_ASKED));
        self.last = Some(Failure { at: Instant::now(), pause, kept });
    }
}

/// Returns a random time from half of `pause` to one and a half of it, so that processes that
/// failed together don't come back together.
fn jittered(pause: Duration) -> Duration {
    let random = RandomState::new().hash_one(0_u8) % 1024;
    pause / 2 + pause * u32::try_from(random).unwrap_or(0) / 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit_and_end() {
        let mut pauses = Pauses::default();
        assert_eq!(pauses.left(), Duration::ZERO);
        let mut last = Duration::ZERO;
        for _ in 0..20 {
            pauses.failed(None);
            let failure = pauses.last.unwrap();
            assert!(failure.pause > last || failure.pause == LONGEST);
            let half = failure.pause / 2;
            assert!(failure.kept >= half && failure.kept <= failure.pause + half);
            assert!(pauses.left() <= failure.kept);
            last = failure.pause;
        }
        assert_eq!(last, LONGEST);
        pauses.failed(Some(Duration::from_secs(30)));
        assert_eq!(pauses.last.unwrap().kept, Duration::from_secs(30));
        pauses.failed(Some(Duration::MAX));
        assert_eq!(pauses.last.unwrap().kept, LONGEST_ASKED);
        pauses.failed(Some(Duration::ZERO));
        assert!(pauses.last.unwrap().kept >= LONGEST / 2);
        pauses.end();
        assert_eq!(pauses.left(), Duration::ZERO);
    }

    #[test]
    fn two_processes_come_back_at_different_times() {
        let kept: Vec<_> = (0..100).map(|_| jittered(LONGEST)).collect();
        // Equal by chance with a probability of 1024^-99.
        assert!(kept.iter().any(|pause| *pause != kept[0]));
    }
}
