//! Finishes the write during which a process ended: the sink's file may hold any part of it.

use core::ops::Range;
use std::io;

use super::image::{Spool, Write};
use crate::sink::file::Target;

/// The longest part of a file that is searched for the write. Other processes may have written the
/// file before the write, since its length was last known, and after it.
const MOST_SEARCHED: u64 = 64 * 1024 * 1024;

/// The file that a sink writes.
pub(super) trait Receiver {
    /// Returns the sink's file.
    ///
    /// # Errors
    ///
    /// If its length can't be read.
    fn target(&self) -> io::Result<Target>;

    /// Returns what the file `at` has from its length there on, if it is the sink's file or an
    /// earlier one in the same folder.
    ///
    /// # Errors
    ///
    /// If the file can't be read.
    fn written(&self, at: Target) -> io::Result<Option<Written>>;

    /// Appends bytes to the sink's file.
    ///
    /// # Errors
    ///
    /// If that fails. A part may have been written.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Cuts an earlier file of `length` bytes at its length in `at`. If other processes have the
    /// file open, or it has another length by now, leaves it as it is.
    ///
    /// # Errors
    ///
    /// If that fails.
    fn cut(&self, at: Target, length: u64) -> io::Result<()>;
}

/// A part of a file.
pub(super) struct Written {
    pub(super) bytes: Vec<u8>,
    /// Where the bytes begin in the file.
    pub(super) start: u64,
    /// Whether the file ends with them.
    pub(super) is_end: bool,
    /// Whether the file is the one that the sink writes now.
    pub(super) is_current: bool,
}

