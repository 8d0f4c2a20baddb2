//! A thread's memory for logging: buffers, and a queue for each channel.

use core::cell::{Cell, RefCell};
use core::num::NonZeroU32;
use core::ptr;
use std::sync::{Arc, Weak};

use super::Channel;
use crate::frame::{Buffer, Scratch};
use crate::queue::Sender;

/// How many buffers a thread keeps for nested calls. A call is nested if a value logs while it is
/// printed.
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

thread_local! {
    /// The address of the channel in which the thread last had a queue, and the thread's number
    /// there. Zero if there is none, or not any more.
    static NUMBER: Cell<(usize, u32)> = const { Cell::new((0, 0)) };
}

struct Local {
    /// The buffer for the next record.
    scratch: Cell<Option<Box<Scratch>>>,
    /// Buffers for nested calls, at most [`SPARES`].
    #[expect(clippy::vec_box, reason = "a pointer moves in one instruction")]
    spares: RefCell<Vec<Box<Scratch>>>,
    /// Borrowed while a record is pushed, and while the thread waits for a flush. No code of the
    /// user runs then, except a signal handler.
    queues: RefCell<Vec<Lent>>,
    /// Whether all records of the thread are dropped. `queues` is borrowed at the same time, so
    /// that a call has to read this flag only if it finds `queues` borrowed.
    is_silent: Cell<bool>,
}

/// The thread's queue in one channel. The queue ends when the thread ends.
struct Lent {
    /// The address of the owner. No other channel can have the same address, since `owner` keeps
    /// the memory allocated.
    address: usize,
    /// `None` only while `self` is dropped.
    sender: Option<Sender>,
    owner: Weak<Channel>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        NUMBER.set((0, 0));
        if let (Some(sender), Some(owner)) = (self.sender.take(), self.owner.upgrade()) {
            owner.end_queue(sender);
        }
    }
}

/// Adds the record in `scratch` to the thread's queue, and keeps the memory for the next record.
/// Returns whether the record was added to a queue.
#[inline]
pub fn push(channel: &Arc<Channel>, scratch: Box<Scratch>) -> bool {
    let mut scratch = Some(scratch);
    let pushed = LOCAL.try_with(|local| Some(local.push(channel, scratch.take()?)));
    // If the thread is ending, its thread-local memory was dropped. Use the common queue then.
    pushed
        .ok()
        .flatten()
        .unwrap_or_else(|| scratch.is_some_and(|mut it| channel.push_common(&mut it)))
}

/// Returns the [number](crate::queue::Queue::thread_number) of the thread, which has a queue in the
/// channel then. Returns `None` if the next record may be added to another queue, as at the end of
/// the thread.
#[inline]
pub fn number(channel: &Arc<Channel>) -> Option<NonZeroU32> {
    let (address, number) = NUMBER.get();
    if address == ptr::from_ref(&**channel).addr() {
        return NonZeroU32::new(number);
    }
    let number = queue_number(channel)?;
    NUMBER.set((ptr::from_ref(&**channel).addr(), number.get()));
    Some(number)
}

#[cold]
fn queue_number(channel: &Arc<Channel>) -> Option<NonZeroU32> {
    let number = LOCAL.try_with(|local| {
        let mut queues = local.queues.try_borrow_mut().ok()?;
        let address = ptr::from_ref(&**channel).addr();
        let known = queues.iter().find(|lent| lent.address == address);
        let sender = match known.and_then(|lent| lent.sender.as_ref()) {
            Some(sender) => sender,
            None => borrow(&mut queues, channel)?,
        };
        NonZeroU32::new(sender.queue().thread_number())
    });
    number.ok().flatten()
}

