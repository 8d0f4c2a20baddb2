use super::*;
use crate::back_end::test_file::TestFile;
use crate::frame::ThisThread;
use crate::queue::Sender;

const RECORD: [u8; 24] = [24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Pushes a record as a logging call does. Returns whether the call woke the back end.
fn push(queues: &Queues, sender: &mut Sender) -> bool {
    assert!(sender.push(&RECORD));
    let is_asleep = sender.is_asleep();
    if is_asleep {
        queues.wake(sender.queue());
    }
    is_asleep
}

/// Runs a round, and returns the number of records that were found.
fn round(queues: &Queues, inboxes: &mut Inboxes) -> usize {
    let (found, events) = inboxes.fill(queues, false);
    assert_eq!(found, events * RECORD.len());
    let start = UnixTime::now();
    inboxes.begin_records(start);
    assert!(!inboxes.records(start, |_, _, _| false));
    inboxes.settle(queues);
    found / RECORD.len()
}

#[test]
fn queues_without_records_are_not_looked_at() {
    let queues = Queues::new(4096);
    let mut inboxes = Inboxes::new(None);
    let mut senders: Vec<_> = (0..100).map(|_| queues.new_queue(ThisThread::default())).collect();
    for times in 1..4 {
        // Each call of a thread that has not logged for a while wakes the back end once.
        assert!(senders.iter_mut().all(|sender| push(&queues, sender)));
        assert!(!senders.iter_mut().any(|sender| push(&queues, sender)));
        assert_eq!(round(&queues, &mut inboxes), 200, "{times}");
        assert_eq!(inboxes.awake().len(), 100);
        while !inboxes.awake().is_empty() {
            assert_eq!(round(&queues, &mut inboxes), 0);
        }
    }
}

#[test]
fn queues_of_ended_threads_are_forgotten() {
    let queues = Queues::new(4096);
    let mut inboxes = Inboxes::new(None);
    let mut kept = queues.new_queue(ThisThread::default());
    push(&queues, &mut kept);
    for _ in 0..100 {
        let mut sender = queues.new_queue(ThisThread::default());
        push(&queues, &mut sender);
        queues.end(sender);
    }
    assert_eq!(round(&queues, &mut inboxes), 101);
    assert_eq!((inboxes.awake().len(), inboxes.all.len()), (1, 1));
}

#[test]
fn queues_in_a_file_are_forgotten_and_fall_asleep_too() {
    let queues = Queues::in_file(4096, Some(&TestFile::shared()));
    let mut inboxes = Inboxes::new(None);
    let mut round = |expected| {
        assert_eq!(round(&queues, &mut inboxes), expected);
        // Commit: note the positions, and free what is before them.
        inboxes.mark();
        inboxes.free();
        (inboxes.awake().len(), inboxes.all.len())
    };
    let mut kept = queues.new_queue(ThisThread::default());
    for _ in 0..100 {
        push(&queues, &mut kept);
        let mut sender = queues.new_queue(ThisThread::default());
        push(&queues, &mut sender);
        queues.end(sender);
        round(2);
    }
    assert_eq!(round(0), (1, 1), "the threads that have ended");
    let falls_asleep = (0..1_000).any(|_| {
        std::thread::sleep(core::time::Duration::from_millis(1));
        round(0).0 == 0
    });
    assert!(falls_asleep, "a thread that logs no more");
}

/// The back end must not sleep while a queue contains a record.
#[test]
fn it_falls_asleep_only_if_nothing_is_left() {
    let queues = Queues::new(4096);
    let mut inboxes = Inboxes::new(None);
    let mut sender = queues.new_queue(ThisThread::default());
    assert!(push(&queues, &mut sender));
    assert_eq!(inboxes.fall_asleep(&queues), None, "a queue was woken");
    round(&queues, &mut inboxes);
    assert!(!push(&queues, &mut sender));
    assert_eq!(inboxes.fall_asleep(&queues), None, "there is a record");
    round(&queues, &mut inboxes);
    assert!(inboxes.fall_asleep(&queues).is_some());
    assert_eq!(inboxes.fall_asleep(&queues), Some(WakeUp::Certain), "all slept before");
    assert!(push(&queues, &mut sender));
}

/// A thread may be interrupted between reading the flag and waking the back end. Meanwhile the
/// back end may already have read the record.
#[test]
fn a_late_wake_up_hides_no_later_record() {
    let queues = Queues::new(4096);
    let mut inboxes = Inboxes::new(None);
    let mut sender = queues.new_queue(ThisThread::default());
    for rounds in 0..50 {
        push(&queues, &mut sender);
        assert_eq!(round(&queues, &mut inboxes), 1, "{rounds}");
        inboxes.fall_asleep(&queues);
        queues.wake(sender.queue());
        for _ in 0..rounds {
            assert_eq!(round(&queues, &mut inboxes), 0, "{rounds}");
        }
    }
}

/// Pushes without reading the flag, like a call that read the flag too early.
#[test]
fn a_record_of_which_nobody_knows_is_found() {
    let queues = Queues::new(4096);
    let mut inboxes = Inboxes::new(None);
    let mut sender = queues.new_queue(ThisThread::default());
    assert!(sender.push(&RECORD));
    assert_eq!(round(&queues, &mut inboxes), 0);
    assert_eq!(inboxes.fill(&queues, true), (RECORD.len(), 1));
    assert!(sender.push(&RECORD));
    inboxes.fall_asleep(&queues);
    assert_eq!(round(&queues, &mut inboxes), 1);
    queues.wake(sender.queue());
    while !sender.is_asleep() {
        assert_eq!(round(&queues, &mut inboxes), 0);
    }
    assert!(sender.push(&RECORD), "its call saw no flag");
    assert_eq!(round(&queues, &mut inboxes), 1);
}
