//! The last words about records that were not written.

use super::{Channel, thread};
use crate::host::unlocked::to_stderr;
use crate::queue::Queued;
use crate::stats::SinkCounts;

impl Channel {
    /// Prints in one line how many records wait in the queues, how many records, spans or durations
    /// wait for each sink, and how many were dropped. Those that wait are lost if the process ends
    /// now.
    pub(crate) fn print_left(&self) {
        // A signal handler that logs meanwhile takes none of the locks that the count holds.
        thread::waiting(|| self.print_left_now());
    }

    fn print_left_now(&self) {
        let counts = &self.progress.counts;
        let Queued { waiting, dropped } = self.queues.count();
        let (waiting, dropped) = (waiting + counts.in_hand.get(), dropped + counts.dropped.get());
        let mut words = Vec::new();
        if waiting > 0 {
            words.push(format!("{waiting} records in the queues were not written in time"));
        }
        if dropped > 0 {
            words.push(format!("{dropped} records were dropped, since a queue was full"));
        }
        words.extend(counts.sinks.iter().filter_map(|sink| left(sink)));
        if !words.is_empty() {
            to_stderr(format_args!("{}", words.join("; ")));
        }
    }
}

fn left(sink: &SinkCounts) -> Option<String> {
    let (name, items) = (&sink.name, sink.items.as_str());
    Some(match (sink.waiting(), sink.dropped.get()) {
        (0, 0) => return None,
        (0, dropped) => format!("{dropped} {items} for {name} were dropped"),
        (waiting, 0) => format!("{waiting} {items} for {name} were not written in time"),
        (waiting, dropped) => format!(
            "{waiting} {items} for {name} were not written in time, and {dropped} were dropped before"
        ),
    })
}