/// Adds a record of these words to the thread's queue. Returns whether the record was added to a
/// queue.
#[expect(clippy::inline_always, reason = "the words are in registers")]
#[inline(always)]
pub fn push_words<const N: usize>(channel: &Arc<Channel>, record: &[u64; N]) -> bool {
    let pushed = LOCAL.try_with(|local| local.push_words(channel, record));
    // A copy, so that the words need no place in memory on the other way.
    pushed.ok().flatten().unwrap_or_else(|| push_copy(channel, &{ *record }))
}

#[cold]
fn push_copy(channel: &Arc<Channel>, record: &[u64]) -> bool {
    let mut scratch = take_scratch();
    scratch.copy(record);
    push(channel, scratch)
}

/// Calls `f`, and drops all records that this thread logs meanwhile. For clients and functions of
/// sinks: a record that one of them logs would cause another call, which would log again, without
/// end.
pub fn silently<R>(f: impl FnOnce() -> R) -> R {
    struct Silence<'a>(&'a Cell<bool>, bool);
    impl Drop for Silence<'_> {
        fn drop(&mut self) {
            self.0.set(self.1);
        }
    }
    LOCAL.with(|local| {
        let _borrowed = local.queues.try_borrow_mut();
        let _silence = Silence(&local.is_silent, local.is_silent.replace(true));
        f()
    })
}

/// Calls `wait`, which waits for the back end. A signal handler that logs meanwhile does not wait.
/// Returns `None` if the caller is itself such a handler.
pub fn waiting<R>(wait: impl FnOnce() -> R) -> Option<R> {
    let mut wait = Some(wait);
    let waited = LOCAL.try_with(|local| {
        let _borrowed = local.queues.try_borrow_mut().ok()?;
        Some(wait.take()?())
    });
    // A thread that is ending has no memory to mark.
    waited.unwrap_or_else(|_| Some(wait.take()?()))
}

/// Leaves the thread's queues in the child of a fork, which may have interrupted the writing of a
/// record: the queues have the records that the parent writes. Frees no memory.
pub(super) extern "C" fn leave_queues() {
    NUMBER.set((0, 0));
    let _ending = LOCAL.try_with(|local| {
        if let Ok(mut queues) = local.queues.try_borrow_mut() {
            queues.iter_mut().for_each(|lent| lent.address = 0);
        }
    });
}

/// Gives up the thread's queues of the process that this one was forked from, so that no record is
/// added to them. They keep the records that the parent writes.
pub fn leave_parents() {
    let _ending = LOCAL.try_with(|local| {
        let Ok(mut queues) = local.queues.try_borrow_mut() else { return };
        queues.retain(|lent| lent.owner.upgrade().is_some_and(|owner| !owner.is_forked()));
    });
}

/// Takes the thread's buffer. A value that logs while it is printed finds the buffer taken, and
/// uses another buffer.
#[inline]
pub fn take_scratch() -> Box<Scratch> {
    let scratch = LOCAL.try_with(|local| local.scratch.take());
    scratch.ok().flatten().unwrap_or_else(another_scratch)
}

/// Returns a buffer for the first record of a thread or for a nested call.
#[expect(clippy::unnecessary_box_returns, reason = "a pointer moves in one instruction")]
#[cold]
fn another_scratch() -> Box<Scratch> {
    let spare = LOCAL.try_with(|local| local.spares.try_borrow_mut().ok()?.pop());
    spare.ok().flatten().unwrap_or_else(|| Box::new(Scratch::new()))
}

/// Returns the thread's buffer, for the next record.
#[expect(clippy::inline_always, reason = "a call would save the registers once more")]
#[inline(always)]
pub fn give_back(mut scratch: Box<Scratch>) {
    scratch.shrink();
    let _ending = LOCAL.try_with(|local| local.give_back(scratch));
}

impl Local {
    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    fn give_back(&self, scratch: Box<Scratch>) {
        if let Some(spare) = self.scratch.replace(Some(scratch)) {
            self.keep(spare);
        }
    }

