//! The last words about records that were not written.

use super::Progress;
use crate::host::to_stderr;
use crate::queue::Queued;
use crate::queue::all::Queues;
use crate::stats::{Items, KEPT, LATE, QUEUE_FULL, SINK_FAILED, SinkCounts, Were};
use tach_record::channel::current_thread;

impl Progress {
    /// Prints in one line how many records wait in the queues, how many records, spans or durations
    /// wait for each sink, and how many were dropped. Those that wait are lost if the process ends
    /// now, unless the next start finds them in a file.
    pub(crate) fn print_left(&self, queues: &Queues) {
        // `waiting` keeps a signal handler that logs meanwhile from taking a lock that the count
        // holds.
        current_thread::waiting(|| self.print_left_now(queues));
    }

    fn print_left_now(&self, queues: &Queues) {
        let counts = &self.counts;
        let Queued { waiting, dropped } = queues.count();
        let (waiting, dropped) =
            (waiting + counts.in_hand.get(), dropped + self.signals.dropped.get());
        let mut words = Vec::new();
        let late = if queues.are_kept() { KEPT } else { LATE };
        let records = |count| Were { count, items: Items::RECORDS.as_str(), sink: None };
        if waiting > 0 {
            words.push(format!("{} in the queues, {late}", records(waiting)));
        }
        if dropped > 0 {
            words.push(format!("{} dropped {QUEUE_FULL}", records(dropped)));
        }
        words.extend(counts.sinks().iter().filter_map(|sink| left(sink, late)));
        if !words.is_empty() {
            to_stderr(format_args!("{}", words.join("; ")));
        }
    }
}

fn left(sink: &SinkCounts, late: &str) -> Option<String> {
    let items = |count| Were { count, items: sink.items.as_str(), sink: Some(&sink.name) };
    Some(match (sink.waiting(), sink.dropped.get()) {
        (0, 0) => return None,
        (0, dropped) => format!("{} dropped {SINK_FAILED}", items(dropped)),
        (waiting, 0) => format!("{} {late}", items(waiting)),
        (waiting, dropped) => {
            format!("{} {late}, and {dropped} dropped {SINK_FAILED}", items(waiting))
        }
    })
}
