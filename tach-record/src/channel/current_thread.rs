//! A thread's memory for logging: buffers, and a queue for each channel.

use core::cell::{Cell, RefCell, RefMut};
use core::mem::{self, ManuallyDrop};
use core::num::NonZeroU32;
use core::ops::{Deref, DerefMut};
use core::ptr;
use core::sync::atomic::{Ordering, compiler_fence};
use std::sync::{Arc, Weak};

use super::Channel;
use crate::frame::{Buffer, Scratch};
use crate::queue::Sender;

thread_local! {
    /// What each call uses. It has no destructor, because a call would then have to check whether
    /// the destructor has run. [`ENDING`] frees the memory in its place.
    static AT_HAND: AtHand = const {
        AtHand {
            scratch: Place(Cell::new(ManuallyDrop::new(None))),
            nested: Marked::new(None),
            queues: Marked::new(Queues { at_hand: None, others: Vec::new() }),
            common: Marked::new(()),
            is_silent: Cell::new(false),
        }
    };
    static ENDING: Ending = const { Ending };
    /// The address of the channel in which the thread last had a queue, and the thread's number
    /// there. Both are zero if the thread has no queue there, or no longer has one. A signal
    /// handler may change both between the loads or the stores of a call. Then the number may be
    /// zero, and is looked up again. Any other number is right: a thread has the same one in each
    /// channel.
    static NUMBER: Cell<(usize, u32)> = const { Cell::new((0, 0)) };
}

struct AtHand {
    /// The buffer for the next record.
    scratch: Place,
    /// The buffer for a nested call: a value that logs while it is printed.
    nested: Marked<Option<Box<Scratch>>>,
    /// In use while a record is pushed, and while the thread waits for a flush or is silent. No
    /// code of the user runs then, except a signal handler.
    queues: Marked<Queues>,
    /// In use while a record is added to the common queue.
    common: Marked<()>,
    /// Whether all records of the thread are dropped. `queues` is in use at the same time, so that
    /// a call has to read this flag only if it finds them in use.
    is_silent: Cell<bool>,
}

/// A place for a buffer, which is empty while a call uses the buffer. If a signal handler logs
/// between the load and the store of a call, it has put the buffer back before the call continues,
/// so the buffer has one owner at any time. A buffer that a handler puts into an empty place is
/// lost: the call puts its own there.
struct Place(Cell<ManuallyDrop<Option<Box<Scratch>>>>);

impl Place {
    #[inline]
    fn replace(&self, value: Option<Box<Scratch>>) -> Option<Box<Scratch>> {
        ManuallyDrop::into_inner(self.0.replace(ManuallyDrop::new(value)))
    }
}

/// A value behind a mark, which is set before the value is read and removed after it is written. So
/// a signal handler finds the mark, or a whole value.
struct Marked<T>(RefCell<ManuallyDrop<T>>);

impl<T> Marked<T> {
    const fn new(value: T) -> Self {
        Self(RefCell::new(ManuallyDrop::new(value)))
    }

    /// Sets the mark. Returns `None` if it is set.
    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    fn use_it(&self) -> Option<InUse<'_, T>> {
        let in_use = self.0.try_borrow_mut().ok()?;
        // ORDERING: SeqCst: the compiler may not read what is marked before it writes the mark.
        compiler_fence(Ordering::SeqCst);
        Some(InUse(in_use))
    }
}

/// Keeps the mark until it is dropped, also if the call unwinds.
struct InUse<'a, T>(RefMut<'a, ManuallyDrop<T>>);

impl<T> Deref for InUse<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for InUse<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Drop for InUse<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // ORDERING: SeqCst: the compiler may not write what is marked after it removes the mark.
        compiler_fence(Ordering::SeqCst);
    }
}

#[derive(Default)]
struct Queues {
    /// The queue that the thread used last.
    at_hand: Option<Lent>,
    others: Vec<Lent>,
}