/// Appends the events of a spool that the sink's file lacks. Calls `begin` before a write that the
/// spool does not describe. The outcome is the same however often a call before was interrupted,
/// and wherever.
///
/// # Errors
///
/// If the file can't be read or written, or `begin` fails.
pub(super) fn settle(
    spool: &Spool<'_>,
    to: &mut dyn Receiver,
    mut begin: impl FnMut(Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut append = |from: usize, to: &mut dyn Receiver| {
        if from < spool.bytes.len() {
            begin(Write { from, end: spool.bytes.len(), to: to.target()? })?;
            to.append(&spool.bytes[from..])?;
        }
        Ok(())
    };
    let Some(write) = spool.write else { return append(0, to) };
    let from = write.from.min(spool.bytes.len());
    if from == spool.bytes.len() {
        return Ok(());
    }
    let Some(written) = to.written(write.to)? else { return append(whole(spool, from), to) };
    let (at, held) = find(&written.bytes, &spool.bytes[from..]);
    let end = from + held;
    let is_last = written.is_end && at + held == written.bytes.len() && (held > 0 || at == 0);
    if is_last && written.is_current {
        // The file may end within an event. What is appended continues what is there, so that a
        // next call finds it as one.
        return to.append(&spool.bytes[end..]);
    }
    let next = whole(spool, end);
    if is_last && next < end {
        let now = written.start + at as u64 + held as u64;
        let length = now.saturating_sub((end - next) as u64);
        to.cut(Target { length, ..write.to }, now)?;
    }
    append(next, to)
}

/// Returns where the event begins that contains the byte `at` or begins there.
fn whole(spool: &Spool<'_>, at: usize) -> usize {
    let before = spool.ends.partition_point(|end| *end <= at);
    before.checked_sub(1).map_or(0, |last| spool.ends[last])
}

/// Returns where `bytes` contain the longest beginning of `rest`, and how long that is. If nothing
/// of it is there, returns the end of `bytes`.
///
/// The time is linear, since somebody may have made up both files. (This is the search of Knuth,
/// Morris and Pratt.)
fn find(bytes: &[u8], rest: &[u8]) -> (usize, usize) {
    let mut best = (bytes.len(), 0);
    let (mut borders, mut held) = (Borders::default(), 0);
    for (at, byte) in bytes.iter().enumerate() {
        while held > 0 && rest.get(held) != Some(byte) {
            held = borders.of(rest, held);
        }
        held += usize::from(rest.get(held) == Some(byte));
        if held > best.1 {
            best = (at + 1 - held, held);
        }
        if held == rest.len() {
            break;
        }
    }
    best
}

/// For each beginning of a text, the length of the longest shorter beginning that is also its end.
/// Known as far as was asked. Half the size of a `usize`: a text may be as long as a store.
#[derive(Default)]
struct Borders(Vec<u32>);

impl Borders {
    /// Returns the length for the beginning of `length` bytes, which is not zero.
    fn of(&mut self, text: &[u8], length: usize) -> usize {
        while self.0.len() < length {
            let at = self.0.len();
            let mut border = at.checked_sub(1).map_or(0, |last| self.known(last));
            while border > 0 && text[border] != text[at] {
                border = self.known(border - 1);
            }
            border += usize::from(border < at && text[border] == text[at]);
            self.0.push(u32::try_from(border).unwrap_or(0));
        }
        self.known(length - 1)
    }

    fn known(&self, at: usize) -> usize {
        usize::try_from(self.0[at]).unwrap_or(0)
    }
}

/// Returns which part to read of a file of `length` bytes of which `start` were there before. (A
/// shorter file was cut since.)
pub(super) fn part_of(length: u64, start: u64) -> Range<u64> {
    let start = if start > length { length.saturating_sub(MOST_SEARCHED) } else { start };
    start..length.min(start.saturating_add(MOST_SEARCHED))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A file, whose earlier file is `old`. Writing ends after `room` bytes.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    struct Files {
        new: Vec<u8>,
        old: Vec<u8>,
        room: usize,
    }

    const NEW: Target = Target { device: 1, file: 2, length: 0 };
    const OLD: Target = Target { device: 1, file: 1, length: 0 };

    impl Receiver for Files {
        fn target(&self) -> io::Result<Target> {
            Ok(Target { length: self.new.len() as u64, ..NEW })
        }

        fn written(&self, at: Target) -> io::Result<Option<Written>> {
            let is_current = at.file == NEW.file;
            let bytes = match at.file {
                2 => &self.new,
                1 => &self.old,
                _ => return Ok(None),
            };
            let part = part_of(bytes.len() as u64, at.length);
            let is_end = part.end == bytes.len() as u64;
            let [start, end] = [part.start, part.end].map(|at| usize::try_from(at).unwrap());
            let bytes = bytes[start..end].to_owned();
            Ok(Some(Written { bytes, start: part.start, is_end, is_current }))
        }

        fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
            let count = bytes.len().min(self.room);
            self.room -= count;
            self.new.extend_from_slice(&bytes[..count]);
            if count == bytes.len() { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
        }

        fn cut(&self, _: Target, _: u64) -> io::Result<()> {
            Ok(())
        }
    }

    const EVENTS: &[u8] = b"one\ntwo\nthree\n";

    fn spool(write: Option<Write>) -> Spool<'static> {
        Spool { number: 1, bytes: EVENTS, ends: vec![4, 8, 14], write }
    }

    /// However much of the write was done, and however much each of the calls after it writes
    /// before it is interrupted, each event is in the file once.
    #[test]
    fn each_event_is_in_the_file_once() {
        for from in 0..=EVENTS.len() {
            for held in from..=EVENTS.len() {
                for room in 1..=EVENTS.len() {
                    let before = [b"before\n", &EVENTS[..from]].concat();
                    let length = before.len() as u64;
                    let mut write =
                        Some(Write { from, end: EVENTS.len(), to: Target { length, ..NEW } });
                    let new = [&before, &EVENTS[from..held]].concat();
                    let mut files = Files { new, room, ..Files::default() };
                    let mut is_settled = false;
                    for _ in 0..=EVENTS.len() {
                        files.room = room;
                        let spool = spool(write);
                        let begin = |begun| {
                            write = Some(begun);
                            Ok(())
                        };
                        is_settled = settle(&spool, &mut files, begin).is_ok();
                    }
                    assert!(is_settled);
                    assert_eq!(files.new, [b"before\n", EVENTS].concat(), "{from} {held} {room}");
                }
            }
        }
    }

    /// The process had not begun to write.
    #[test]
    fn events_that_were_not_begun_are_in_the_file_once() {
        for room in 1..=EVENTS.len() {
            let (mut files, mut write) = (Files::default(), None);
            for _ in 0..=EVENTS.len() {
                files.room = room;
                let spool = spool(write);
                let begin = |begun| {
                    write = Some(begun);
                    Ok(())
                };
                let _interrupted = settle(&spool, &mut files, begin);
            }
            assert_eq!(files.new, EVENTS, "{room}");
        }
    }

    #[test]
    fn a_file_that_others_write_has_each_event_once() {
        for held in 0..=EVENTS.len() {
            let new = [b"theirs\n", &EVENTS[..held], b"theirs\n"].concat();
            let mut files = Files { new, room: 100, ..Files::default() };
            let write = Some(Write { from: 0, end: EVENTS.len(), to: NEW });
            settle(&spool(write), &mut files, |_| Ok(())).unwrap();
            let text = String::from_utf8(files.new).unwrap();
            for event in ["one\n", "two\n", "three\n"] {
                assert_eq!(text.matches(event).count(), 1, "{held}: {text}");
            }
        }
    }

    /// Others may write more after the write than is searched.
    #[test]
    fn a_write_is_found_however_much_follows_it() {
        let theirs = "theirs\n".repeat(usize::try_from(MOST_SEARCHED).unwrap() / 7 + 1);
        for held in [4, 6, EVENTS.len()] {
            let new = [b"before\n", &EVENTS[..held], b"\n", theirs.as_bytes()].concat();
            let mut files = Files { new, room: 100, ..Files::default() };
            let to = Target { length: 7, ..NEW };
            let write = Some(Write { from: 0, end: EVENTS.len(), to });
            settle(&spool(write), &mut files, |_| Ok(())).unwrap();
            let text = String::from_utf8(files.new).unwrap();
            for event in ["one\n", "two\n", "three\n"] {
                assert_eq!(text.matches(event).count(), 1, "{held}: {event}");
            }
        }
    }

    #[test]
    fn a_file_that_was_moved_away_keeps_its_events() {
        for held in 0..=EVENTS.len() {
            let old = EVENTS[..held].to_owned();
            let mut files = Files { old, room: 100, ..Files::default() };
            let write = Some(Write { from: 0, end: EVENTS.len(), to: OLD });
            settle(&spool(write), &mut files, |_| Ok(())).unwrap();
            let first = whole(&spool(None), held);
            assert_eq!(files.new, EVENTS[first..], "{held}");
        }
    }

    proptest! {
        #[test]
        fn the_longest_beginning_is_found(bytes in "[ab]{0,24}", rest in "[ab]{0,12}") {
            let (bytes, rest) = (bytes.as_bytes(), rest.as_bytes());
            let held = |at: usize| bytes[at..].iter().zip(rest).take_while(|(a, b)| a == b).count();
            let most = (0..bytes.len()).map(held).max().filter(|most| *most > 0);
            let first = most.and_then(|most| (0..bytes.len()).find(|at| held(*at) == most));
            let expected = (first.unwrap_or(bytes.len()), most.unwrap_or(0));
            prop_assert_eq!(find(bytes, rest), expected);
        }
    }

    /// A quadratic search takes hours.
    #[test]
    fn a_long_run_of_one_byte_takes_linear_time() {
        const LONG: usize = 2 << 20;
        let run = |last: &[u8]| [&vec![b'a'; LONG], last].concat();
        assert_eq!(find(&run(b"b"), &run(b"a")), (0, LONG));
        assert_eq!(find(&run(b"bac"), &run(b"b")), (0, LONG + 1));
    }
}
