//! Without a timer: the end is seen by the next poll.

use core::convert::Infallible;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use tach_core::Budget;

#[derive(Debug, Default)]
pub(crate) struct Alarm {}

impl Alarm {
    #[expect(clippy::unused_self, reason = "there is no timer")]
    #[inline]
    pub(crate) fn poll_end(self: Pin<&mut Self>, budget: &Budget, _: &mut Context<'_>) -> Poll<()> {
        if budget.is_exhausted() { Poll::Ready(()) } else { Poll::Pending }
    }

    #[expect(clippy::unused_self, reason = "there is no timer")]
    pub(crate) fn elapsed(&self, budget: &Budget) -> Duration {
        budget.elapsed()
    }

    #[expect(clippy::unused_self, reason = "there is no timer")]
    pub(crate) fn end_of(&self, _: &Budget, _: &Budget) -> Option<Infallible> {
        None
    }
}

#[derive(Debug)]
pub(crate) struct BodyAlarm;

impl BodyAlarm {
    pub(crate) fn new(_: Option<Infallible>) -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "no timer sees a pause")]
    pub(crate) fn resume(&mut self) {}

    #[expect(clippy::unused_self, reason = "there is no timer")]
    pub(crate) fn poll_end(
        &mut self,
        budget: &Budget,
        _: Duration,
        _: &mut Context<'_>,
    ) -> Poll<bool> {
        if budget.is_exhausted() { Poll::Ready(false) } else { Poll::Pending }
    }
}

#[cfg(test)]
mod tests {
    use core::pin::pin;
    use core::task::Waker;

    use super::*;

    #[test]
    fn a_poll_sees_the_end() {
        let mut cx = Context::from_waker(Waker::noop());
        let mut poll = |total| pin!(Alarm::default()).poll_end(&Budget::new(total), &mut cx);
        assert_eq!(poll(Duration::ZERO), Poll::Ready(()));
        assert_eq!(poll(Duration::MAX), Poll::Pending);
    }
}
