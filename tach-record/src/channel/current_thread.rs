//! A thread's memory for logging: buffers, and a queue for each channel.

use core::cell::{Cell, RefCell};
use core::mem::{self, ManuallyDrop};
use core::num::NonZeroU32;
use core::ptr;
use std::sync::{Arc, Weak};

use super::Channel;
use crate::frame::{Buffer, Scratch};
use crate::queue::Sender;

thread_local! {
    /// What each call takes and gives back. Without a destructor, so that no call has to ask
    /// whether it has run: that of `LOCAL` empties the places.
    static AT_HAND: AtHand = const { AtHand { scratch: Place::new(), nested: Place::new(), lent: Place::new() } };
    static LOCAL: Local = const {
        Local {
            others: RefCell::new(Vec::new()),
            has_queue: Cell::new(false),
            is_silent: Cell::new(false),
        }
    };
    /// The address of the channel in which the thread last had a queue, and the thread's number
    /// there. Zero if there is none, or not any more.
    static NUMBER: Cell<(usize, u32)> = const { Cell::new((0, 0)) };
}

struct AtHand {
    /// The buffer for the next record.
    scratch: Place<Scratch>,
    /// The buffer for a nested call: a value that logs while it is printed.
    nested: Place<Scratch>,
    /// The queue that the thread used last. Taken while a record is pushed, and while the thread
    /// waits for a flush. No code of the user runs then, except a signal handler.
    lent: Place<Lent>,
}

/// A place for something that is taken while it is used.
struct Place<T>(Cell<ManuallyDrop<Option<Box<T>>>>);

impl<T> Place<T> {
    const fn new() -> Self {
        Self(Cell::new(ManuallyDrop::new(None)))
    }

    /// Call if the place is empty: what is there would not be freed.
    #[inline]
    fn put(&self, value: Box<T>) {
        self.0.set(ManuallyDrop::new(Some(value)));
    }

    #[inline]
    fn replace(&self, value: Option<Box<T>>) -> Option<Box<T>> {
        ManuallyDrop::into_inner(self.0.replace(ManuallyDrop::new(value)))
    }
}

struct Local {
    /// The queues that are not at hand. Borrowed while the thread waits for a flush or is silent.
    #[expect(clippy::vec_box, reason = "a pointer moves in one instruction")]
    others: RefCell<Vec<Box<Lent>>>,
    /// Whether the thread has a queue. If none is at hand, the queue is in use.
    has_queue: Cell<bool>,
    /// Whether all records of the thread are dropped. `others` is borrowed at the same time, so
    /// that a call has to read this flag only if it finds `others` borrowed.
    is_silent: Cell<bool>,
}

impl Drop for Local {
    fn drop(&mut self) {
        let buffers =
            |at_hand: &AtHand| [&at_hand.scratch, &at_hand.nested].map(|it| it.replace(None));
        let _buffers = AT_HAND.try_with(buffers);
        let at_hand = Held::take().0.take();
        self.others.get_mut().drain(..).chain(at_hand).for_each(Lent::end);
    }
}

/// The thread's queue in one channel.
struct Lent {
    /// The address of the owner. No other channel can have the same address, since `owner` keeps
    /// the memory allocated.
    address: usize,
    sender: Sender,
    owner: Weak<Channel>,
}

impl Lent {
    /// Ends the queue, of this process or of the one that it was forked from.
    #[expect(clippy::boxed_local, reason = "a pointer moves in one instruction")]
    fn end(self: Box<Self>) {
        NUMBER.set((0, 0));
        if let Some(owner) = self.owner.upgrade() {
            owner.end_queue(self.sender);
        }
    }
}

/// Adds the record in `scratch` to the thread's queue, and keeps the memory for the next record.
/// Returns whether the record was added to a queue.
#[inline]
pub fn push(channel: &Arc<Channel>, mut scratch: Box<Scratch>) -> bool {
    let is_pushed = match take_queue(channel) {
        Some(mut lent) => {
            let is_pushed = channel.push(&mut lent.sender, scratch.record());
            put_back(lent);
            is_pushed
        }
        None => push_otherwise(channel, &mut scratch),
    };
    give_back(scratch);
    is_pushed
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
    let lent = take_queue(channel)?;
    let number = lent.sender.queue().thread_number();
    put_back(lent);
    NonZeroU32::new(number)
}

/// Adds a record of these words to the thread's queue. Returns whether the record was added to a
/// queue.
#[expect(clippy::inline_always, reason = "the words are in registers")]
#[inline(always)]
pub fn push_words<const N: usize>(channel: &Arc<Channel>, record: &[u64; N]) -> bool {
    let is_pushed = take_queue(channel).is_some_and(|mut lent| {
        let is_pushed = lent.sender.push_words(record);
        if lent.sender.is_asleep() {
            channel.wake_for(&mut lent.sender);
        }
        put_back(lent);
        is_pushed
    });
    // Pass a copy: a reference to `record` would force its words into memory if there is room, too.
    is_pushed || push_copy(channel, &{ *record })
}

#[cold]
fn push_copy(channel: &Arc<Channel>, record: &[u64]) -> bool {
    let mut scratch = take_scratch();
    scratch.copy(record);
    push(channel, scratch)
}