impl Queues {
    fn all(&mut self) -> impl Iterator<Item = &mut Lent> {
        self.at_hand.iter_mut().chain(&mut self.others)
    }
}

/// Frees the thread's memory when the thread ends.
struct Ending;

impl Drop for Ending {
    fn drop(&mut self) {
        let _ending = AT_HAND.try_with(|at_hand| {
            drop(at_hand.scratch.replace(None));
            drop(at_hand.nested.use_it().and_then(|mut nested| nested.take()));
            let queues = at_hand.queues.use_it().map(|mut queues| mem::take(&mut *queues));
            let queues = queues.unwrap_or_default();
            queues.at_hand.into_iter().chain(queues.others).for_each(Lent::end);
        });
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
    /// Ends the queue. In a forked child it is the parent's, and stays as it is.
    fn end(self) {
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
    let pushed = with_queue(channel, |sender| channel.push(sender, scratch.record()));
    let is_pushed = pushed.unwrap_or_else(|| push_otherwise(channel, &mut scratch));
    give_back(scratch);
    is_pushed
}

/// Returns the [number](crate::queue::Queue::thread_number) of the thread, and creates the thread's
/// queue in the channel if there is none. Returns `None` if the next record may be added to another
/// queue, as at the end of the thread.
#[inline]
pub fn number(channel: &Arc<Channel>) -> Option<NonZeroU32> {
    let (address, number) = NUMBER.get();
    if let (Some(number), true) =
        (NonZeroU32::new(number), address == ptr::from_ref(&**channel).addr())
    {
        return Some(number);
    }
    let number = queue_number(channel)?;
    NUMBER.set((ptr::from_ref(&**channel).addr(), number.get()));
    Some(number)
}

#[cold]
fn queue_number(channel: &Arc<Channel>) -> Option<NonZeroU32> {
    NonZeroU32::new(with_queue(channel, |sender| sender.queue().thread_number())?)
}

/// Adds a record of these words to the thread's queue. Returns whether the record was added to a
/// queue.
#[expect(clippy::inline_always, reason = "the words are in registers")]
#[inline(always)]
pub fn push_words<const N: usize>(channel: &Arc<Channel>, record: &[u64; N]) -> bool {
    let pushed = with_queue(channel, |sender| {
        let is_pushed = sender.push_words(record);
        if sender.is_asleep() {
            channel.wake_for(sender);
        }
        is_pushed
    });
    // Pass a copy: a reference to `record` would force its words into memory if there is room, too.
    pushed == Some(true) || push_copy(channel, &{ *record })
}

#[cold]
fn push_copy(channel: &Arc<Channel>, record: &[u64]) -> bool {
    let mut scratch = take_scratch();
    scratch.copy(record);
    push(channel, scratch)
}

/// Calls `f` with the thread's queue in this channel. Returns `None` if the queue is in use, as in
/// a signal handler, or if the thread can have none, as at its end.
#[expect(clippy::inline_always, reason = "a call would save the registers once more")]
#[inline(always)]
pub(super) fn with_queue<R>(channel: &Arc<Channel>, f: impl FnOnce(&mut Sender) -> R) -> Option<R> {
    let done = AT_HAND.try_with(|at_hand| {
        let mut queues = at_hand.queues.use_it()?;
        let queues = &mut *queues;
        let lent = match &mut queues.at_hand {
            Some(lent) if lent.address == ptr::from_ref(&**channel).addr() => lent,
            _ => another_queue(channel, queues)?,
        };
        Some(f(&mut lent.sender))
    });
    done.ok().flatten()
}

/// Puts the thread's queue in this channel in place of the one at hand. Creates the queue, unless
/// the process is forked or the thread is ending.
#[cold]
fn another_queue<'a>(
    channel: &Arc<Channel>,
    Queues { at_hand, others }: &'a mut Queues,
) -> Option<&'a mut Lent> {
    ENDING.try_with(|_| ()).ok()?;
    let address = ptr::from_ref(&**channel).addr();
    if let Some(place) = others.iter().position(|lent| lent.address == address) {
        let known = others.swap_remove(place);
        others.extend(at_hand.replace(known));
        return at_hand.as_mut();
    }
    if channel.is_forked() {
        return None;
    }
    let (sender, owner) = (channel.new_queue(), Arc::downgrade(channel));
    others.extend(at_hand.replace(Lent { address, sender, owner }));
    // Forget the number: the next line may free a channel, and a later channel may get its address.
    NUMBER.set((0, 0));
    others.retain(|lent| lent.owner.strong_count() > 0);
    at_hand.as_mut()
}

