//! The last words about records that were not written.

use super::Channel;
use crate::host::unlocked::to_stderr;
use crate::queue::Queued;
use crate::stats::SinkCounts;

impl Channel {
    /// Prints how many records wait in the queues and for each sink, and how many were dropped. The
    /// records that wait are lost if the process ends now.
    pub(crate) fn print_left(&self) {
        let counts = &self.progress.counts;
        let Queued { waiting, dropped } = self.queues.count();
        let waiting = waiting + counts.in_hand.get();
        if waiting > 0 {
            to_stderr(format_args!("{waiting} records in the queues were not written in time"));
        }
        let dropped = dropped + counts.dropped.get();
        if dropped > 0 {
            to_stderr(format_args!("{dropped} records were dropped, since a queue was full"));
        }
        counts.sinks.iter().for_each(|sink| print_left(sink));
    }
}

fn print_left(sink: &SinkCounts) {
    let (name, items) = (&sink.name, sink.items.as_str());
    match (sink.waiting(), sink.dropped.get()) {
        (0, 0) => {}
        (0, dropped) => to_stderr(format_args!("{dropped} {items} for {name} were dropped")),
        (waiting, 0) => {
            to_stderr(format_args!("{waiting} {items} for {name} were not written in time"));
        }
        (waiting, dropped) => to_stderr(format_args!(
            "{waiting} {items} for {name} were not written in time, and {dropped} were dropped before"
        )),
    }
}
