//! Properties that the compiler derives, and that a change of a private field could take away.

use core::panic::{RefUnwindSafe, UnwindSafe};

use tach_record::{channel, counts, frame, host, ids, keep, level, queue, sync};
use test_support::assert_implements;

assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + Copy]
    counts::ByLevel<u64>, counts::Dropped, counts::Happened,
    frame::Code, frame::numbers::Code, frame::Linked, frame::Lost, frame::MaybeStatic<'_>, frame::Origin,
    frame::Place<'_>, frame::RecordKind, frame::Tag, frame::Time, frame::Start<'_>, frame::Wanted,
    frame::places::StaticPlace, frame::numbers::MaybeStatic<'_>,
    ids::Around, ids::SpanContext, keep::Waiting, level::Level, host::process::Process,
    queue::QueueId, queue::WhenFull,
);

assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + RefUnwindSafe]
 counts::Count, counts::Losses,
    frame::Buffer, frame::Head, frame::SpanRecord, frame::Reader<'_>, frame::Remains, frame::Scratch,
    frame::ThisThread, frame::What<'_>,
    frame::numbers::Entry<u8>, frame::numbers::Interner<u8>, frame::numbers::Notice,
    frame::numbers::Numbers<u8>, frame::numbers::Unnumbered, keep::Piece,
    queue::all::Queues, queue::Loss, queue::Queued,
    sync::Changed, sync::Lock<u8>, sync::Mirrored<u8>, sync::Nap, sync::SharedLock<u8>,
    sync::Switch,
);

assert_implements!(
    [Send + Sync]
    channel::Channel, channel::Signals, channel::bell::Bell, channel::bell::Taken,
    channel::wake::Waker, channel::wake::Sleep, channel::wake::WakeUp,
    queue::Queue, queue::all::Changes,
);

assert_implements!(
    [Send]
    frame::Fields<'_>, frame::Frame<'_>, frame::SpanPart<'_>, frame::Writer<'_>,
    queue::Sender, queue::Taken, queue::ring::RingMemory,
);

#[cfg(unix)]
assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + Copy]
    host::signals::Action,
);

// A recording has a function of the keeper, and `io::Error` may have one of the user's.
assert_implements!([Unpin] keep::Recording<'_>);
assert_implements!([Send + Sync + Unpin] keep::Fault<'_>);