/// Adds a record to the common queue, because the thread's own is in use or the thread can have
/// none. Drops it if the thread is [silent](silently).
#[cold]
fn push_otherwise(channel: &Channel, scratch: &mut Scratch) -> bool {
    if AT_HAND.try_with(|at_hand| at_hand.is_silent.get()) == Ok(true) {
        return false;
    }
    in_common(|is_nested| channel.push_common(scratch, is_nested))
}

/// Calls `f`, which adds a record to the common queue. Passes `true` if the record interrupts
/// another call, and `false` if the thread is ending and its memory was dropped.
fn in_common<R>(mut f: impl FnMut(bool) -> R) -> R {
    let has_memory = ENDING.try_with(|_| ()).is_ok();
    let done = AT_HAND.try_with(|at_hand| {
        // Mark the call, also of a thread that is ending: a signal handler that interrupts the call
        // must not wait for the queue's lock, which the call may hold.
        let mark = at_hand.common.use_it();
        f(has_memory || mark.is_none())
    });
    done.unwrap_or_else(|_| f(has_memory))
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
    AT_HAND.with(|at_hand| {
        let _in_use = at_hand.queues.use_it();
        let _silence = Silence(&at_hand.is_silent, at_hand.is_silent.replace(true));
        f()
    })
}

/// Calls `wait`, which waits for the back end. A signal handler that logs meanwhile does not wait.
/// Returns `None` if the caller is itself such a handler.
pub fn waiting<R>(wait: impl FnOnce() -> R) -> Option<R> {
    let mut wait = Some(wait);
    let waited = AT_HAND.try_with(|at_hand| {
        let _in_use = at_hand.queues.use_it()?;
        Some(wait.take()?())
    });
    // An ending thread has no thread-local to mark, so call `wait` without it.
    waited.unwrap_or_else(|_| Some(wait.take()?()))
}

/// Makes the child of a fork leave the thread's queues: they contain records that the parent
/// writes, and the fork may have interrupted a call that was writing one. Frees no memory.
pub extern "C" fn leave_queues() {
    NUMBER.set((0, 0));
    let _ending = AT_HAND.try_with(|at_hand| {
        if let Some(mut queues) = at_hand.queues.use_it() {
            queues.all().for_each(|lent| lent.address = 0);
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
    // Don't use the spare buffer of a thread that is ending: it would not be freed.
    match ENDING.try_with(|_| AT_HAND.with(|at_hand| at_hand.nested.use_it()?.take())) {
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
    let _one_more = AT_HAND.try_with(|at_hand| at_hand.nested.use_it()?.replace(nested));
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

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// The interrupted call may hold the lock of the common queue.
    #[test]
    fn a_signal_handler_at_the_end_of_its_thread_is_nested() {
        struct Late;
        impl Drop for Late {
            fn drop(&mut self) {
                assert!(ENDING.try_with(|_| ()).is_err());
                assert_eq!(in_common(|is_nested| (is_nested, in_common(|it| it))), (false, true));
                assert!(!in_common(|is_nested| is_nested));
            }
        }
        thread_local!(static LATE: Late = const { Late });
        // Destructors run in the opposite order.
        thread::spawn(|| (LATE.with(|_| ()), ENDING.with(|_| ()))).join().unwrap();
    }
}