/// Takes the thread's queue in this channel, to be [put back](put_back). Returns `None` if the
/// queue is in use or can't be had.
#[expect(clippy::inline_always, reason = "a call would save the registers once more")]
#[inline(always)]
fn take_queue(channel: &Arc<Channel>) -> Option<Box<Lent>> {
    match AT_HAND.try_with(|at_hand| at_hand.lent.replace(None)) {
        Ok(Some(lent)) if lent.address == ptr::from_ref(&**channel).addr() => Some(lent),
        at_hand => another_queue(channel, at_hand.ok().flatten()),
    }
}

#[inline]
fn put_back(lent: Box<Lent>) {
    let _ending = AT_HAND.try_with(|at_hand| at_hand.lent.put(lent));
}

/// Exchanges the queue at hand for that in this channel. Creates the queue unless the process is
/// forked. If there is none, puts the other one back.
#[cold]
fn another_queue(channel: &Arc<Channel>, mut at_hand: Option<Box<Lent>>) -> Option<Box<Lent>> {
    let queue = LOCAL.try_with(|local| {
        let mut others = local.others.try_borrow_mut().ok()?;
        if at_hand.is_none() && local.has_queue.get() {
            return None;
        }
        let address = ptr::from_ref(&**channel).addr();
        if let Some(known) = others.iter_mut().find(|lent| lent.address == address) {
            return Some(mem::replace(known, at_hand.take()?));
        }
        if channel.is_forked() {
            return None;
        }
        // Another channel may get the address of one that is freed here.
        NUMBER.set((0, 0));
        others.extend(at_hand.take());
        others.retain(|lent| lent.owner.strong_count() > 0);
        let (sender, owner) = (channel.new_queue(), Arc::downgrade(channel));
        local.has_queue.set(true);
        Some(Box::new(Lent { address, sender, owner }))
    });
    at_hand.into_iter().for_each(put_back);
    queue.ok().flatten()
}

/// Adds a record of a thread whose queue is in use or can't be had, unless the thread's records are
/// dropped.
#[cold]
fn push_otherwise(channel: &Channel, scratch: &mut Scratch) -> bool {
    match LOCAL.try_with(|local| local.is_silent.get()) {
        Ok(true) => false,
        // If the thread is ending, its memory was dropped.
        is_silent => channel.push_common(scratch, is_silent.is_ok()),
    }
}

/// Keeps the queue at hand from calls, such as those of signal handlers.
struct Held(Option<Box<Lent>>);

impl Held {
    fn take() -> Self {
        Self(AT_HAND.try_with(|at_hand| at_hand.lent.replace(None)).ok().flatten())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(put_back);
    }
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
        let _borrowed = local.others.try_borrow_mut();
        let _held = Held::take();
        let _silence = Silence(&local.is_silent, local.is_silent.replace(true));
        f()
    })
}

/// Calls `wait`, which waits for the back end. A signal handler that logs meanwhile does not wait.
/// Returns `None` if the caller is itself such a handler.
pub fn waiting<R>(wait: impl FnOnce() -> R) -> Option<R> {
    let mut wait = Some(wait);
    let waited = LOCAL.try_with(|local| {
        let _borrowed = local.others.try_borrow_mut().ok()?;
        let held = Held::take();
        if held.0.is_none() && local.has_queue.get() {
            return None;
        }
        Some(wait.take()?())
    });
    // An ending thread has no thread-local to mark, so call `wait` without it.
    waited.unwrap_or_else(|_| Some(wait.take()?()))
}

/// Leaves the thread's queues in the child of a fork, which may have interrupted the writing of a
/// record: the queues have the records that the parent writes. Frees no memory.
pub extern "C" fn leave_queues() {
    NUMBER.set((0, 0));
    let mut held = Held::take();
    held.0.iter_mut().for_each(|lent| lent.address = 0);
    let _ending = LOCAL.try_with(|local| {
        if let Ok(mut others) = local.others.try_borrow_mut() {
            others.iter_mut().for_each(|lent| lent.address = 0);
        }
    });
}

/// Takes the thread's buffer. A value that logs while it is printed finds the buffer taken, and
/// uses another buffer.
#[inline]
pub fn take_scratch() -> Box<Scratch> {
    let scratch = AT_HAND.try_with(|at_hand| at_hand.scratch.replace(None));
    scratch.ok().flatten().unwrap_or_else(another_scratch)
}

/// Returns a buffer for the first record of a thread or for a nested call.
#[expect(clippy::unnecessary_box_returns, reason = "a pointer moves in one instruction")]
#[cold]
fn another_scratch() -> Box<Scratch> {
    // A thread that is ending would not free what it keeps.
    match LOCAL.try_with(|_| AT_HAND.with(|at_hand| at_hand.nested.replace(None))) {
        Ok(spare) => spare.unwrap_or_else(|| Box::new(Scratch::new())),
        Err(_) => Box::new(Scratch::for_one_record()),
    }
}

/// Returns the thread's buffer, for the next record.
#[expect(clippy::inline_always, reason = "a call would save the registers once more")]
#[inline(always)]
pub fn give_back(mut scratch: Box<Scratch>) {
    if scratch.is_long() && !scratch.shrink() {
        return;
    }
    let before = AT_HAND.try_with(|at_hand| at_hand.scratch.replace(Some(scratch)));
    if let Ok(Some(nested)) = before {
        keep(nested);
    }
}

#[cold]
fn keep(nested: Box<Scratch>) {
    let _one_more = AT_HAND.try_with(|at_hand| at_hand.nested.replace(Some(nested)));
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
}