    #[cold]
    fn keep(&self, spare: Box<Scratch>) {
        if let Ok(mut spares) = self.spares.try_borrow_mut() {
            if spares.len() < SPARES {
                spares.push(spare);
            }
        }
    }

    /// Pushes a record that is logged while the queues are borrowed, unless the thread's records
    /// are dropped.
    #[cold]
    fn push_borrowed(&self, channel: &Channel, scratch: &mut Scratch) -> bool {
        !self.is_silent.get() && channel.push_nested(scratch)
    }

    /// Pushes a record of these words, unless the thread has no queue in the channel, or the queues
    /// are borrowed.
    #[expect(clippy::inline_always, reason = "the words are in registers")]
    #[inline(always)]
    fn push_words<const N: usize>(&self, channel: &Channel, record: &[u64; N]) -> Option<bool> {
        let mut queues = self.queues.try_borrow_mut().ok()?;
        let lent = queues.iter_mut().find(|lent| lent.address == ptr::from_ref(channel).addr())?;
        Some(channel.push_words(lent.sender.as_mut()?, record))
    }

    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    fn push(&self, channel: &Arc<Channel>, mut scratch: Box<Scratch>) -> bool {
        let is_pushed = match self.queues.try_borrow_mut() {
            Ok(mut queues) => {
                let address = ptr::from_ref(&**channel).addr();
                let known = queues.iter_mut().find(|lent| lent.address == address);
                match known.and_then(|lent| lent.sender.as_mut()) {
                    Some(sender) => channel.push(sender, scratch.record()),
                    None => push_first(&mut queues, channel, scratch.record()),
                }
            }
            Err(_) => self.push_borrowed(channel, &mut scratch),
        };
        scratch.shrink();
        self.give_back(scratch);
        is_pushed
    }
}

impl Channel {
    /// Adds a record to the thread's queue. Returns whether the record was added.
    #[inline]
    fn push(&self, sender: &mut Sender, record: &mut Buffer) -> bool {
        let is_pushed = sender.push(record.written()) || self.push_beyond(sender, record);
        if sender.is_asleep() {
            self.wake_for(sender);
        }
        is_pushed
    }

    /// Adds a record of these words to the thread's queue. Returns whether the record was added.
    #[expect(clippy::inline_always, reason = "the words are in registers")]
    #[inline(always)]
    fn push_words<const N: usize>(&self, sender: &mut Sender, record: &[u64; N]) -> bool {
        // A copy, so that the words need no place in memory if there is room.
        let is_pushed = sender.push_words(record) || self.push_words_beyond(sender, &{ *record });
        if sender.is_asleep() {
            self.wake_for(sender);
        }
        is_pushed
    }

    #[cold]
    fn push_words_beyond(&self, sender: &mut Sender, record: &[u64]) -> bool {
        let mut scratch = take_scratch();
        scratch.copy(record);
        let is_pushed = self.push_beyond(sender, scratch.record());
        give_back(scratch);
        is_pushed
    }
}

/// Pushes the thread's first record.
#[cold]
fn push_first(queues: &mut Vec<Lent>, channel: &Arc<Channel>, record: &mut Buffer) -> bool {
    match borrow(queues, channel) {
        Some(sender) => channel.push(sender, record),
        None => channel.refuse(record.written()),
    }
}

/// Creates the thread's queue in this channel, except in a forked process.
fn borrow<'a>(queues: &'a mut Vec<Lent>, channel: &Arc<Channel>) -> Option<&'a mut Sender> {
    if channel.is_forked() {
        return None;
    }
    queues.retain(|lent| lent.owner.strong_count() > 0);
    let sender = channel.new_queue();
    // Most threads log to one pipeline only, so reserve memory for one queue.
    queues.reserve_exact(1);
    queues.push(Lent {
        address: ptr::from_ref(&**channel).addr(),
        sender: Some(sender),
        owner: Arc::downgrade(channel),
    });
    queues.last_mut()?.sender.as_mut()
}
