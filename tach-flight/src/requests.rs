//! Requests for snapshots, which the back end answers.

use core::mem;
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use crate::snapshot::Snapshot;
use tach_record::sync::{Changed, Lock};

#[derive(Default)]
/// Requests for snapshots.
pub struct Requests {
    state: Lock<State>,
}

#[derive(Default)]
struct State {
    waiting: Vec<Arc<Request>>,
    /// Requests that were made before the round began.
    due: Vec<Arc<Request>>,
    /// Whether the back end has ended.
    has_ended: bool,
}

#[derive(Default)]
struct Request {
    answer: Lock<Answer>,
    changed: Changed,
}

#[derive(Default)]
enum Answer {
    #[default]
    Pending,
    Snapshot(Arc<Snapshot>),
    Ended,
}

/// Why there is no snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoAnswer {
    /// The back end has ended.
    Ended,
    /// The back end did not answer in time.
    TimedOut,
}

impl Requests {
    /// Requests a snapshot and waits for it. `wake` wakes the back end.
    ///
    /// # Errors
    ///
    /// If the back end does not answer in time, or has ended.
    pub fn wait(&self, timeout: Duration, wake: impl FnOnce()) -> Result<Arc<Snapshot>, NoAnswer> {
        let start = Instant::now();
        let request = Arc::new(Request::default());
        {
            let mut state = self.state.lock();
            if state.has_ended {
                return Err(NoAnswer::Ended);
            }
            state.waiting.push(Arc::clone(&request));
        }
        wake();
        let mut answer = request.answer.lock();
        loop {
            match &*answer {
                Answer::Snapshot(snapshot) => return Ok(Arc::clone(snapshot)),
                Answer::Ended => return Err(NoAnswer::Ended),
                Answer::Pending => {}
            }
            let left = timeout.checked_sub(start.elapsed()).filter(|left| !left.is_zero());
            let Some(left) = left else { return Err(NoAnswer::TimedOut) };
            answer = request.changed.wait(answer, left);
        }
    }

    /// Begins a round. Returns whether there are requests, which are answered at the end of the
    /// round. Later requests wait for the next round, since only that round surely reads the
    /// records of their callers.
    pub(crate) fn begin_round(&self) -> bool {
        let State { waiting, due, .. } = &mut *self.state.lock();
        due.append(waiting);
        !due.is_empty()
    }

    /// Answers the requests that were made before the round.
    pub(crate) fn answer(&self, snapshot: impl FnOnce() -> Snapshot) {
        let due = mem::take(&mut self.state.lock().due);
        if due.is_empty() {
            return;
        }
        let snapshot = Arc::new(snapshot());
        for request in due {
            request.resolve(Answer::Snapshot(Arc::clone(&snapshot)));
        }
    }

    /// Refuses all present and future requests, since the back end ends.
    pub(crate) fn end(&self) {
        let ended = State { has_ended: true, ..State::default() };
        let State { waiting, due, .. } = mem::replace(&mut *self.state.lock(), ended);
        for request in waiting.into_iter().chain(due) {
            request.resolve(Answer::Ended);
        }
    }
}

impl Request {
    fn resolve(&self, answer: Answer) {
        *self.answer.lock() = answer;
        self.changed.notify();
    }
}

#[cfg(test)]
mod tests {
    use core::hint;
    use std::thread;

    use super::*;

    /// If `end` missed a request, the request would wait for its whole timeout.
    #[test]
    fn no_request_is_left_after_the_end() {
        for round in 0..500 {
            let requests = Requests::default();
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        let ask = || requests.wait(Duration::ZERO, || {}).err().unwrap();
                        while ask() == NoAnswer::TimedOut {}
                    });
                }
                while requests.state.lock().waiting.len() < 10 {
                    hint::spin_loop();
                }
                requests.end();
            });
            assert!(requests.state.lock().waiting.is_empty(), "round {round}");
        }
    }
}
