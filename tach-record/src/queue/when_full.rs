//! What a call does whose queue is full.

/// How a call proceeds if its thread's queue is full.
///
/// Warnings and errors have a reserve: what the policy would drop of them goes to a second queue of
/// the thread, with the same bound, of which errors alone may use the second half. They are dropped
/// only if that is full too. So 200 errors among a million records that a stalled disk does not
/// take are all written, each at its place in time.
///
/// The queue counts the records that it drops, by level. (`Stats::dropped` and `dropped_of` of
/// tach-pipeline are the sums.) A span is one record, which comes when the span ends. If that is
/// dropped, the span is lost, and `Stats::dropped_spans` counts it. A span that is sent says what it
/// lacks: a full queue counts the attributes, events and links that it drops of a span. Beside these
/// counts it keeps spans of up to 256 bytes. If both need more than 64 KiB, further spans are lost,
/// and without room for a count all spans that are open then get the attribute `tach.incomplete`.
///
/// # Examples
///
/// ```
/// use tach_record::queue::WhenFull;
///
/// assert_eq!(WhenFull::default(), WhenFull::Block);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum WhenFull {
    /// Waits until there is room. A single sink that stalls therefore stalls the program, and one
    /// of several for as long as `Sink::stall_timeout` of tach-pipeline allows. Only a
    /// record too long for any queue is lost. A sink that logs never
    /// waits for its own pipeline, and at most a second for another one.
    #[default]
    Block,
    /// Drops the call's record, unless the reserve takes it.
    DropNewest,
    /// Drops the oldest records of the thread, except for those that the reserve takes.
    DropOldest,
}
