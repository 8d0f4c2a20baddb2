//! Polls a call and its connection on the calling thread. When neither can proceed, waits for bytes
//! on the connection.

use core::pin::{Pin, pin};
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll, Waker};
use std::io::{self, Cursor, Read as _, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Wake;
use std::time::Instant;

use h2::client;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::security::stream::Stream;

/// How many bytes `h2` reads before the call is polled, which drops interim answers. Even a
/// kilobyte may contain some fifty compressed headers of the longest kind.
const MOST_AT_ONCE: usize = 1024;

/// A connection below HTTP/2. `h2` has one handle, and the thread that waits has another.
pub(super) struct Wire(Arc<Mutex<Metered>>);

/// A stream, and how many bytes may still be read from it at once.
struct Metered {
    stream: Box<dyn Stream>,
    room: usize,
}

impl Wire {
    pub(super) fn new(stream: Box<dyn Stream>) -> Self {
        Self(Arc::new(Mutex::new(Metered { stream, room: MOST_AT_ONCE })))
    }

    pub(super) fn set_deadline(&self, deadline: Instant) {
        lock(&self.0).stream.socket().deadline = deadline;
    }

    fn wait(&self, deadline: Instant) -> io::Result<()> {
        let wire = &mut lock(&self.0);
        let socket = wire.stream.socket();
        socket.deadline = deadline;
        socket.wait_for_bytes()
    }

    fn make_room(&self) {
        lock(&self.0).room = MOST_AT_ONCE;
    }
}

/// Locks the stream. The same thread uses both handles, so the lock is always free.
fn lock(wire: &Mutex<Metered>) -> MutexGuard<'_, Metered> {
    wire.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The handle of `h2`. A read returns `Pending` if no bytes have arrived. A write blocks up to the
/// deadline.
pub(super) struct Io(Arc<Mutex<Metered>>);

impl Io {
    pub(super) fn of(wire: &Wire) -> Self {
        Self(Arc::clone(&wire.0))
    }
}

impl AsyncRead for Io {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let wire = &mut *lock(&self.0);
        if wire.room == 0 {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let room = to.remaining().min(wire.room);
        match wire.stream.read(to.initialize_unfilled_to(room)) {
            Ok(count) => {
                to.advance(count);
                wire.room -= count;
                Poll::Ready(Ok(()))
            }
            // No waker is needed: the thread that polls waits for bytes before it polls again.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl AsyncWrite for Io {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(lock(&self.0).stream.write(bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(lock(&self.0).stream.flush())
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(context)
    }
}

/// Whether a future asked to be polled again.
#[derive(Default)]
struct Woken(AtomicBool);

impl Woken {
    fn take(&self) -> bool {
        // ORDERING: Relaxed: the thread that polls is the one that wakes.
        self.0.swap(false, Ordering::Relaxed)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        // ORDERING: Relaxed: the thread that polls is the one that wakes.
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Polls `call` until it is done, and the connection that it needs.
///
/// # Errors
///
/// If nothing arrives until the deadline.
pub(super) fn drive<T>(
    call: impl Future<Output = Result<T, h2::Error>>,
    mut connection: Option<&mut client::Connection<Io, Cursor<Vec<u8>>>>,
    wire: &Wire,
    deadline: Instant,
) -> io::Result<Result<T, h2::Error>> {
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    let mut call = pin!(call);
    loop {
        wire.make_room();
        if let Poll::Ready(done) = call.as_mut().poll(&mut context) {
            return Ok(done);
        }
        if let Some(driven) = connection.as_mut() {
            if let Poll::Ready(ended) = Pin::new(driven).poll(&mut context) {
                // The end of the connection may have ended the call, so poll the call once more.
                let done = call.as_mut().poll(&mut context);
                return match (done, ended) {
                    (Poll::Ready(done), _) => Ok(done),
                    (Poll::Pending, Err(error)) => Ok(Err(error)),
                    (Poll::Pending, Ok(())) => Err(io::ErrorKind::UnexpectedEof.into()),
                };
            }
        }
        if !woken.take() {
            wire.wait(deadline)?;
        }
    }
}
