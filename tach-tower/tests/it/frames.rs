//! Bodies whose frames a function makes.

use core::convert::Infallible;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};

/// What a body returns when it is polled.
pub(crate) type Next<E = Infallible> = Poll<Option<Result<Frame<Bytes>, E>>>;

pub(crate) struct Frames<F>(F);

/// Returns a body that calls `next` at each poll.
pub(crate) fn frames<F, E>(next: F) -> Frames<F>
where
    F: FnMut(&mut Context<'_>) -> Next<E> + Unpin,
{
    Frames(next)
}

impl<F, E> Body for Frames<F>
where
    F: FnMut(&mut Context<'_>) -> Next<E> + Unpin,
{
    type Data = Bytes;
    type Error = E;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Next<E> {
        (self.0)(cx)
    }
}

/// Returns a frame with one byte.
pub(crate) fn dot() -> Frame<Bytes> {
    Frame::data(Bytes::from_static(b"."))
}

/// Returns a body without end, with a frame each `period`.
pub(crate) fn dots(
    period: Duration,
) -> Frames<impl FnMut(&mut Context<'_>) -> Next + Unpin + Send + 'static> {
    let mut interval = tokio::time::interval(period);
    frames(move |cx| interval.poll_tick(cx).map(|_| Some(Ok(dot()))))
}
