//! A thread's memory for logging: buffers, and a queue for each channel.

use core::cell::{Cell, RefCell};
use core::ptr;
use std::sync::{Arc, Weak};

use super::Channel;
use crate::frame::{Buffer, Scratch};
use crate::queue::Sender;

/// How many buffers a thread keeps for calls within calls.
const SPARES: usize = 4;

thread_local! {
    static LOCAL: Local = const {
        Local {
            scratch: Cell::new(None),
            spares: RefCell::new(Vec::new()),
            queues: RefCell::new(Vec::new()),
            is_silent: Cell::new(false),
        }
    };
}

struct Local {
    /// The buffer for the next record.
    scratch: Cell<Option<Box<Scratch>>>,
    /// Buffers for calls within calls, up to [`SPARES`].
    #[expect(clippy::vec_box, reason = "a pointer moves in one instruction")]
    spares: RefCell<Vec<Box<Scratch>>>,
    /// Borrowed while a record is pushed, when no code of the user's runs.
    queues: RefCell<Vec<Lent>>,
    /// Whether records are dropped. Then `queues` is borrowed too, so that only a call which finds
    /// it borrowed has to look here.
    is_silent: Cell<bool>,
}

/// A queue that ends with the thread.
struct Lent {
    /// The address of the owner, which no other channel has while `owner` holds its memory.
    address: usize,
    /// `None` only while it is dropped.
    sender: Option<Sender>,
    owner: Weak<Channel>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let (Some(sender), Some(owner)) = (self.sender.take(), self.owner.upgrade()) {
            owner.end_queue(sender);
        }
    }
}

#[inline]
fn address(channel: &Channel) -> usize {
    ptr::from_ref(channel).addr()
}

/// Logs the record that `write` writes. Returns whether it is in the thread's queue.
#[inline]
pub(crate) fn log(channel: &Arc<Channel>, write: impl FnOnce(&mut Scratch)) -> bool {
    let mut scratch = take_scratch();
    write(&mut scratch);
    let logged = LOCAL.try_with(|local| local.push(channel, scratch.record()));
    // If the thread is ending, its memory has been dropped.
    let is_pushed = logged.unwrap_or_else(|_| channel.push_common(scratch.record()));
    give_back(scratch);
    is_pushed
}

/// Calls `f`, and drops all records that this thread logs meanwhile. A sink's client logs: its
/// records would be sent by another request, and the records of that one by the next.
#[cfg(feature = "otlp")]
pub(crate) fn silently<R>(f: impl FnOnce() -> R) -> R {
    struct Silence<'a>(&'a Cell<bool>);
    impl Drop for Silence<'_> {
        fn drop(&mut self) {
            self.0.set(false);
        }
    }
    LOCAL.with(|local| {
        let _borrowed = local.queues.borrow_mut();
        local.is_silent.set(true);
        let _silence = Silence(&local.is_silent);
        f()
    })
}

/// Takes a buffer, so that a value which logs when it is printed finds another one.
#[expect(clippy::unnecessary_box_returns, reason = "a pointer moves in one instruction")]
#[inline]
pub(crate) fn take_scratch() -> Box<Scratch> {
    let scratch = LOCAL.try_with(|local| local.scratch.take());
    scratch.ok().flatten().unwrap_or_else(another_scratch)
}

/// For the first record of a thread, and for a call within a call.
#[expect(clippy::unnecessary_box_returns, reason = "a pointer moves in one instruction")]
#[cold]
fn another_scratch() -> Box<Scratch> {
    let spare = LOCAL.try_with(|local| local.spares.try_borrow_mut().ok()?.pop());
    spare.ok().flatten().unwrap_or_else(|| Box::new(Scratch::new()))
}

#[expect(clippy::inline_always, reason = "a call would save the registers once more")]
#[inline(always)]
pub(crate) fn give_back(mut scratch: Box<Scratch>) {
    scratch.shrink();
    let _ending = LOCAL.try_with(|local| {
        if let Some(spare) = local.scratch.replace(Some(scratch)) {
            local.keep(spare);
        }
    });
}

impl Local {
    #[cold]
    fn keep(&self, spare: Box<Scratch>) {
        if let Ok(mut spares) = self.spares.try_borrow_mut() {
            if spares.len() < SPARES {
                spares.push(spare);
            }
        }
    }

    /// For a record that is logged while the queues are borrowed.
    #[cold]
    fn push_borrowed(&self, channel: &Channel, record: &mut Buffer) -> bool {
        !self.is_silent.get() && channel.push_common(record)
    }

    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    fn push(&self, channel: &Arc<Channel>, record: &mut Buffer) -> bool {
        let Ok(mut queues) = self.queues.try_borrow_mut() else {
            return self.push_borrowed(channel, record);
        };
        let known = queues.iter_mut().find(|lent| lent.address == address(channel));
        match known.and_then(|lent| lent.sender.as_mut()) {
            Some(sender) => channel.push(sender, record),
            None => borrow(&mut queues, channel, record),
        }
    }
}

/// Gets the thread's queue for its first record in this channel.
#[cold]
fn borrow(queues: &mut Vec<Lent>, channel: &Arc<Channel>, record: &mut Buffer) -> bool {
    if channel.is_forked() {
        return false;
    }
    queues.retain(|lent| lent.owner.strong_count() > 0);
    let mut sender = channel.queues.new_queue();
    let is_pushed = channel.push(&mut sender, record);
    // Most threads log to one pipeline.
    queues.reserve_exact(1);
    queues.push(Lent {
        address: address(channel),
        sender: Some(sender),
        owner: Arc::downgrade(channel),
    });
    is_pushed
}
